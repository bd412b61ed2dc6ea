package provider

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// sealed is the policy agents with the digest that its resource computed.
func sealed(t *testing.T, s *server, attrs map[string]any) map[string]any {
	t.Helper()
	planned, diags := s.plan(t, "sandbox_policy", nil, attrs)
	if failed(diags) {
		t.Fatal(render(diags))
	}
	return with(attrs, map[string]any{"digest": text(t, planned, "digest")})
}

func TestPolicyThatLostAnAttributeOnTheWayIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	whole := sealed(t, s, agents())
	if diags := s.validate(t, "sandbox_workload", report(whole)); len(diags) > 0 {
		t.Fatalf("the whole policy is refused: %s", render(diags))
	}
	for name := range agents() {
		lost := maps.Clone(whole)
		delete(lost, name)
		diags := s.validate(t, "sandbox_workload", report(lost))
		if !slices.Contains(locators(diags), "document.attributes_lost at policy") {
			t.Errorf("without %s: %s", name, render(diags))
		}
		if name == "denied_identities" && !strings.Contains(diags[0].Detail, `variables it passes through "any"`) {
			t.Errorf("the refusal does not say how it came about: %s", diags[0].Detail)
		}
	}
}

func TestPolicyThatWasChangedOnPurposeGoesWithoutItsDigest(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	merged := with(sealed(t, s, agents()), map[string]any{"minimum_isolation": "none"})
	if got := locators(s.validate(t, "sandbox_workload", report(merged))); !slices.Equal(got, []string{"document.attributes_lost at policy"}) {
		t.Errorf("a merged policy with the old digest: %q", got)
	}
	merged["digest"] = nil
	if diags := s.validate(t, "sandbox_workload", report(merged)); len(diags) > 0 {
		t.Errorf("a merged policy without a digest: %s", render(diags))
	}
}

// Mocks invent computed values. Only Terraform's own plan may conclude anything
// from a digest that is none.
func TestInventedDigestIsPassedOverWhenValidatingAndRefusedInAPlan(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	mocked := report(with(agents(), map[string]any{"digest": "gh7s2k1a"}))
	if diags := s.validate(t, "sandbox_workload", mocked); len(diags) > 0 {
		t.Errorf("validate: %s", render(diags))
	}
	if _, diags := s.plan(t, "sandbox_workload", nil, mocked); !slices.Equal(locators(diags), []string{"document.attributes_lost at policy"}) {
		t.Errorf("plan: %s", render(diags))
	}
	denied := with(mocked, map[string]any{"policy": with(agents(), map[string]any{"digest": "gh7s2k1a", "minimum_isolation": "vm"})})
	if got := locators(s.validate(t, "sandbox_workload", denied)); !slices.Contains(got, "isolation.below_floor at backend") {
		t.Errorf("a mocked policy is not decided: %q", got)
	}
}

func TestWorkloadThatLostAnAttributeOnTheWayIsRefusedByTheManifest(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	planned, diags := s.plan(t, "sandbox_workload", nil, with(report(agents()), map[string]any{"minimum_isolation": "runtime"}))
	if failed(diags) {
		t.Fatal(render(diags))
	}
	spec := with(report(nil), map[string]any{"minimum_isolation": "runtime", "digest": text(t, planned, "digest")})
	delete(spec, "policy")
	plan := func(spec map[string]any) []string {
		_, diags := s.plan(t, "sandbox_manifest", nil, map[string]any{"policy": agents(), "workloads": map[string]any{"report": spec}})
		return locators(diags)
	}
	if got := plan(spec); len(got) > 0 {
		t.Errorf("the whole workload is refused: %q", got)
	}
	delete(spec, "minimum_isolation")
	if got, want := plan(spec), []string{`document.attributes_lost at workloads["report"]`}; !slices.Equal(got, want) {
		t.Errorf("without its floor: %q, want %q", got, want)
	}
}

func TestSealIsNotBrokenByAnEncodingFault(t *testing.T) {
	t.Parallel()
	s := seal("sha256:" + strings.Repeat("0", 64))
	fails := func() ([]byte, error) { return nil, sandbox.CodeInvalidText }
	if findings := s.broken("policy", fails, planning); len(findings) > 0 {
		t.Errorf("found %v", findings)
	}
}
