package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestFirstPlanKnowsDigestsVerdictAndDocument(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)

	policy, diags := s.plan(t, "sandbox_policy", nil, agents())
	if len(diags) > 0 || !sandbox.IsDigest(text(t, policy, "digest")) {
		t.Fatalf("policy digest %q\n%s", text(t, policy, "digest"), render(diags))
	}
	workload, diags := s.plan(t, "sandbox_workload", nil, report(agents()))
	if len(diags) > 0 || !sandbox.IsDigest(text(t, workload, "digest")) || text(t, workload, "verdict") != "allow" {
		t.Fatalf("workload %s\n%s", workload, render(diags))
	}
	spec := report(nil)
	delete(spec, "policy")
	manifest, diags := s.plan(t, "sandbox_manifest", nil, map[string]any{
		"policy": agents(), "workloads": map[string]any{"report": spec},
	})
	if len(diags) > 0 || !sandbox.IsDigest(text(t, manifest, "digest")) || !strings.HasPrefix(text(t, manifest, "document"), "{") {
		t.Fatalf("manifest %s\n%s", manifest, render(diags))
	}
}

func TestOrderOfWordsDoesNotChangeADigest(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	digest := func(requires ...string) string {
		workload, diags := s.plan(t, "sandbox_workload", nil, with(report(agents()), map[string]any{"requires": requires}))
		if failed(diags) {
			t.Fatal(render(diags))
		}
		return text(t, workload, "digest")
	}
	one, other := digest("run_code", "files_in", "files_out"), digest("files_out", "run_code", "files_in", "run_code")
	if one != other {
		t.Errorf("digests %s and %s of the same requirements", one, other)
	}
	if more := digest("run_code", "files_in", "files_out", "files_list"); more == one {
		t.Error("a further requirement kept the digest")
	}
}

func TestUnknownValuesLeaveComputedAttributesUnknown(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	spec := report(nil)
	delete(spec, "policy")
	for name, c := range map[string]struct {
		resource string
		attrs    map[string]any
		computed []string
	}{
		"a policy's floor": {"sandbox_policy", with(agents(), map[string]any{"minimum_isolation": notKnown{}}), []string{"digest"}},
		"one host of a policy": {
			"sandbox_policy",
			with(agents(), map[string]any{"egress_mode": "allowlist", "egress_hosts": []any{"a.example.com", notKnown{}}}),
			[]string{"digest"},
		},
		"a workload's whole policy": {"sandbox_workload", report(notKnown{}), []string{"digest", "verdict", "findings"}},
		"the floor in a workload's policy": {
			"sandbox_workload", report(with(agents(), map[string]any{"minimum_isolation": notKnown{}})),
			[]string{"digest", "verdict", "findings"},
		},
		"a workload's backend": {"sandbox_workload", with(report(agents()), map[string]any{"backend": notKnown{}}), []string{"digest", "verdict", "findings"}},
		"a workload's label": {
			"sandbox_workload", with(report(agents()), map[string]any{"labels": map[string]any{"team": notKnown{}}}),
			[]string{"digest", "verdict", "findings"},
		},
		"an output of a workload": {
			"sandbox_workload", with(report(agents()), map[string]any{"outputs": map[string]any{"chart": notKnown{}}}),
			[]string{"digest", "verdict", "findings"},
		},
		"a manifest's workloads": {
			"sandbox_manifest",
			map[string]any{"policy": agents(), "workloads": notKnown{}},
			[]string{"document", "digest"},
		},
		"a workload of a manifest": {
			"sandbox_manifest",
			map[string]any{"policy": agents(), "workloads": map[string]any{"a": spec, "b": notKnown{}}},
			[]string{"document", "digest"},
		},
		"a manifest's policy": {
			"sandbox_manifest",
			map[string]any{"policy": notKnown{}, "workloads": map[string]any{"a": spec}},
			[]string{"document", "digest"},
		},
		"a manifest's generation": {
			"sandbox_manifest",
			map[string]any{"policy": agents(), "workloads": map[string]any{"a": spec}, "generation": notKnown{}},
			[]string{"document", "digest"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diags := s.validate(t, c.resource, c.attrs); len(diags) > 0 {
				t.Fatalf("validate: %s", render(diags))
			}
			planned, diags := s.plan(t, c.resource, nil, c.attrs)
			if len(diags) > 0 {
				t.Fatalf("plan: %s", render(diags))
			}
			for name, v := range attrsOf(t, planned) {
				if slices.Contains(c.computed, name) && v.IsKnown() {
					t.Errorf("%s is planned as %s before the decision", name, v)
				}
			}
		})
	}
}

