package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Who proposes a change to a configuration chooses addresses in it, and is not shown
// what the environment has.
func TestAnAddressOfTheConfigurationGetsNoTokenOfTheEnvironment(t *testing.T) {
	t.Parallel()
	url, token := types.StringValue("https://attacker.example/token"), types.StringValue("a token")
	for name, c := range map[string]struct {
		attributes    map[string]attr.Value
		found, refuse bool
	}{
		"neither":                      {attributes: map[string]attr.Value{}},
		"both":                         {attributes: map[string]attr.Value{"oidc_request_url": url, "oidc_request_token": token}},
		"the token alone":              {attributes: map[string]attr.Value{"oidc_request_token": token}},
		"the address alone":            {attributes: map[string]attr.Value{"oidc_request_url": url}, found: true, refuse: true},
		"a token that is empty":        {attributes: map[string]attr.Value{"oidc_request_url": url, "oidc_request_token": types.StringValue("")}, found: true, refuse: true},
		"a token that is not known":    {attributes: map[string]attr.Value{"oidc_request_url": url, "oidc_request_token": types.StringUnknown()}, refuse: true},
		"an address that is not known": {attributes: map[string]attr.Value{"oidc_request_url": types.StringUnknown()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environment := map[string]string{
				"ACTIONS_ID_TOKEN_REQUEST_URL": "https://ci.example/token", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "the CI's",
				"ARM_TENANT_ID": "00000000-0000-0000-0000-000000000001", "ARM_CLIENT_ID": "00000000-0000-0000-0000-000000000002", "ARM_USE_OIDC": "true",
			}
			p := &sandboxProvider{getenv: func(name string) string { return environment[name] }}
			kinds := map[string]attr.Type{}
			for name, value := range c.attributes {
				kinds[name] = value.Type(t.Context())
			}
			h := p.newACAS(types.ObjectValueMust(kinds, c.attributes))
			if found := len(h.findings) > 0; found != c.found {
				t.Errorf("findings: %v", h.findings)
			}
			if _, err := h.open(); (err != nil) != c.refuse {
				t.Errorf("opened: %v", err)
			}
		})
	}
}
