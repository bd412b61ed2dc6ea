package provider

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// reaching is a workload that documented evidence admits on acas, with an
// allowlist of these hosts.
func reaching(hosts ...string) map[string]any {
	return map[string]any{
		"backend": "acas", "kind": "codeact", "requires": []string{"exec"},
		"egress_mode": "allowlist", "egress_hosts": hosts,
	}
}

// acasPolicy admits reaching workloads.
func acasPolicy() map[string]any {
	return map[string]any{
		"name": "agents", "minimum_isolation": "microvm", "minimum_evidence": "documented", "denied_identities": []string{"app"},
		"egress_mode": "allowlist", "egress_hosts": []string{"*.example.com"},
	}
}

// posture is a manifest with one workload that reaches a.example.com.
func posture(changes map[string]any) map[string]any {
	return with(map[string]any{
		"policy": acasPolicy(), "workloads": map[string]any{"report": reaching("a.example.com")}, "on_widening": "refuse",
	}, changes)
}

func workloads(w map[string]any) map[string]any { return map[string]any{"workloads": w} }

// widenings are the severities of what is about widening.
func widenings(all []string) []string {
	return slices.DeleteFunc(all, func(l string) bool { return !strings.Contains(l, " posture.") })
}

func TestWidenedManifestIsRefusedPartByPart(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	prior := applied(t, s, "sandbox_manifest", posture(nil))
	for name, c := range map[string]struct {
		changes map[string]any
		want    []string
	}{
		"nothing":      {nil, nil},
		"a generation": {map[string]any{"generation": 9}, nil},
		"the policy from a local": {
			map[string]any{"policy": with(acasPolicy(), map[string]any{"egress_hosts": []string{"*.example.com", "x.example.net"}})},
			[]string{"error posture.widened at policy.egress_hosts[1]"},
		},
		"a denial of the policy": {
			map[string]any{"policy": with(acasPolicy(), map[string]any{"denied_identities": nil})},
			[]string{"error posture.widened at policy.denied_identities"},
		},
		"a host of a workload": {
			workloads(map[string]any{"report": reaching("a.example.com", "b.example.com")}),
			[]string{`error posture.widened at workloads["report"].egress_hosts[1]`},
		},
		"a host less":       {workloads(map[string]any{"report": with(reaching("a.example.com"), map[string]any{"requires": []string{}})}), nil},
		"a capability more": {workloads(map[string]any{"report": with(reaching("a.example.com"), map[string]any{"requires": []string{"exec", "files_in"}})}), []string{`error posture.widened at workloads["report"].requires`}},
		"a larger limit": {
			workloads(map[string]any{"report": with(reaching("a.example.com"), map[string]any{"files_in_limits": map[string]any{"max_bytes_per_file": 1, "max_total_bytes": 1, "max_files": 65}})}),
			[]string{`error posture.widened at workloads["report"].files_in_limits`},
		},
		"a label": {workloads(map[string]any{"report": with(reaching("a.example.com"), map[string]any{"labels": map[string]any{"team": "a"}})}), nil},
		"a workload under a new name": {
			workloads(map[string]any{"other": reaching("a.example.com")}), nil,
		},
		"a second workload that does no more": {
			workloads(map[string]any{"report": reaching("a.example.com"), "other": with(reaching("A.example.com."), map[string]any{"requires": []string{}})}), nil,
		},
		"a second workload of another kind": {
			workloads(map[string]any{"report": reaching("a.example.com"), "other": with(reaching("a.example.com"), map[string]any{"kind": "bicep"})}),
			[]string{`error posture.widened at workloads["other"]`},
		},
		"a renamed workload that reaches more": {
			workloads(map[string]any{"other": reaching("a.example.com", "b.example.com")}),
			[]string{`error posture.widened at workloads["other"]`},
		},
		"the guard": {
			map[string]any{"on_widening": nil}, []string{"error posture.widened at on_widening"},
		},
		"several parts": {
			map[string]any{
				"policy":    with(acasPolicy(), map[string]any{"denied_identities": nil}),
				"workloads": map[string]any{"report": reaching("a.example.com", "b.example.com"), "z": reaching("z.example.com")},
			},
			[]string{
				"error posture.widened at policy.denied_identities",
				`error posture.widened at workloads["report"].egress_hosts[1]`,
				`error posture.widened at workloads["z"]`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := posture(c.changes)
			_, diags := s.plan(t, "sandbox_manifest", prior, changed)
			if got := widenings(severities(diags)); !slices.Equal(got, c.want) {
				t.Fatalf("got %q, want %q\n%s", got, c.want, render(diags))
			}
			if len(c.want) == 0 {
				return
			}
			changed["accept_widening"] = offered(t, diags)
			if _, diags := s.plan(t, "sandbox_manifest", prior, changed); failed(diags) {
				t.Errorf("accepted: %s", render(diags))
			}
			// The run after this one has another generation and is the same change.
			changed["generation"] = 12
			if _, diags := s.plan(t, "sandbox_manifest", prior, changed); failed(diags) {
				t.Errorf("accepted, by the next run: %s", render(diags))
			}
			changed["generation"] = notKnown{}
			if _, diags := s.plan(t, "sandbox_manifest", prior, changed); failed(diags) {
				t.Errorf("accepted, by a run whose number is not known: %s", render(diags))
			}
		})
	}
}

