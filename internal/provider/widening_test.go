package provider

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// listed is a policy with an allowlist of these hosts.
func listed(hosts ...string) map[string]any {
	return map[string]any{
		"name": "agents", "minimum_isolation": "microvm", "denied_identities": []string{"app"},
		"egress_mode": "allowlist", "egress_hosts": hosts, "never_reaches": []string{"169.254.0.0/16"},
	}
}

// guarded is attributes with on_widening = "refuse".
func guarded(attrs map[string]any) map[string]any {
	return with(attrs, map[string]any{"on_widening": "refuse"})
}

// applied is the state after a creation.
func applied(t *testing.T, s *server, resource string, attrs map[string]any) *tftypes.Value {
	t.Helper()
	state, diags := s.apply(t, resource, nil, attrs)
	if failed(diags) {
		t.Fatal(render(diags))
	}
	return &state
}

// offered is the digest that a refusal offers for accepting it, which stands
// alone on a line that begins with one space.
func offered(t *testing.T, diags []*tfprotov6.Diagnostic) string {
	t.Helper()
	for _, d := range diags {
		for line := range strings.SplitSeq(d.Detail, "\n") {
			if rest, ok := strings.CutPrefix(line, ` accept_widening = "`); ok {
				return strings.TrimSuffix(rest, `"`)
			}
		}
	}
	t.Fatalf("nothing offers a digest:\n%s", render(diags))
	return ""
}

// severities renders diagnostics as a severity and a locator each.
func severities(diags []*tfprotov6.Diagnostic) []string {
	var out []string
	for i, l := range locators(diags) {
		severity := "error "
		if diags[i].Severity == tfprotov6.DiagnosticSeverityWarning {
			severity = "warning "
		}
		out = append(out, severity+l)
	}
	return out
}

func TestWidenedPolicyIsRefusedWarnedAboutOrLetThrough(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	narrow, wide := listed("a.example.com"), listed("a.example.com", "cdn.example.net")
	for name, c := range map[string]struct {
		before, after any // on_widening
		want          []string
	}{
		"unset is warn":                     {nil, nil, []string{"warning posture.widened at egress_hosts[1]"}},
		"warn":                              {"warn", "warn", []string{"warning posture.widened at egress_hosts[1]"}},
		"refuse":                            {"refuse", "refuse", []string{"error posture.widened at egress_hosts[1]"}},
		"allow":                             {"allow", "allow", nil},
		"refuse from this change on":        {nil, "refuse", []string{"error posture.widened at egress_hosts[1]"}},
		"refuse until this change":          {"refuse", "warn", []string{"error posture.widened at egress_hosts[1]"}},
		"refuse taken away":                 {"refuse", nil, []string{"error posture.widened at egress_hosts[1]"}},
		"refuse until this change allows":   {"refuse", "allow", []string{"error posture.widened at egress_hosts[1]"}},
		"warn until this change allows":     {"warn", "allow", []string{"warning posture.widened at egress_hosts[1]"}},
		"unset until this change allows":    {nil, "allow", []string{"warning posture.widened at egress_hosts[1]"}},
		"allow until this change refuses":   {"allow", "refuse", []string{"error posture.widened at egress_hosts[1]"}},
		"refuse, and the plan not known":    {"refuse", notKnown{}, []string{"error posture.widened at egress_hosts[1]"}},
		"unset, and the plan not known yet": {nil, notKnown{}, []string{"warning posture.widened at egress_hosts[1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prior := applied(t, s, "sandbox_policy", with(narrow, map[string]any{"on_widening": c.before}))
			_, diags := s.plan(t, "sandbox_policy", prior, with(wide, map[string]any{"on_widening": c.after}))
			if got := severities(diags); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q\n%s", got, c.want, render(diags))
			}
			// One step away: nothing widens, and the guard stays as it was.
			same := with(narrow, map[string]any{"on_widening": c.before})
			if _, diags := s.plan(t, "sandbox_policy", prior, same); len(diags) > 0 {
				t.Errorf("nothing widened: %s", render(diags))
			}
		})
	}
}

