package auth

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// setting names the variables that hold one setting, the first that is set wins: what
// Terraform's Azure providers read, then what the Azure SDKs do, then what CI systems
// set by themselves.
type setting []string

var (
	tenant          = setting{"ARM_TENANT_ID", "AZURE_TENANT_ID"}
	clientID        = setting{"ARM_CLIENT_ID", "AZURE_CLIENT_ID"}
	clientIDFile    = setting{"ARM_CLIENT_ID_FILE_PATH"}
	otherTenants    = setting{"ARM_AUXILIARY_TENANT_IDS", "AZURE_ADDITIONALLY_ALLOWED_TENANTS"}
	subscription    = setting{"ARM_SUBSCRIPTION_ID", "AZURE_SUBSCRIPTION_ID"}
	environment     = setting{"ARM_ENVIRONMENT", "AZURE_ENVIRONMENT"}
	authorityHost   = setting{"ARM_ACTIVE_DIRECTORY_AUTHORITY_HOST", "AZURE_AUTHORITY_HOST"}
	noDiscovery     = setting{"ARM_DISABLE_INSTANCE_DISCOVERY"}
	clientSecret    = setting{"ARM_CLIENT_SECRET", "AZURE_CLIENT_SECRET"}
	secretFile      = setting{"ARM_CLIENT_SECRET_FILE_PATH"}
	certificate     = setting{"ARM_CLIENT_CERTIFICATE"}
	certificateFile = setting{"ARM_CLIENT_CERTIFICATE_PATH", "AZURE_CLIENT_CERTIFICATE_PATH"}
	certificatePass = setting{"ARM_CLIENT_CERTIFICATE_PASSWORD", "AZURE_CLIENT_CERTIFICATE_PASSWORD"}
	sendChain       = setting{"ARM_CLIENT_SEND_CERTIFICATE_CHAIN", "AZURE_CLIENT_SEND_CERTIFICATE_CHAIN"}
	oidcToken       = setting{"ARM_OIDC_TOKEN"}
	oidcTokenFile   = setting{"ARM_OIDC_TOKEN_FILE_PATH", "AZURE_FEDERATED_TOKEN_FILE"}
	oidcURL         = setting{"ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_OIDCREQUESTURI"}
	oidcBearer      = setting{"ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN"}
	adoConnection   = setting{"ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID", "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID", "AZURESUBSCRIPTION_SERVICE_CONNECTION_ID"}
	sdkChoice       = setting{"AZURE_TOKEN_CREDENTIALS"}
)

