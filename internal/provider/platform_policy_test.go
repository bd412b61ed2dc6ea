package provider

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// platform is a provider on a machine with an environment and files.
func platform(env map[string]string, files map[string][]byte) *sandboxProvider {
	return &sandboxProvider{
		version: "test",
		getenv:  func(name string) string { return env[name] },
		readFile: func(name string) ([]byte, error) {
			switch content, ok := files[name]; {
			case name == "secret.json":
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
			case !ok:
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
			default:
				return content, nil
			}
		},
	}
}

func policyDocument(t *testing.T, p sandbox.Policy) (document []byte, digest string) {
	t.Helper()
	document, err := manifest.EncodePolicy(p)
	if err != nil {
		t.Fatal(err)
	}
	return document, string(manifest.DigestOf(document))
}

func TestImposedFloorHoldsBesideTheTeams(t *testing.T) {
	t.Parallel()
	document, digest := policyDocument(t, sandbox.Policy{MinimumIsolation: sandbox.IsolationHardenedContainer})
	files := map[string][]byte{"platform.json": document}
	for name, c := range map[string]struct {
		env   map[string]string
		block map[string]any
	}{
		"by the environment":    {map[string]string{envPolicyFile: "platform.json", envPolicyDigest: digest}, nil},
		"by the provider block": {nil, map[string]any{"policy_file": "platform.json", "policy_digest": digest}},
		"without a digest":      {map[string]string{envPolicyFile: "platform.json"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, platform(c.env, files)).configure(t, c.block)
			_, diags := s.plan(t, "sandbox_workload", nil, report(agents()))
			if got := locators(diags); !slices.Equal(got, []string{"isolation.below_floor at backend"}) {
				t.Fatalf("found %q", got)
			}
			for _, contributor := range []string{"platform policy (hardened_container)", `policy "agents" (runtime)`} {
				if !strings.Contains(diags[0].Detail, contributor) {
					t.Errorf("the refusal does not name %s: %s", contributor, diags[0].Detail)
				}
			}
			if got := locators(s.validate(t, "sandbox_workload", report(agents()))); !slices.Contains(got, "isolation.below_floor at backend") {
				t.Errorf("validation within the plan found %q", got)
			}
		})
	}
}

func TestNothingIsImposedWhileTerraformOnlyValidates(t *testing.T) {
	t.Parallel()
	document, _ := policyDocument(t, sandbox.Policy{MinimumIsolation: sandbox.IsolationVM})
	s := newServer(t, platform(map[string]string{envPolicyFile: "platform.json"}, map[string][]byte{"platform.json": document}))
	if diags := s.validate(t, "sandbox_workload", report(agents())); len(diags) > 0 {
		t.Errorf("found %s", render(diags))
	}
}

func TestManifestCarriesTheImposedPolicy(t *testing.T) {
	t.Parallel()
	imposed := sandbox.Policy{Name: "platform", MinimumIsolation: sandbox.IsolationRuntime, MaximumIdentityScope: sandbox.IdentityScopeNone}
	document, _ := policyDocument(t, imposed)
	s := newServer(t, platform(map[string]string{envPolicyFile: "platform.json"}, map[string][]byte{"platform.json": document})).configure(t, nil)
	planned, diags := s.plan(t, "sandbox_manifest", nil, manifestOf(map[string]any{"report": spec(nil)}))
	if failed(diags) {
		t.Fatal(render(diags))
	}
	m, err := manifest.Parse([]byte(text(t, planned, "document")))
	if err != nil || m.HostPolicy == nil || m.HostPolicy.Name != "platform" || m.HostPolicy.MaximumIdentityScope != sandbox.IdentityScopeNone {
		t.Errorf("the manifest carries %+v, %v", m.HostPolicy, err)
	}
}

