package provider

import (
	"context"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
)

func newAccessToken() ephemeral.EphemeralResource { return &accessToken{} }

var _ ephemeral.EphemeralResourceWithConfigure = (*accessToken)(nil)

// accessToken is a token for the service's data plane. It exists while Terraform
// runs, and stands in no plan and no state.
type accessToken struct{ home *home }

// accessTokenModel is ephemeral.sandbox_access_token.
type accessTokenModel struct {
	Token     types.String `tfsdk:"token"`
	ExpiresAt types.String `tfsdk:"expires_at"`
}

func (*accessToken) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_access_token"
}

func (*accessToken) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A token for the data plane of the service, of whoever the provider signs in as: for a write-only attribute of another resource, or a provisioner. " +
			"It stands in no plan and no state. **Whoever has it can do what the identity can do there**, until it expires. Under `embedded` it opens nothing.",
		Attributes: map[string]schema.Attribute{
			"token":      schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The token, for the header `Authorization: Bearer`."},
			"expires_at": schema.StringAttribute{Computed: true, MarkdownDescription: "When it expires, in RFC 3339."},
		},
	}
}

func (a *accessToken) Configure(_ context.Context, req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse) {
	data, diags := configuredFrom(req.ProviderData)
	resp.Diagnostics.Append(diags...)
	if data != nil {
		a.home = data.home
	}
}

// Open signs in.
func (a *accessToken) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	if a.home != nil && !a.home.known() && req.ClientCapabilities.DeferralAllowed {
		resp.Deferred = &ephemeral.Deferred{Reason: ephemeral.DeferredReasonProviderConfigUnknown}
		return
	}
	resp.Diagnostics.Append(a.home.usable()...)
	if resp.Diagnostics.HasError() {
		return
	}
	cfg, err := a.home.open()
	if err != nil {
		resp.Diagnostics.Append(problem("signing in", err))
		return
	}
	audience := cfg.DataAudience
	if audience == "" {
		audience = acasapi.Public().DataAudience
	}
	token, err := cfg.Credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{strings.TrimSuffix(audience, "/") + "/.default"}})
	if err != nil {
		resp.Diagnostics.Append(problem("signing in", err))
		return
	}
	resp.Diagnostics.Append(resp.Result.Set(ctx, accessTokenModel{
		Token: types.StringValue(token.Token), ExpiresAt: types.StringValue(token.ExpiresOn.UTC().Format(time.RFC3339)),
	})...)
}
