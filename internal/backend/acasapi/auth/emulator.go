package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Emulator gives tokens for an emulator, so that nobody's real token goes to one:
// the text of Token where the emulator wants a certain one, else an unsigned token
// that names its audience and nobody. The service accepts neither.
type Emulator struct{ Token Secret }

// GetToken asks nobody.
func (e Emulator) GetToken(_ context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token := azcore.AccessToken{Token: e.Token.Reveal(), ExpiresOn: time.Now().Add(time.Hour)}
	if e.Token.Set() {
		return token, nil
	}
	if len(options.Scopes) == 0 {
		return azcore.AccessToken{}, refusal(sandbox.CodeCredentialFailed, "sign-in to an emulator", "no scope", "whom the token is for")
	}
	claims, err := json.Marshal(map[string]string{"aud": strings.TrimSuffix(options.Scopes[0], "/.default")})
	if err != nil {
		return azcore.AccessToken{}, refusal(sandbox.CodeCredentialFailed, "sign-in to an emulator", "a scope that is no text", "text")
	}
	part := base64.RawURLEncoding.EncodeToString
	token.Token = part([]byte(`{"alg":"none"}`)) + "." + part(claims) + "."
	return token, nil
}