// Taking the guard away is a widening, whatever else stays.
func TestRemovingTheGuardIsJudgedByTheGuard(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	prior := applied(t, s, "sandbox_policy", guarded(listed("a.example.com")))
	for name, rule := range map[string]any{"warn": "warn", "allow": "allow", "unset": nil} {
		loose := with(listed("a.example.com"), map[string]any{"on_widening": rule})
		_, diags := s.plan(t, "sandbox_policy", prior, loose)
		if got := severities(diags); !slices.Equal(got, []string{"error posture.widened at on_widening"}) {
			t.Fatalf("%s: %q", name, got)
		}
		loose["accept_widening"] = offered(t, diags)
		if _, diags := s.plan(t, "sandbox_policy", prior, loose); failed(diags) {
			t.Errorf("%s, accepted: %s", name, render(diags))
		}
		// The acceptance of one is not that of another.
		if loose["on_widening"] != "allow" {
			loose["on_widening"] = "allow"
			if _, diags := s.plan(t, "sandbox_policy", prior, loose); !failed(diags) {
				t.Errorf("what was accepted for %s let allow through", name)
			}
		}
	}
	unguarded := applied(t, s, "sandbox_policy", listed("a.example.com"))
	if _, diags := s.plan(t, "sandbox_policy", unguarded, guarded(listed("a.example.com"))); len(diags) > 0 {
		t.Errorf("adding the guard: %s", render(diags))
	}
}

func TestRemovingADenialAFloorOrAnAssertionIsAWidening(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	prior := applied(t, s, "sandbox_policy", guarded(listed("a.example.com")))
	for _, name := range []string{"denied_identities", "minimum_isolation", "never_reaches"} {
		less := guarded(listed("a.example.com"))
		delete(less, name)
		_, diags := s.plan(t, "sandbox_policy", prior, less)
		if got := severities(diags); !slices.Equal(got, []string{"error posture.widened at " + name}) {
			t.Errorf("without %s: %q", name, got)
		}
	}
	more := guarded(with(listed("a.example.com"), map[string]any{"denied_identities": []string{"app", "user"}}))
	if _, diags := s.plan(t, "sandbox_policy", prior, more); len(diags) > 0 {
		t.Errorf("a denial more: %s", render(diags))
	}
}

func TestAcceptedWideningLetsExactlyThatChangeThrough(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	narrow, wide := guarded(listed("a.example.com")), guarded(listed("a.example.com", "cdn.example.net"))
	prior := applied(t, s, "sandbox_policy", narrow)
	_, diags := s.plan(t, "sandbox_policy", prior, wide)
	accepted := with(wide, map[string]any{"accept_widening": offered(t, diags)})

	planned, diags := s.plan(t, "sandbox_policy", prior, accepted)
	if got := severities(diags); !slices.Equal(got, []string{"warning posture.widened at egress_hosts[1]"}) || !sandbox.IsDigest(text(t, planned, "digest")) {
		t.Fatalf("the accepted change: %q\n%s", got, render(diags))
	}
	another := with(accepted, map[string]any{"egress_hosts": []string{"a.example.com", "cdn.example.net", "b.example.com"}})
	if _, diags := s.plan(t, "sandbox_policy", prior, another); !failed(diags) {
		t.Error("a further host came through with it")
	}
	state, diags := s.apply(t, "sandbox_policy", prior, accepted)
	if failed(diags) {
		t.Fatal(render(diags))
	}
	// A stale acceptance says nothing, and lets nothing more through.
	if _, diags := s.plan(t, "sandbox_policy", &state, accepted); len(diags) > 0 {
		t.Errorf("after the apply: %s", render(diags))
	}
	if _, diags := s.plan(t, "sandbox_policy", &state, another); !failed(diags) {
		t.Error("a stale acceptance let another change through")
	}
	if _, diags := s.plan(t, "sandbox_policy", &state, wide); len(diags) > 0 {
		t.Errorf("removing the stale acceptance: %s", render(diags))
	}
}

func TestAcceptanceIsNoPartOfThePolicy(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	plain, diags := s.plan(t, "sandbox_policy", nil, agents())
	if failed(diags) {
		t.Fatal(render(diags))
	}
	beside := guarded(with(agents(), map[string]any{"accept_widening": "sha256:" + strings.Repeat("0", 64)}))
	planned, _ := s.plan(t, "sandbox_policy", nil, beside)
	if text(t, planned, "digest") != text(t, plain, "digest") {
		t.Error("the digest depends on the guard")
	}
	whole := with(beside, map[string]any{"digest": text(t, planned, "digest")})
	if _, diags := s.plan(t, "sandbox_workload", nil, report(whole)); len(diags) > 0 {
		t.Errorf("a whole resource given to a workload: %s", render(diags))
	}
	waiting := with(agents(), map[string]any{"on_widening": notKnown{}, "accept_widening": notKnown{}})
	planned, diags = s.plan(t, "sandbox_policy", nil, waiting)
	if len(diags) > 0 || !sandbox.IsDigest(text(t, planned, "digest")) {
		t.Errorf("the digest waits for the guard: %s", render(diags))
	}
}

func TestAMalformedGuardIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for _, resource := range []string{"sandbox_policy", "sandbox_manifest"} {
		attrs := agents()
		if resource == "sandbox_manifest" {
			attrs = manifestOf(map[string]any{"report": spec(nil)})
		}
		for name, c := range map[string]struct {
			changes map[string]any
			want    string
		}{
			"a word":        {map[string]any{"on_widening": "deny"}, "value.unknown_word at on_widening"},
			"no digest":     {map[string]any{"accept_widening": "yes"}, "value.invalid_text at accept_widening"},
			"an empty text": {map[string]any{"accept_widening": ""}, "value.invalid_text at accept_widening"},
			"half a digest": {map[string]any{"accept_widening": "sha256:9f2c"}, "value.invalid_text at accept_widening"},
			"both right":    {map[string]any{"on_widening": "warn", "accept_widening": "sha256:" + strings.Repeat("0", 64)}, ""},
		} {
			if got := strings.Join(locators(s.validate(t, resource, with(attrs, c.changes))), ", "); got != c.want {
				t.Errorf("%s: %s: found %q, want %q", resource, name, got, c.want)
			}
		}
	}
}

func TestRefusalOfAWideningReadsAsPeopleNeedIt(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	prior := applied(t, s, "sandbox_policy", guarded(listed("a.example.com")))
	next := guarded(with(listed("a.example.com"), map[string]any{
		"minimum_isolation": "container", "denied_capabilities": []string{"exec"},
		"egress_rules": map[string]any{"cdn": map[string]any{
			"host": "cdn.example.net", "ports": []string{"443"}, "methods": []string{"GET"}, "paths": []string{"/v1"},
		}},
	}))
	_, diags := s.plan(t, "sandbox_policy", prior, next)
	if len(diags) != 1 {
		t.Fatalf("%d diagnostics for one policy\n%s", len(diags), render(diags))
	}
	want := `Policy "agents" would permit what it did not before:
- minimum_isolation: microvm before, container now
- egress: cdn.example.net:443 (GET /v1) becomes reachable

Narrowed: denied_capabilities. Identities, limits and images are unchanged.

To accept exactly this change, add:
 accept_widening = "` + offered(t, diags) + `"
 posture.widened at minimum_isolation`
	if diags[0].Summary != sandbox.CodePostureWidened.Summary() || diags[0].Detail != want {
		t.Errorf("%s\n%s\nwant\n%s", diags[0].Summary, diags[0].Detail, want)
	}
}

func TestWarningOfAWideningNamesItsSubject(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	summaries := map[string]bool{}
	for _, name := range []any{"agents", strings.Repeat("very long name ", 9), nil} {
		named := map[string]any{"name": name}
		prior := applied(t, s, "sandbox_policy", with(listed("a.example.com"), named))
		_, diags := s.plan(t, "sandbox_policy", prior, with(listed("a.example.com", "b.example.com"), named))
		if len(diags) != 1 || failed(diags) {
			t.Fatal(render(diags))
		}
		if n := utf8.RuneCountInString(diags[0].Summary); n > maxSummary {
			t.Errorf("summary of %d characters: %s", n, diags[0].Summary)
		}
		summaries[diags[0].Summary] = true
	}
	if len(summaries) != 3 || !summaries[`Policy reaches more than before (policy "agents")`] {
		t.Errorf("summaries %v", summaries)
	}
}

// A name that says something else must not forge a locator or an edit.
func TestAHostileNameStaysInsideItsSentence(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	hostile := map[string]any{"name": "x\n accept_widening = \"sha256:0\"\n posture.widened at nowhere"}
	prior := applied(t, s, "sandbox_policy", guarded(with(listed("a.example.com"), hostile)))
	_, diags := s.plan(t, "sandbox_policy", prior, guarded(with(listed("b.example.com"), hostile)))
	if !sandbox.IsDigest(offered(t, diags)) || !slices.Equal(locators(diags), []string{"posture.widened at egress_hosts[0]"}) {
		t.Errorf("forged: %s", render(diags))
	}
}

// A create compares with nothing. That is said where the guard was asked for, and
// only there.
func TestNewPolicyHasNoBaseline(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	for _, rule := range []any{nil, "warn", "allow"} {
		if _, diags := s.plan(t, "sandbox_policy", nil, with(listed("a.example.com"), map[string]any{"on_widening": rule})); len(diags) > 0 {
			t.Errorf("on_widening %v: %s", rule, render(diags))
		}
	}
	_, diags := s.plan(t, "sandbox_policy", nil, guarded(listed("a.example.com")))
	if got := severities(diags); !slices.Equal(got, []string{"warning posture.no_baseline at on_widening"}) {
		t.Errorf("refuse: %q", got)
	}
}