// Variables lists every variable that is read, for documentation.
func Variables() []string {
	all := []string{}
	for _, s := range []setting{
		tenant, clientID, clientIDFile, otherTenants, subscription, environment, authorityHost, noDiscovery, clientSecret, secretFile,
		certificate, certificateFile, certificatePass, sendChain, oidcToken, oidcTokenFile, oidcURL, oidcBearer, adoConnection, sdkChoice,
	} {
		all = append(all, s...)
	}
	for _, c := range switches {
		all = append(all, c.variable)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// switches are the variables that say which method is meant.
var switches = []struct {
	variable string
	method   Method
}{
	{"ARM_USE_MSI", ManagedIdentity},
	{"ARM_USE_OIDC", OIDC},
	{"ARM_USE_AKS_WORKLOAD_IDENTITY", WorkloadIdentity},
	{"ARM_USE_CLI", CLI},
}

// sdkNames are the words of AZURE_TOKEN_CREDENTIALS.
var sdkNames = map[string][]Method{
	"azureclicredential":         {CLI},
	"managedidentitycredential":  {ManagedIdentity},
	"workloadidentitycredential": {WorkloadIdentity},
	"dev":                        {CLI},
	"prod":                       {WorkloadIdentity, ManagedIdentity},
}

// env reads variables. One that is set and empty is as good as unset: CI systems
// set them so.
type env func(string) string

func (e env) get(s setting) (value, name string) {
	for _, name := range s {
		if v := e(name); v != "" {
			return v, name
		}
	}
	return "", ""
}

func (e env) value(s setting) string {
	v, _ := e.get(s)
	return v
}

func (e env) on(name string) bool {
	return slices.Contains([]string{"1", "t", "true"}, strings.ToLower(e(name)))
}

// FromEnvironment reads how to sign in from the variables of getenv, usually
// os.Getenv. A method other than none replaces what the variables would choose. The
// result is complete or refused; nothing is opened yet.
func FromEnvironment(getenv func(string) string, method Method) (Config, error) {
	e := env(getenv)
	c := Config{
		Tenant: e.value(tenant), ClientID: e.value(clientID), OtherTenants: list(e.value(otherTenants)), Subscription: e.value(subscription),
		ClientSecret: NewSecret(e.value(clientSecret)), ClientSecretFile: e.value(secretFile),
		Certificate: NewSecret(e.value(certificate)), CertificateFile: e.value(certificateFile),
		CertificatePassword: NewSecret(e.value(certificatePass)),
		OIDCToken:           NewSecret(e.value(oidcToken)), OIDCTokenFile: e.value(oidcTokenFile),
		OIDCRequestURL: e.value(oidcURL), OIDCRequestToken: NewSecret(e.value(oidcBearer)), ServiceConnection: e.value(adoConnection),
	}
	_, discovery := e.get(noDiscovery)
	c.DisableInstanceDiscovery = discovery != "" && e.on(discovery)
	if _, name := e.get(sendChain); name != "" {
		c.SendCertificateChain = e.on(name)
	}
	var err error
	if c.AuthorityHost, err = e.authority(); err != nil {
		return Config{}, err
	}
	if method != "" {
		c.Method, c.Why = method, "the configuration names it"
	} else if err := e.choose(&c); err != nil {
		return Config{}, err
	}
	if c.Method == Chain && len(c.Chain) == 0 {
		c.Chain = c.possible()
	}
	if c.ClientID == "" {
		if file := e.value(clientIDFile); file != "" {
			return c.withClientIDFile(file)
		}
	}
	return c, c.Check()
}

// authority is where Entra ID is. A cloud of another name is refused, beside an
// authority too: requests go to the public cloud, where its tokens count for nothing.
func (e env) authority() (string, error) {
	name, variable := e.get(environment)
	switch strings.ToLower(name) {
	case "", "public", "azurepubliccloud", "azurecloud":
		return e.value(authorityHost), nil
	default:
		return "", invalid(variable, sandbox.Echo(name), "public: the service is known in the public cloud alone")
	}
}

// choose finds the one method that the variables point at.
func (e env) choose(c *Config) error {
	if name := e.value(sdkChoice); name != "" {
		methods, ok := sdkNames[strings.ToLower(name)]
		switch {
		case strings.EqualFold(name, "environmentcredential"):
			return e.chooseBySecrets(c)
		case !ok:
			return invalid(sdkChoice[0], sandbox.Echo(name), "dev, prod or the name of a credential that is supported here")
		case len(methods) > 1:
			c.Method, c.Chain, c.Why = Chain, methods, sdkChoice[0]+" is "+sandbox.Echo(name)
			if c.Tenant == "" || c.ClientID == "" || c.OIDCTokenFile == "" {
				c.Chain = []Method{ManagedIdentity}
			}
		default:
			c.Method, c.Why = methods[0], sdkChoice[0]+" is "+sandbox.Echo(name)
		}
		return nil
	}
	return e.chooseBySwitch(c)
}

func (e env) chooseBySwitch(c *Config) error {
	var found []string
	for _, s := range switches {
		// The providers turn ARM_USE_CLI on by themselves: it chooses nothing
		// beside another switch.
		if e.on(s.variable) && (s.method != CLI || len(found) == 0) {
			found = append(found, s.variable)
			c.Method, c.Why = s.method, s.variable+" is set"
		}
	}
	switch {
	case len(found) > 1:
		return invalid("sign-in", strings.Join(found, " and "), "one of them")
	case len(found) == 1 && c.Method != CLI:
		return nil
	}
	return e.chooseBySecrets(c)
}

func (e env) chooseBySecrets(c *Config) error {
	var found []string
	point := func(m Method, settings ...setting) {
		for _, s := range settings {
			if _, name := e.get(s); name != "" {
				found = append(found, name)
				c.Method, c.Why = m, name+" is set"
				return
			}
		}
	}
	point(ClientCertificate, certificate, certificateFile)
	point(ClientSecret, clientSecret, secretFile)
	if _, name := e.get(oidcTokenFile); name == "AZURE_FEDERATED_TOKEN_FILE" {
		point(WorkloadIdentity, oidcTokenFile)
	} else {
		point(OIDC, oidcToken, oidcTokenFile)
	}
	switch {
	case len(found) > 1:
		return invalid("sign-in", strings.Join(found, " and "), "one of them, or a method that is chosen by name")
	case len(found) == 0 && slices.Contains([]string{"0", "f", "false"}, strings.ToLower(e("ARM_USE_CLI"))):
		return invalid("sign-in", "ARM_USE_CLI turned off, and no other method", "a method")
	case len(found) == 0:
		c.Method, c.Why = CLI, "no variable points at another method"
	}
	return nil
}

// possible is what a chain that was asked for without a list tries: what there are
// settings for, then the machine, then the person.
func (c Config) possible() []Method {
	var chain []Method
	for _, m := range []Method{ClientCertificate, ClientSecret, OIDC, WorkloadIdentity, ManagedIdentity, CLI} {
		if c.as(m).Check() == nil {
			chain = append(chain, m)
		}
	}
	return chain
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == ',' || r == ' ' })
}
