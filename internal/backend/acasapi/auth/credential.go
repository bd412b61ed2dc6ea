package auth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Credential gives tokens by the configured method. It is an
// [azcore.TokenCredential], safe for concurrent use.
type Credential struct {
	cfg   Config
	build func() (azcore.TokenCredential, error)
}

// New checks the configuration. Files are read, and anybody is asked, when the first
// token is.
func New(cfg Config) (*Credential, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	return &Credential{cfg: cfg, build: sync.OnceValues(cfg.build)}, nil
}

// Method is the method, and why it was chosen.
func (c *Credential) Method() (method Method, why string) { return c.cfg.Method, c.cfg.Why }

// String names the method.
func (c *Credential) String() string { return "sign-in by " + string(c.cfg.Method) }

// GetToken gives a token for the scopes. Its error is a refusal that names the
// method, why it was chosen and what it said.
func (c *Credential) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	source, err := c.build()
	if err != nil {
		return azcore.AccessToken{}, c.failed(options, err)
	}
	token, err := source.GetToken(ctx, options)
	if err != nil {
		if ctx.Err() != nil {
			return azcore.AccessToken{}, fmt.Errorf("%s: %w", c, ctx.Err())
		}
		return azcore.AccessToken{}, c.failed(options, err)
	}
	return token, nil
}

func (c *Credential) failed(options policy.TokenRequestOptions, err error) error {
	r := refusal(sandbox.CodeCredentialFailed, c.String(), c.cfg.said(err), "a token for "+strings.Join(options.Scopes, " "))
	r.Remedy = remedies[c.cfg.Method]
	if c.cfg.Why != "" {
		r.Found += "; the method was chosen because " + c.cfg.Why
	}
	return r
}

// said is what failed in one line, bounded, escaped, and without any of the
// configuration's own secrets, which a library or a server may have repeated.
func (c Config) said(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, s := range []Secret{c.ClientSecret, c.Certificate, c.CertificatePassword, c.OIDCToken, c.OIDCRequestToken} {
		if s.Set() {
			text = strings.ReplaceAll(text, s.Reveal(), "(secret)")
		}
	}
	// The sentence that says why comes first or after a header of many dashes.
	if _, body, ok := strings.Cut(text, `"error_description": "`); ok {
		text, _, _ = strings.Cut(body, `"`)
	}
	return sandbox.Echo(text)
}

var remedies = map[Method]string{
	CLI:               "run az login, or choose another method",
	ManagedIdentity:   "give the machine an identity, or choose another method",
	WorkloadIdentity:  "check that the pod has the service account's token file, or choose another method",
	OIDC:              "check that the job may request a token (GitHub: permissions: id-token: write), and the identity's federated credential",
	ClientSecret:      "check the client id and that the secret has not expired",
	ClientCertificate: "check the client id and that the certificate is registered and not expired",
	Chain:             "choose one method, whose failure says more",
}

func (c Config) build() (azcore.TokenCredential, error) {
	options := c.options()
	switch c.Method {
	case CLI:
		return azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{
			TenantID: c.Tenant, Subscription: c.Subscription, AdditionallyAllowedTenants: c.OtherTenants,
		})
	case ManagedIdentity:
		o := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options}
		switch {
		case c.ManagedIdentityResource != "":
			o.ID = azidentity.ResourceID(c.ManagedIdentityResource)
		case c.ClientID != "":
			o.ID = azidentity.ClientID(c.ClientID)
		}
		return azidentity.NewManagedIdentityCredential(o)
	case WorkloadIdentity:
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: options, TenantID: c.Tenant, ClientID: c.ClientID, TokenFilePath: c.OIDCTokenFile,
			AdditionallyAllowedTenants: c.OtherTenants, DisableInstanceDiscovery: c.DisableInstanceDiscovery,
		})
	case OIDC:
		return azidentity.NewClientAssertionCredential(c.Tenant, c.ClientID, c.assertion, &azidentity.ClientAssertionCredentialOptions{
			ClientOptions: options, AdditionallyAllowedTenants: c.OtherTenants, DisableInstanceDiscovery: c.DisableInstanceDiscovery,
		})
	case ClientSecret:
		return c.buildSecret(options)
	case ClientCertificate:
		return c.buildCertificate(options)
	case Chain:
		return c.buildChain()
	default:
		return nil, errors.New("no method is chosen")
	}
}

func (c Config) buildSecret(options policy.ClientOptions) (azcore.TokenCredential, error) {
	secret := c.ClientSecret.Reveal()
	if secret == "" {
		b, err := os.ReadFile(c.ClientSecretFile)
		if err != nil {
			return nil, unreadable("client secret", err)
		}
		secret = strings.TrimSpace(string(b))
	}
	return azidentity.NewClientSecretCredential(c.Tenant, c.ClientID, secret, &azidentity.ClientSecretCredentialOptions{
		ClientOptions: options, AdditionallyAllowedTenants: c.OtherTenants, DisableInstanceDiscovery: c.DisableInstanceDiscovery,
	})
}

func (c Config) buildChain() (azcore.TokenCredential, error) {
	sources := make([]azcore.TokenCredential, 0, len(c.Chain))
	for _, m := range c.Chain {
		source, err := c.as(m).build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m, err)
		}
		sources = append(sources, source)
	}
	return azidentity.NewChainedTokenCredential(sources, nil)
}

// unreadable says that a file cannot be read, and not where it is.
func unreadable(what string, err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	}
	return fmt.Errorf("the file of the %s cannot be read: %w", what, err)
}