func TestImposedPolicyThatCannotBeUsedStopsEveryObjectAtPlan(t *testing.T) {
	t.Parallel()
	good, digest := policyDocument(t, sandbox.Policy{MinimumIsolation: sandbox.IsolationRuntime})
	badHost, _ := policyDocument(t, sandbox.Policy{
		Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"bad..host"}},
	})
	files := map[string][]byte{"platform.json": good, "broken.json": []byte(`{"api_version"`), "host.json": badHost}
	other := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		env  map[string]string
		says string
	}{
		"no such file":           {map[string]string{envPolicyFile: "missing.json"}, `"missing.json": no such file`},
		"no permission":          {map[string]string{envPolicyFile: "secret.json"}, `"secret.json": permission denied`},
		"another digest":         {map[string]string{envPolicyFile: "platform.json", envPolicyDigest: other}, `"platform.json" has digest ` + digest},
		"a digest alone":         {map[string]string{envPolicyDigest: digest}, "a digest without a file"},
		"not a document":         {map[string]string{envPolicyFile: "broken.json"}, `"broken.json": `},
		"a host that is no host": {map[string]string{envPolicyFile: "host.json"}, `"host.json": policy.egress_hosts[0]: `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, platform(c.env, files)).configure(t, nil)
			for resource, attrs := range map[string]map[string]any{
				"sandbox_policy": agents(), "sandbox_workload": report(agents()), "sandbox_manifest": manifestOf(map[string]any{"report": spec(nil)}),
			} {
				if diags := s.validate(t, resource, attrs); len(diags) > 0 {
					t.Errorf("%s is refused when it is validated: %s", resource, render(diags))
				}
				_, diags := s.plan(t, resource, nil, attrs)
				if got := locators(diags); !slices.Equal(got, []string{"platform_policy.unreadable"}) {
					t.Fatalf("%s: found %q\n%s", resource, got, render(diags))
				}
				if !strings.Contains(diags[0].Detail, c.says) {
					t.Errorf("%s says %q, want %q in it", resource, diags[0].Detail, c.says)
				}
			}
		})
	}
}

func TestImposedPolicyThatIsNotKnownYetLeavesDecisionsOpen(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, map[string]any{"policy_file": notKnown{}})
	planned, diags := s.plan(t, "sandbox_workload", nil, report(agents()))
	if failed(diags) || text(t, planned, "verdict") != "unknown" {
		t.Errorf("verdict %s\n%s", text(t, planned, "verdict"), render(diags))
	}
	_, diags = s.plan(t, "sandbox_workload", nil, report(with(agents(), map[string]any{"minimum_isolation": "vm"})))
	if got := locators(diags); !slices.Equal(got, []string{"isolation.below_floor at backend"}) {
		t.Errorf("a denial that is certain anyway: %q", got)
	}
}

func TestTwoImposedPoliciesBothHold(t *testing.T) {
	t.Parallel()
	one, _ := policyDocument(t, sandbox.Policy{DeniedCapabilities: sandbox.SetOf(sandbox.CapabilityFilesOut)})
	two, _ := policyDocument(t, sandbox.Policy{DeniedCapabilities: sandbox.SetOf(sandbox.CapabilityFilesIn)})
	files := map[string][]byte{"one.json": one, "two.json": two}
	s := newServer(t, platform(map[string]string{envPolicyFile: "one.json"}, files)).configure(t, map[string]any{"policy_file": "two.json"})
	for _, capability := range []string{"files_in", "files_out"} {
		attrs := with(report(agents()), map[string]any{"requires": []string{"run_code", capability}, "outputs": nil})
		if _, diags := s.plan(t, "sandbox_workload", nil, attrs); !slices.Equal(locators(diags), []string{"capability.denied at requires"}) {
			t.Errorf("%s: %s", capability, render(diags))
		}
	}
	if _, diags := s.plan(t, "sandbox_workload", nil, with(report(agents()), map[string]any{"requires": []string{"run_code"}, "outputs": nil})); failed(diags) {
		t.Errorf("what neither denies is refused: %s", render(diags))
	}
}

func TestProviderBlockTakesOneHomeOfRemoteObjects(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	typ := s.types["provider"]
	empty := map[string]any{}
	for name, c := range map[string]struct {
		block map[string]any
		want  []string
	}{
		"neither":  {empty, []string{}},
		"embedded": {map[string]any{"embedded": empty}, []string{}},
		"acas":     {map[string]any{"acas": empty}, []string{}},
		"both":     {map[string]any{"embedded": empty, "acas": empty}, []string{"value.contradiction at embedded"}},
	} {
		resp, err := s.ValidateProviderConfig(context.Background(), &tfprotov6.ValidateProviderConfigRequest{
			Config: dynamic(t, typ, value(t, typ, c.block)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := locators(resp.Diagnostics); !slices.Equal(got, c.want) {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}

func TestReasonDoesNotRepeatThePath(t *testing.T) {
	t.Parallel()
	if got := reason(&fs.PathError{Op: "read", Path: "x", Err: errors.New("is a directory")}); got != "is a directory" {
		t.Errorf("reason is %q", got)
	}
}