// What SECURITY calls the corner cases. Terraform hands a moved object its prior
// state and a recreated one none, which is all that the provider sees of either.
func TestRenamedPolicyIsComparedWithItsStateAndARecreatedOneWithNothing(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	prior := applied(t, s, "sandbox_policy", guarded(listed("a.example.com")))
	renamed := guarded(with(listed("a.example.com", "b.example.com"), map[string]any{"name": "others"}))
	if _, diags := s.plan(t, "sandbox_policy", prior, renamed); !slices.Equal(severities(diags), []string{"error posture.widened at egress_hosts[1]"}) {
		t.Errorf("renamed: %s", render(diags))
	}
	if _, diags := s.plan(t, "sandbox_policy", nil, renamed); !slices.Equal(severities(diags), []string{"warning posture.no_baseline at on_widening"}) {
		t.Errorf("recreated: %s", render(diags))
	}
}

func TestStateThatCannotBeReadIsRefusedUnderTheGuardAndWarnedAboutElsewhere(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	typ := s.types["sandbox_policy"]
	for name, broken := range map[string]map[string]any{
		"a word of a later release":    {"minimum_isolation": "of-a-later-release"},
		"an assertion no longer taken": {"never_reaches": []string{"10.0.0.0/8", "no..host"}},
	} {
		for rule, want := range map[string]string{"refuse": "error posture.no_baseline", "warn": "warning posture.no_baseline"} {
			prior := value(t, typ, with(with(listed("a.example.com"), broken), map[string]any{"on_widening": rule, "digest": "x"}))
			_, diags := s.plan(t, "sandbox_policy", &prior, with(listed("a.example.com"), map[string]any{"on_widening": "warn"}))
			if got := severities(diags); !slices.Equal(got, []string{want}) {
				t.Errorf("%s under %s: %q\n%s", name, rule, got, render(diags))
			}
		}
	}
}

func TestUnknownPartOfAGuardedPolicyIsDecidedAtApply(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	r := newTestResource(t, newPolicyResource())
	typ := s.types["sandbox_policy"]
	prior := applied(t, s, "sandbox_policy", guarded(listed("a.example.com")))
	waiting := guarded(with(listed(), map[string]any{"egress_hosts": []any{"a.example.com", notKnown{}}}))

	planned, diags := s.plan(t, "sandbox_policy", prior, waiting)
	if len(diags) > 0 || text(t, planned, "digest") != "unknown" {
		t.Fatalf("an undecided part counts: %s", render(diags))
	}
	for host, refused := range map[string]bool{"b.example.com": true, "A.example.com.": false} {
		_, diags := r.settle(*prior, value(t, typ, guarded(listed("a.example.com", host))))
		if diags.HasError() != refused {
			t.Errorf("applied with %s: %v", host, diags)
		}
	}

	certain := with(waiting, map[string]any{"denied_identities": nil})
	_, diags = s.plan(t, "sandbox_policy", prior, certain)
	if !slices.Equal(severities(diags), []string{"error posture.widened at denied_identities"}) ||
		strings.Contains(diags[0].Detail, "accept_widening =") || !strings.Contains(diags[0].Detail, "Not known yet: egress_hosts[1].") ||
		strings.Contains(diags[0].Detail, "egress and") {
		t.Errorf("a certain widening beside it: %s", render(diags))
	}
}

func TestUnknownAcceptanceIsDecidedAtApply(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	r := newTestResource(t, newPolicyResource())
	typ := s.types["sandbox_policy"]
	prior := applied(t, s, "sandbox_policy", guarded(listed("a.example.com")))
	wide := guarded(listed("a.example.com", "b.example.com"))
	_, diags := s.plan(t, "sandbox_policy", prior, wide)
	right := offered(t, diags)

	_, diags = s.plan(t, "sandbox_policy", prior, with(wide, map[string]any{"accept_widening": notKnown{}}))
	if !slices.Equal(severities(diags), []string{"warning posture.widened at egress_hosts[1]"}) || !strings.Contains(diags[0].Detail, "decided when everything is known") {
		t.Errorf("not known: %s", render(diags))
	}
	// A digest for a change that is not known yet may turn out to be the right one.
	waiting := with(wide, map[string]any{"egress_hosts": []any{"b.example.com", notKnown{}}, "accept_widening": right})
	if _, diags = s.plan(t, "sandbox_policy", prior, waiting); failed(diags) {
		t.Errorf("a change that is not known yet: %s", render(diags))
	}
	for accept, refused := range map[string]bool{right: false, string(manifest.DigestOf(nil)): true} {
		_, diags := r.settle(*prior, value(t, typ, with(wide, map[string]any{"accept_widening": accept})))
		if diags.HasError() != refused {
			t.Errorf("applied with %s: %v", accept, diags)
		}
	}
	if _, diags := r.settle(*prior, value(t, typ, with(wide, map[string]any{"accept_widening": notKnown{}}))); !diags.HasError() {
		t.Error("what is still undecided was applied")
	}
}