func TestWidenedManifestWarnsOncePerPart(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	prior := applied(t, s, "sandbox_manifest", posture(map[string]any{"on_widening": nil}))
	_, diags := s.plan(t, "sandbox_manifest", prior, posture(map[string]any{
		"on_widening": nil,
		"policy":      with(acasPolicy(), map[string]any{"denied_identities": nil}),
		"workloads":   map[string]any{"report": reaching("b.example.com"), "z": reaching("z.example.com")},
	}))
	var got []string
	for _, d := range diags {
		if strings.Contains(d.Detail, " posture.widened") {
			got = append(got, d.Summary)
		}
	}
	want := []string{
		`Policy reaches more than before (policy "agents")`,
		`Workload reaches more than before (workload "report")`,
		`Workload reaches more than before (workload "z")`,
	}
	if !slices.Equal(got, want) || failed(diags) {
		t.Errorf("got %q\n%s", got, render(diags))
	}
}

func TestNewWorkloadSaysWhatItMayDo(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	prior := applied(t, s, "sandbox_manifest", posture(nil))
	_, diags := s.plan(t, "sandbox_manifest", prior, posture(workloads(map[string]any{"report": reaching("a.example.com"), "z": reaching("z.example.com")})))
	want := `Workload "z" would permit what it did not before:
- workloads: none of that name before, a new one now
- requires: exec asked for
- egress_mode: z.example.com:443 becomes reachable

To accept exactly this change, add:
 accept_widening = "` + offered(t, diags) + `"
 posture.widened at workloads["z"]`
	if diags[0].Detail != want {
		t.Errorf("%s\nwant\n%s", diags[0].Detail, want)
	}
}

// A policy brings its own guard and its own acceptance along, whether or not it
// came from a resource.
func TestGuardOfThePolicyHoldsInTheManifest(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	unguarded := map[string]any{"on_widening": nil}
	policy := guarded(acasPolicy())
	wide := with(policy, map[string]any{"egress_hosts": []string{"*.example.com", "x.example.net"}})
	of := func(p map[string]any) map[string]any {
		return posture(with(unguarded, map[string]any{"policy": p}))
	}
	prior := applied(t, s, "sandbox_manifest", of(policy))
	if _, diags := s.plan(t, "sandbox_manifest", prior, of(wide)); !slices.Equal(widenings(severities(diags)), []string{"error posture.widened at policy.egress_hosts[1]"}) {
		t.Errorf("a literal policy's guard: %s", render(diags))
	}
	loosened := with(wide, map[string]any{"on_widening": "allow"})
	if _, diags := s.plan(t, "sandbox_manifest", prior, of(loosened)); !failed(diags) {
		t.Errorf("a literal policy's guard, loosened on the way: %s", render(diags))
	}
	// The policy does not guard the workloads that it admits.
	more := with(of(policy), workloads(map[string]any{"report": reaching("a.example.com", "b.example.com")}))
	if _, diags := s.plan(t, "sandbox_manifest", prior, more); failed(diags) {
		t.Errorf("a workload within a guarded policy: %s", render(diags))
	}

	// What the policy's own resource accepted is accepted here.
	state := applied(t, s, "sandbox_policy", policy)
	_, diags := s.plan(t, "sandbox_policy", state, wide)
	accepted := with(wide, map[string]any{"accept_widening": offered(t, diags)})
	if _, diags := s.plan(t, "sandbox_manifest", prior, of(accepted)); failed(diags) || len(widenings(severities(diags))) != 1 {
		t.Errorf("accepted by the policy: %s", render(diags))
	}
	further := of(with(accepted, map[string]any{"egress_hosts": []string{"*.example.com", "x.example.net", "y.example.net"}}))
	if _, diags := s.plan(t, "sandbox_manifest", prior, further); !failed(diags) {
		t.Error("what the policy accepted let another change through")
	}
}

