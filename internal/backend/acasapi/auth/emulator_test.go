package auth_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
)

func TestATokenForAnEmulatorNamesItsAudienceAndNobody(t *testing.T) {
	t.Parallel()
	scope := policy.TokenRequestOptions{Scopes: []string{"https://dynamicsessions.io/.default"}}
	token, err := auth.Emulator{}.GetToken(t.Context(), scope)
	parts := strings.Split(token.Token, ".")
	if err != nil || len(parts) != 3 || parts[2] != "" {
		t.Fatalf("%q, %v", token.Token, err)
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || string(claims) != `{"aud":"https://dynamicsessions.io"}` {
		t.Errorf("it claims %s, %v", claims, err)
	}
	wanted := auth.Emulator{Token: auth.NewSecret("let-me-in")}
	if token, err := wanted.GetToken(t.Context(), scope); err != nil || token.Token != "let-me-in" {
		t.Errorf("%q, %v", token.Token, err)
	}
	if text := fmt.Sprintf("%v %+v", wanted, wanted); strings.Contains(text, "let-me-in") {
		t.Error(text)
	}
	if _, err := (auth.Emulator{}).GetToken(t.Context(), policy.TokenRequestOptions{}); err == nil {
		t.Error("a token for nobody")
	}
}