func TestCertainDenialIsKnownBesideUnknownValues(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name, c := range map[string]struct {
		attrs map[string]any
		want  string
	}{
		"a denied capability on a backend that is not known": {
			with(report(with(agents(), map[string]any{"denied_capabilities": []string{"run_code"}})), map[string]any{"backend": notKnown{}}),
			"capability.denied at requires",
		},
		"a missing capability under a policy that is not known": {
			with(report(notKnown{}), map[string]any{"requires": []string{"exec", "files_out"}}),
			"capability.missing at requires",
		},
		"a malformed host beside one that is not known": {
			with(report(notKnown{}), map[string]any{"egress_mode": "allowlist", "egress_hosts": []any{notKnown{}, "bad..host"}}),
			"egress.host_invalid at egress_hosts[1]",
		},
		"a floor above any other in a policy with an unknown name": {
			report(with(agents(), map[string]any{"name": notKnown{}, "minimum_isolation": "vm"})),
			"isolation.below_floor at backend",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := locators(s.validate(t, "sandbox_workload", c.attrs)); !slices.Contains(got, c.want) {
				t.Errorf("found %q, want %q among them", got, c.want)
			}
		})
	}
}

func TestApplyRefusesWhatIsStillUndecided(t *testing.T) {
	t.Parallel()
	r := newTestResource(t, newWorkloadResource())
	typ := newServer(t, offline()).types["sandbox_workload"]
	_, diags := r.settle(tftypes.NewValue(typ, nil), value(t, typ, with(report(agents()), map[string]any{"backend": notKnown{}})))
	if !diags.HasError() || !strings.HasSuffix(diags[0].Detail(), " decision.undecided at backend") {
		t.Errorf("settled with %v", diags)
	}
	if _, diags := r.settle(tftypes.NewValue(typ, nil), value(t, typ, report(agents()))); diags.HasError() {
		t.Errorf("a decided workload is refused: %v", diags)
	}
}

func TestAppliedStateIsThePlanAndPlansEmpty(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	attrs := report(agents())
	planned, _ := s.plan(t, "sandbox_workload", nil, attrs)
	state, diags := s.apply(t, "sandbox_workload", nil, attrs)
	if failed(diags) || !state.Equal(planned) {
		t.Fatalf("applied %s, planned %s\n%s", state, planned, render(diags))
	}
	again, diags := s.plan(t, "sandbox_workload", &state, attrs)
	if failed(diags) || !again.Equal(state) {
		t.Errorf("second plan %s, state %s\n%s", again, state, render(diags))
	}
}

func TestUpdatePlansTheNextValuesAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	state, diags := s.apply(t, "sandbox_policy", nil, agents())
	if failed(diags) {
		t.Fatal(render(diags))
	}
	changed := with(agents(), map[string]any{"denied_identities": []string{"app", "user"}})
	planned, diags := s.plan(t, "sandbox_policy", &state, changed)
	before, after := text(t, state, "digest"), text(t, planned, "digest")
	if failed(diags) || !sandbox.IsDigest(after) || after == before {
		t.Fatalf("digest %s, then %s\n%s", before, after, render(diags))
	}
	updated, diags := s.apply(t, "sandbox_policy", &state, changed)
	if failed(diags) || !updated.Equal(planned) {
		t.Errorf("updated %s, planned %s\n%s", updated, planned, render(diags))
	}
}

// A killed apply leaves the state of some objects behind and not of others; each
// object's next plan works from its configuration alone, so it ends the same.
func TestApplyCompletesFromAnyStateThatAKilledOneLeft(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	spec := report(nil)
	delete(spec, "policy")
	attrs := map[string]any{"policy": agents(), "workloads": map[string]any{"report": spec}}
	whole, diags := s.apply(t, "sandbox_manifest", nil, attrs)
	if failed(diags) {
		t.Fatal(render(diags))
	}
	older, diags := s.apply(t, "sandbox_manifest", nil, with(attrs, map[string]any{"generation": 1}))
	if failed(diags) {
		t.Fatal(render(diags))
	}
	for name, prior := range map[string]*tftypes.Value{"nothing": nil, "the state before": &older, "the state itself": &whole} {
		again, diags := s.apply(t, "sandbox_manifest", prior, attrs)
		if failed(diags) || !again.Equal(whole) {
			t.Errorf("after %s: %s\n%s", name, again, render(diags))
		}
	}
}

func newTestResource(t *testing.T, r any) *pureResource {
	t.Helper()
	pure, ok := r.(*pureResource)
	if !ok {
		t.Fatalf("%T is not pure", r)
	}
	return pure
}
