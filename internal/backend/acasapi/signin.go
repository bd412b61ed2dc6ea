package acasapi

import (
	"context"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// signIn is a host's credential. What it says of itself is no failure of the service:
// a failure that it marks as final, as those of azidentity are, is told as one of the
// sign-in. azcore marks every failure of a credential, so this is seen only here.
type signIn struct{ azcore.TokenCredential }

// GetToken asks the credential.
func (s signIn) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := s.TokenCredential.GetToken(ctx, options)
	if err == nil || ctx.Err() != nil || sandbox.RefusalOf(err) != nil || !final(err) {
		return token, err
	}
	r := refusal(sandbox.CodeCredentialFailed, "sign-in by the credential that the host gave",
		sandbox.Echo(strings.Join(strings.Fields(err.Error()), " ")), "a token for "+strings.Join(options.Scopes, " "),
		"sign in as the credential needs it (AzureCLICredential: install az and run az login), or give another credential")
	r.Err = err
	return token, r
}
