package auth_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// variables is an environment.
type variables map[string]string

func (v variables) get(name string) string { return v[name] }

func (v variables) and(more variables) variables {
	all := maps.Clone(v)
	maps.Copy(all, more)
	return all
}

var principal = variables{"ARM_TENANT_ID": "t", "ARM_CLIENT_ID": "c"}

func TestTheVariablesPeopleAlreadySetChooseOneMethod(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  variables
		want auth.Method
		why  string
	}{
		"nothing":                 {nil, auth.CLI, "no variable"},
		"an empty environment":    {variables{"ARM_CLIENT_SECRET": "", "ARM_USE_OIDC": "", "AZURE_TOKEN_CREDENTIALS": ""}, auth.CLI, "no variable"},
		"azurerm secret":          {principal.and(variables{"ARM_CLIENT_SECRET": "s"}), auth.ClientSecret, "ARM_CLIENT_SECRET"},
		"azurerm secret file":     {principal.and(variables{"ARM_CLIENT_SECRET_FILE_PATH": "f"}), auth.ClientSecret, "ARM_CLIENT_SECRET_FILE_PATH"},
		"azurerm certificate":     {principal.and(variables{"ARM_CLIENT_CERTIFICATE_PATH": "f"}), auth.ClientCertificate, "ARM_CLIENT_CERTIFICATE_PATH"},
		"azapi certificate":       {principal.and(variables{"ARM_CLIENT_CERTIFICATE": "Zg=="}), auth.ClientCertificate, "ARM_CLIENT_CERTIFICATE"},
		"SDK secret":              {variables{"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s"}, auth.ClientSecret, "AZURE_CLIENT_SECRET"},
		"SDK certificate":         {variables{"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_CERTIFICATE_PATH": "f"}, auth.ClientCertificate, "AZURE_CLIENT_CERTIFICATE_PATH"},
		"a pod":                   {variables{"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_FEDERATED_TOKEN_FILE": "f", "AZURE_AUTHORITY_HOST": "https://login.example/"}, auth.WorkloadIdentity, "AZURE_FEDERATED_TOKEN_FILE"},
		"azurerm in a pod":        {variables{"ARM_USE_AKS_WORKLOAD_IDENTITY": "true", "AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_FEDERATED_TOKEN_FILE": "f"}, auth.WorkloadIdentity, "ARM_USE_AKS_WORKLOAD_IDENTITY"},
		"GitHub":                  {principal.and(variables{"ARM_USE_OIDC": "true", "ACTIONS_ID_TOKEN_REQUEST_URL": "https://h/x?a=b", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "b"}), auth.OIDC, "ARM_USE_OIDC"},
		"Azure DevOps":            {principal.and(variables{"ARM_USE_OIDC": "1", "SYSTEM_OIDCREQUESTURI": "https://h/x", "SYSTEM_ACCESSTOKEN": "b", "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID": "i"}), auth.OIDC, "ARM_USE_OIDC"},
		"a given token":           {principal.and(variables{"ARM_OIDC_TOKEN": "x"}), auth.OIDC, "ARM_OIDC_TOKEN"},
		"a machine":               {variables{"ARM_USE_MSI": "true"}, auth.ManagedIdentity, "ARM_USE_MSI"},
		"a switch beside secrets": {principal.and(variables{"ARM_USE_MSI": "true", "ARM_CLIENT_SECRET": "s"}), auth.ManagedIdentity, "ARM_USE_MSI"},
		"the CLI is allowed too":  {variables{"ARM_USE_MSI": "true", "ARM_USE_CLI": "true"}, auth.ManagedIdentity, "ARM_USE_MSI"},
		"the CLI beside a secret": {principal.and(variables{"ARM_USE_CLI": "true", "ARM_CLIENT_SECRET": "s"}), auth.ClientSecret, "ARM_CLIENT_SECRET"},
		"the public cloud":        {principal.and(variables{"ARM_CLIENT_SECRET": "s", "ARM_ENVIRONMENT": "public"}), auth.ClientSecret, "ARM_CLIENT_SECRET"},
		"SDK choice":              {variables{"AZURE_TOKEN_CREDENTIALS": "ManagedIdentityCredential"}, auth.ManagedIdentity, "AZURE_TOKEN_CREDENTIALS"},
		"SDK choice of variables": {variables{"AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential", "AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s"}, auth.ClientSecret, "AZURE_CLIENT_SECRET"},
		"SDK choice of a chain":   {variables{"AZURE_TOKEN_CREDENTIALS": "prod"}, auth.Chain, "AZURE_TOKEN_CREDENTIALS"},
		"both families":           {principal.and(variables{"AZURE_CLIENT_ID": "other", "ARM_CLIENT_SECRET": "s", "AZURE_CLIENT_SECRET": "other"}), auth.ClientSecret, "ARM_CLIENT_SECRET"},
	} {
		got, err := auth.FromEnvironment(c.env.get, "")
		if err != nil || got.Method != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %s because %s, %v", name, got.Method, got.Why, err)
		}
		if got.ClientID == "other" || got.ClientSecret.Reveal() == "other" {
			t.Errorf("%s: two families of variables are mixed", name)
		}
	}
}