// Another policy in the place of the one before has a state of its own, and none
// at all when it is new. The manifest sees the difference.
func TestManifestComparesAPolicyThatTookAnothersPlace(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	prior := applied(t, s, "sandbox_manifest", posture(map[string]any{"policy": sealed(t, s, acasPolicy())}))
	another := sealed(t, s, with(acasPolicy(), map[string]any{"name": "others", "egress_mode": "unrestricted", "egress_hosts": nil}))
	_, diags := s.plan(t, "sandbox_manifest", prior, posture(map[string]any{"policy": another}))
	if got := widenings(severities(diags)); !slices.Equal(got, []string{"error posture.widened at policy.egress_mode"}) ||
		!strings.Contains(render(diags), "any destination becomes reachable") {
		t.Errorf("got %q\n%s", got, render(diags))
	}
}

func TestImposedPolicyThatIsLoosenedOrGoneIsAWidening(t *testing.T) {
	t.Parallel()
	imposing := func(p map[string]any) *server {
		provider := offline()
		provider.getenv = func(name string) string {
			if name == envPolicyFile && p != nil {
				return "platform.json"
			}
			return ""
		}
		typ := newServer(t, offline()).types["sandbox_policy"]
		provider.readFile = func(string) ([]byte, error) {
			return manifest.EncodePolicy(readPolicy(value(t, typ, p), false).Policy)
		}
		return newServer(t, provider).configure(t, nil)
	}
	platform := map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"a.example.com", "b.example.com"}, "denied_capabilities": []string{"snapshot"}}
	prior := applied(t, imposing(platform), "sandbox_manifest", posture(nil))
	for name, c := range map[string]struct {
		imposed map[string]any
		refused bool
	}{
		"the same":          {platform, false},
		"gone":              {nil, true},
		"a denial less":     {with(platform, map[string]any{"denied_capabilities": nil}), true},
		"a host less":       {with(platform, map[string]any{"egress_hosts": []string{"a.example.com"}}), false},
		"a host more":       {with(platform, map[string]any{"egress_hosts": []string{"a.example.com", "b.example.com", "c.example.com"}}), true},
		"a stronger denial": {with(platform, map[string]any{"denied_identities": []string{"user"}}), false},
	} {
		s := imposing(c.imposed)
		_, diags := s.plan(t, "sandbox_manifest", prior, posture(nil))
		if failed(diags) != c.refused {
			t.Errorf("%s: %s", name, render(diags))
		}
		if c.refused {
			if !slices.Equal(widenings(severities(diags)), []string{"error posture.widened"}) {
				t.Errorf("%s: %q", name, severities(diags))
			}
			if _, diags := s.plan(t, "sandbox_manifest", prior, posture(map[string]any{"accept_widening": offered(t, diags)})); failed(diags) {
				t.Errorf("%s, accepted: %s", name, render(diags))
			}
		}
	}

	// A policy that comes new tightens what the manifest's own states, and answers
	// where that is silent.
	silent := acasPolicy()
	delete(silent, "minimum_isolation")
	bare := newServer(t, offline()).configure(t, nil)
	for name, c := range map[string]struct {
		own     map[string]any
		refused bool
	}{"a floor beside a stated one": {acasPolicy(), false}, "a floor where none was stated": {silent, true}} {
		before := applied(t, bare, "sandbox_manifest", posture(map[string]any{"policy": c.own}))
		_, diags := imposing(map[string]any{"minimum_isolation": "container"}).plan(t, "sandbox_manifest", before, posture(map[string]any{"policy": c.own}))
		if failed(diags) != c.refused {
			t.Errorf("%s: %s", name, render(diags))
		}
	}
}

