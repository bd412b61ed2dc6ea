package auth

import (
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Config is how to sign in. Only what its Method needs is used.
type Config struct {
	Method Method
	// Why says what chose the method, in names of settings: it is part of every
	// failure.
	Why string
	// Chain is what the method chain tries, in order.
	Chain []Method

	Tenant   string
	ClientID string
	// OtherTenants may be signed in to beside Tenant.
	OtherTenants []string
	// AuthorityHost is where Entra ID is; empty is the public cloud's.
	AuthorityHost string
	// DisableInstanceDiscovery trusts AuthorityHost without asking the public
	// cloud about it, for clouds that cannot reach it.
	DisableInstanceDiscovery bool

	ClientSecret     Secret
	ClientSecretFile string

	// Certificate is a PKCS #12 or PEM file in base64; CertificateFile names one.
	Certificate          Secret
	CertificateFile      string
	CertificatePassword  Secret
	SendCertificateChain bool

	// One source of a token to exchange, in this order.
	OIDCToken         Secret
	OIDCTokenFile     string
	OIDCRequestURL    string
	OIDCRequestToken  Secret
	ServiceConnection string // Azure DevOps; without it the request is GitHub's

	// ManagedIdentityResource is a user-assigned identity by resource id; ClientID
	// names one otherwise, and neither is the machine's own.
	ManagedIdentityResource string

	// Subscription is the Azure CLI's account, when it knows several.
	Subscription string

	// Transport replaces the network, for tests.
	Transport policy.Transporter
}

// Check reports the first setting that is missing for the method, or in its way.
func (c Config) Check() error {
	if !c.Method.Known() {
		words := make([]string, 0, len(Methods()))
		for _, m := range Methods() {
			words = append(words, string(m))
		}
		return invalid("method", sandbox.Echo(string(c.Method)), strings.Join(words, ", "))
	}
	if c.Method == Chain {
		return c.checkChain()
	}
	if c.AuthorityHost != "" {
		if u, err := url.Parse(c.AuthorityHost); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
			return invalid("authority_host", sandbox.Echo(c.AuthorityHost), "an https address")
		}
	}
	switch c.Method {
	case OIDC, WorkloadIdentity, ClientSecret, ClientCertificate:
		if c.Tenant == "" {
			return c.missing("tenant_id")
		}
		if c.ClientID == "" {
			return c.missing("client_id")
		}
	case ManagedIdentity:
		if c.ClientID != "" && c.ManagedIdentityResource != "" {
			return invalid("managed identity", "a client id and a resource id", "one of them")
		}
	}
	return c.checkSource()
}

func (c Config) checkSource() error {
	switch c.Method {
	case ClientSecret:
		if !c.ClientSecret.Set() && c.ClientSecretFile == "" {
			return c.missing("client_secret")
		}
	case ClientCertificate:
		if !c.Certificate.Set() && c.CertificateFile == "" {
			return c.missing("client_certificate_path")
		}
	case WorkloadIdentity:
		if c.OIDCTokenFile == "" {
			return c.missing("oidc_token_file_path")
		}
	case OIDC:
		return c.checkOIDC()
	}
	return nil
}

func (c Config) checkOIDC() error {
	switch {
	case c.OIDCToken.Set(), c.OIDCTokenFile != "":
		return nil
	case c.OIDCRequestURL == "":
		return c.missing("oidc_token, oidc_token_file_path or oidc_request_url")
	case !c.OIDCRequestToken.Set():
		return c.missing("oidc_request_token")
	}
	u, err := url.Parse(c.OIDCRequestURL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return invalid("oidc_request_url", "another address", "an https address") // it may hold a secret
	}
	return nil
}

func (c Config) checkChain() error {
	if len(c.Chain) == 0 {
		return invalid("chain", "nothing to try", "at least one method")
	}
	for _, m := range c.Chain {
		if m == Chain {
			return invalid("chain", "a chain in itself", "other methods")
		}
		if err := c.as(m).Check(); err != nil {
			return err
		}
	}
	return nil
}

// as is the configuration with another method.
func (c Config) as(m Method) Config {
	c.Method = m
	return c
}

func (c Config) missing(setting string) error {
	r := refusal(sandbox.CodeCredentialInvalid, "sign-in by "+string(c.Method), "no "+setting, setting)
	r.Remedy = "set it, or choose another method"
	if c.Why != "" {
		r.Found += "; the method was chosen because " + c.Why
	}
	return r
}

func invalid(setting, found, required string) error {
	return refusal(sandbox.CodeCredentialInvalid, setting, found, required)
}

func refusal(code sandbox.Code, subject, found, required string) *sandbox.Refusal {
	return &sandbox.Refusal{Finding: sandbox.Finding{Code: code, Subject: subject, Found: found, Required: required}}
}

// options are what every method of azidentity is built with.
func (c Config) options() policy.ClientOptions {
	o := policy.ClientOptions{Cloud: cloud.AzurePublic, Transport: c.Transport}
	if c.AuthorityHost != "" {
		o.Cloud.ActiveDirectoryAuthorityHost = c.AuthorityHost
	}
	return o
}