func TestVariablesThatPointAtTwoMethodsAreRefusedTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env   variables
		named []string
	}{
		"two secrets":           {principal.and(variables{"ARM_CLIENT_SECRET": "s", "ARM_CLIENT_CERTIFICATE_PATH": "f"}), []string{"ARM_CLIENT_SECRET", "ARM_CLIENT_CERTIFICATE_PATH"}},
		"two switches":          {principal.and(variables{"ARM_USE_MSI": "true", "ARM_USE_OIDC": "true", "ARM_OIDC_TOKEN": "x"}), []string{"ARM_USE_MSI", "ARM_USE_OIDC"}},
		"a secret in a pod":     {principal.and(variables{"ARM_CLIENT_SECRET": "s", "AZURE_FEDERATED_TOKEN_FILE": "f"}), []string{"ARM_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE"}},
		"no CLI either":         {variables{"ARM_USE_CLI": "false"}, []string{"ARM_USE_CLI"}},
		"half a principal":      {variables{"ARM_CLIENT_ID": "c", "ARM_CLIENT_SECRET": "s"}, []string{"tenant_id", "ARM_CLIENT_SECRET"}},
		"an unknown credential": {variables{"AZURE_TOKEN_CREDENTIALS": "Magic"}, []string{"AZURE_TOKEN_CREDENTIALS", "Magic"}},
		"an unknown cloud":      {variables{"ARM_ENVIRONMENT": "mars"}, []string{"ARM_ENVIRONMENT", "mars"}},
		"a government's cloud":  {variables{"ARM_ENVIRONMENT": "usgovernment"}, []string{"ARM_ENVIRONMENT", "usgovernment", "public cloud alone"}},
		"China's cloud":         {variables{"AZURE_ENVIRONMENT": "AzureChinaCloud", "AZURE_AUTHORITY_HOST": "https://login.example"}, []string{"AZURE_ENVIRONMENT", "AzureChinaCloud"}},
		"OIDC without a token":  {principal.and(variables{"ARM_USE_OIDC": "true"}), []string{"oidc_token", "ARM_USE_OIDC"}},
		"GitHub without the permission": {
			principal.and(variables{"ARM_USE_OIDC": "true", "ACTIONS_ID_TOKEN_REQUEST_URL": "https://h/x"}), []string{"oidc_request_token"},
		},
	} {
		_, err := auth.FromEnvironment(c.env.get, "")
		if !errors.Is(err, sandbox.CodeCredentialInvalid) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, n := range c.named {
			if !strings.Contains(err.Error(), n) {
				t.Errorf("%s: %v does not name %s", name, err, n)
			}
		}
	}
}

func TestAMethodThatIsChosenByNameReplacesWhatVariablesChoose(t *testing.T) {
	t.Parallel()
	env := principal.and(variables{"ARM_CLIENT_SECRET": "s", "ARM_CLIENT_CERTIFICATE_PATH": "f"})
	c, err := auth.FromEnvironment(env.get, auth.ClientSecret)
	if err != nil || c.Method != auth.ClientSecret || c.Why == "" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := auth.FromEnvironment(env.get, "magic"); !errors.Is(err, sandbox.CodeCredentialInvalid) || !strings.Contains(err.Error(), string(auth.WorkloadIdentity)) {
		t.Error(err)
	}
}

func TestAChainIsTriedOnlyWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	env := principal.and(variables{"ARM_CLIENT_SECRET": "s"})
	c, err := auth.FromEnvironment(env.get, auth.Chain)
	if err != nil || !slices.Equal(c.Chain, []auth.Method{auth.ClientSecret, auth.ManagedIdentity, auth.CLI}) {
		t.Errorf("the chain is %q, %v", c.Chain, err)
	}
	for _, chain := range [][]auth.Method{{}, {auth.Chain}, {auth.CLI, auth.OIDC}} {
		if err := (auth.Config{Method: auth.Chain, Chain: chain}).Check(); !errors.Is(err, sandbox.CodeCredentialInvalid) {
			t.Errorf("%q: %v", chain, err)
		}
	}
}

func TestAClientIDCanStandInAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := variables{"ARM_TENANT_ID": "t", "ARM_CLIENT_SECRET": "s", "ARM_CLIENT_ID_FILE_PATH": file}
	if c, err := auth.FromEnvironment(env.get, ""); err != nil || c.ClientID != "from-file" {
		t.Errorf("%+v, %v", c, err)
	}
	env["ARM_CLIENT_ID_FILE_PATH"] = file + "x"
	if _, err := auth.FromEnvironment(env.get, ""); !errors.Is(err, sandbox.CodeCredentialInvalid) || strings.Contains(err.Error(), file) {
		t.Error(err)
	}
}

func TestEveryVariableThatIsReadIsListed(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	for _, m := range append(auth.Methods(), "") {
		_, _ = auth.FromEnvironment(func(name string) string { read[name] = true; return "" }, m)
	}
	listed := auth.Variables()
	for name := range read {
		if !slices.Contains(listed, name) {
			t.Errorf("%s is read and not listed", name)
		}
	}
}

func TestAPrintedConfigurationShowsNoSecret(t *testing.T) {
	t.Parallel()
	const sentinel = "s3ntinel"
	secret := auth.NewSecret(sentinel)
	c := auth.Config{
		Method: auth.ClientSecret, Tenant: "t", ClientID: "c", ClientSecret: secret, Certificate: secret, CertificatePassword: secret,
		OIDCToken: secret, OIDCRequestToken: secret,
	}
	credential, err := auth.New(c)
	if err != nil {
		t.Fatal(err)
	}
	hidden := struct{ inner auth.Config }{c}
	for _, v := range []any{c, &c, credential, *credential, hidden, secret, &secret, []any{c}, map[string]any{"c": c}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, sentinel) || strings.Contains(text, fmt.Sprintf("%x", sentinel)) {
				t.Errorf("%s of %T shows it", verb, v)
			}
		}
	}
	if secret.Reveal() != sentinel || (auth.Secret{}).Reveal() != "" {
		t.Error("a secret does not hold its text")
	}
}