func TestNewManifestHasNoBaselineWhereAGuardAsksForOne(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	whole := sealed(t, s, acasPolicy())
	for name, c := range map[string]struct {
		changes map[string]any
		want    []string
	}{
		"no guard":                          {map[string]any{"on_widening": nil}, nil},
		"its own guard":                     {nil, []string{"warning posture.no_baseline at on_widening"}},
		"the guard of a policy's resource":  {map[string]any{"on_widening": nil, "policy": guarded(whole)}, nil},
		"the guard of a policy that is not": {map[string]any{"on_widening": nil, "policy": guarded(acasPolicy())}, []string{"warning posture.no_baseline at on_widening"}},
	} {
		_, diags := s.plan(t, "sandbox_manifest", nil, posture(c.changes))
		if got := widenings(severities(diags)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestUnknownPartOfAGuardedManifestIsDecidedAtApply(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	r := newTestResource(t, newManifestResource())
	typ := s.types["sandbox_manifest"]
	prior := applied(t, s, "sandbox_manifest", posture(nil))
	wider := posture(workloads(map[string]any{"report": reaching("a.example.com", "b.example.com")}))
	for name, changes := range map[string]map[string]any{
		"a host":            workloads(map[string]any{"report": with(reaching(), map[string]any{"egress_hosts": []any{"a.example.com", notKnown{}}})}),
		"a workload":        workloads(map[string]any{"report": notKnown{}}),
		"a new workload":    workloads(map[string]any{"report": reaching("a.example.com"), "z": notKnown{}}),
		"its backend":       workloads(map[string]any{"z": with(reaching("a.example.com"), map[string]any{"backend": notKnown{}})}),
		"all workloads":     {"workloads": notKnown{}},
		"the policy":        {"policy": notKnown{}},
		"the policy's rule": {"policy": with(acasPolicy(), map[string]any{"on_widening": notKnown{}})},
		"one of its hosts":  {"policy": with(acasPolicy(), map[string]any{"egress_hosts": []any{"*.example.com", notKnown{}}})},
	} {
		if _, diags := s.plan(t, "sandbox_manifest", prior, posture(changes)); failed(diags) {
			t.Errorf("%s: %s", name, render(diags))
		}
	}
	if _, diags := r.settle(*prior, value(t, typ, wider)); !diags.HasError() {
		t.Error("a widening came through an apply")
	}
	if _, diags := r.settle(*prior, value(t, typ, posture(nil))); diags.HasError() {
		t.Errorf("nothing widened: %v", diags)
	}
	// A certain widening beside what is not known is refused at once.
	certain := posture(workloads(map[string]any{"report": reaching("a.example.com", "b.example.com"), "z": notKnown{}}))
	_, diags := s.plan(t, "sandbox_manifest", prior, certain)
	if !slices.Equal(widenings(severities(diags)), []string{`error posture.widened at workloads["report"].egress_hosts[1]`}) {
		t.Errorf("a certain widening: %s", render(diags))
	}
}

func TestDocumentInStateThatCannotBeReadIsNoBaseline(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	prior := applied(t, s, "sandbox_manifest", posture(nil))
	attrs := maps.Clone(attrsOf(t, *prior))
	document := text(t, *prior, "document")
	for _, broken := range []string{"{}", "", strings.Replace(document, "a.example.com", "a..example.com", 1), strings.Replace(document, "*.example.com", "*.*.example", 1)} {
		attrs["document"] = textValue(broken)
		state := tftypes.NewValue(s.types["sandbox_manifest"], attrs)
		if _, diags := s.plan(t, "sandbox_manifest", &state, posture(nil)); !slices.Equal(widenings(severities(diags)), []string{"error posture.no_baseline"}) {
			t.Errorf("%s: got %s", broken, render(diags))
		}
	}
}
