package auth

import "slices"

// Method is one way to sign in. The zero value is none.
type Method string

// The methods.
const (
	// CLI asks the Azure CLI, which a person signed in to.
	CLI Method = "cli"
	// ManagedIdentity asks the machine's own identity.
	ManagedIdentity Method = "managed_identity"
	// WorkloadIdentity exchanges a token that Kubernetes writes into a file.
	WorkloadIdentity Method = "workload_identity"
	// OIDC exchanges a token of a CI system: given, in a file, or requested from
	// GitHub or Azure DevOps each time.
	OIDC Method = "oidc"
	// ClientSecret is a service principal with a password.
	ClientSecret Method = "client_secret"
	// ClientCertificate is a service principal with a certificate.
	ClientCertificate Method = "client_certificate"
	// Chain tries the methods of [Config.Chain] in order. It is never chosen
	// without being asked for.
	Chain Method = "chain"
)

// Methods lists every method.
func Methods() []Method {
	return []Method{CLI, ManagedIdentity, WorkloadIdentity, OIDC, ClientSecret, ClientCertificate, Chain}
}

// Known reports whether m is a method.
func (m Method) Known() bool { return slices.Contains(Methods(), m) }
