package provider

import (
	"crypto/x509"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// userAgent names the provider to the service.
const userAgent = "terraform-sandbox"

// newACAS is a home on Azure. Files are read, and somebody signs in, when the first
// object is looked at.
func (p *sandboxProvider) newACAS(block types.Object) *home {
	given, waits := acasTexts(block)
	h := &home{waits: waits}
	setting := func(name string, variables ...string) string {
		value := given[name]
		for _, v := range variables {
			if value == "" {
				value = p.getenv(v)
			}
		}
		return value
	}
	h.subscription = setting("subscription_id", "ARM_SUBSCRIPTION_ID", "AZURE_SUBSCRIPTION_ID")
	h.resourceGroup = setting("resource_group", "AZURE_RESOURCE_GROUP")
	h.location = setting("location", "AZURE_LOCATION")
	emulator, _ := block.Attributes()["emulator"].(types.Bool)
	h.open = sync.OnceValues(func() (acasapi.Config, error) {
		cfg := acasapi.Config{ARMEndpoint: given["arm_endpoint"], DataEndpoint: given["endpoint"], Clock: p.clock, UserAgent: userAgent}
		if emulator.ValueBool() {
			return p.emulated(cfg, given)
		}
		return p.signingIn(cfg, given)
	})
	h.findings = append(acasFindings(given, emulator.ValueBool()), requestFindings(given, waits)...)
	return h
}

// acasTexts are the block's settings that are set, and the names of those that are
// not known.
func acasTexts(block types.Object) (given map[string]string, waits []string) {
	given = map[string]string{}
	attributes := block.Attributes()
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if attributes[name].IsUnknown() {
			waits = append(waits, "acas."+name)
			continue
		}
		if text, ok := attributes[name].(types.String); ok && text.ValueString() != "" {
			given[name] = text.ValueString()
		}
	}
	return given, waits
}

// acasFindings are contradictions in the block.
func acasFindings(given map[string]string, emulator bool) []sandbox.Finding {
	var findings []sandbox.Finding
	contradiction := func(found, required, remedy string) {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeContradiction, Subject: "provider block acas", Found: found, Required: required, Remedy: remedy,
		})
	}
	for _, name := range []string{"ca_file", "emulator_token"} {
		if given[name] != "" && !emulator {
			contradiction(name+" without emulator = true", "the service's own certificates and tokens, which are the system's to judge",
				"remove "+name+", or say emulator = true")
		}
	}
	if emulator && given["endpoint"] == "" {
		contradiction("emulator = true without an endpoint", "the emulator's endpoint", "set endpoint to what sandboxctl emulate printed")
	}
	if emulator && given["auth"] != "" {
		contradiction("emulator = true and auth", "one of the two, since nobody signs in to an emulator", "remove auth")
	}
	return findings
}

// requestFindings keep the environment's token from an address that the configuration
// chose: who proposes a change would be shown it at the plan.
func requestFindings(given map[string]string, waits []string) []sandbox.Finding {
	if given["oidc_request_url"] == "" || given["oidc_request_token"] != "" || slices.Contains(waits, "acas.oidc_request_token") {
		return nil
	}
	return []sandbox.Finding{{
		Code: sandbox.CodeContradiction, Subject: "provider block acas", Found: "oidc_request_url without oidc_request_token",
		Required: "both, or neither and both from the environment", Remedy: "remove oidc_request_url, or set oidc_request_token too",
	}}
}

// emulated reaches an emulator, which gets no token of anybody's.
func (p *sandboxProvider) emulated(cfg acasapi.Config, given map[string]string) (acasapi.Config, error) {
	if cfg.ARMEndpoint == "" {
		cfg.ARMEndpoint = cfg.DataEndpoint
	}
	cfg.ExactEndpoints = []string{cfg.ARMEndpoint, cfg.DataEndpoint}
	cfg.Credential = auth.Emulator{Token: auth.NewSecret(given["emulator_token"])}
	if given["ca_file"] == "" {
		return cfg, nil
	}
	pem, err := p.readFile(given["ca_file"])
	cfg.RootCAs = x509.NewCertPool()
	if err != nil || !cfg.RootCAs.AppendCertsFromPEM(pem) {
		found := "no certificate in PEM"
		if err != nil {
			found = reason(err)
		}
		return cfg, sandbox.Finding{
			Code: sandbox.CodeInvalidText, Subject: "acas.ca_file", Found: sandbox.Echo(given["ca_file"]) + ": " + found,
			Required: "a PEM file with a certificate", Remedy: "name the file that sandboxctl emulate wrote",
		}.Refusal(err)
	}
	return cfg, nil
}

// signingIn chooses the one way to sign in.
func (p *sandboxProvider) signingIn(cfg acasapi.Config, given map[string]string) (acasapi.Config, error) {
	if findings := requestFindings(given, nil); len(findings) > 0 {
		return cfg, findings[0].Refusal(nil)
	}
	overlay := map[string]string{}
	method := auth.Method(given["auth"])
	var chosen []auth.Method
	for _, s := range acasSettings() {
		if given[s.name] == "" || s.variable == "" {
			continue
		}
		overlay[s.variable] = given[s.name]
		if m, ok := credentialSettings()[s.name]; ok && !slices.Contains(chosen, m) {
			chosen = append(chosen, m)
		}
	}
	if method == "" && len(chosen) == 1 {
		method = chosen[0]
	}
	how, err := auth.FromEnvironment(func(name string) string {
		if value, ok := overlay[name]; ok {
			return value
		}
		return p.getenv(name)
	}, method)
	if err != nil {
		return cfg, adviseMethod(err)
	}
	credential, err := auth.New(how)
	if err != nil {
		return cfg, adviseMethod(err)
	}
	cfg.Credential = credential
	return cfg, nil
}

// adviseMethod says where the one method is written.
func adviseMethod(err error) error {
	r := sandbox.RefusalOf(err)
	if r == nil || r.Remedy != "" {
		return err
	}
	f := r.Finding
	f.Remedy = "name one method with auth in the provider block acas"
	return f.Refusal(r.Err)
}
