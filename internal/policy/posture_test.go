package policy_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// onePosture has a policy and the workload "report" on docker.
func onePosture(change func(*policy.Posture)) policy.Posture {
	p := policy.Posture{
		Policy: policy.Layer{Source: `policy "agents"`, Policy: sandbox.Policy{
			Name: "agents", MinimumIsolation: sandbox.IsolationContainer, DeniedIdentities: sandbox.SetOf(sandbox.IdentityApp),
			Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"*.example.com"}},
		}},
		Workloads: map[string]policy.Ask{"report": {Spec: reportSpec("a.example.com")}},
	}
	if change != nil {
		change(&p)
	}
	return p
}

func reportSpec(hosts ...string) sandbox.Spec {
	return sandbox.Spec{
		Kind: "codeact", Backend: "docker", Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: hosts},
	}
}

func workload(name string, spec sandbox.Spec) func(*policy.Posture) {
	return func(p *policy.Posture) {
		p.Workloads = maps.Clone(p.Workloads)
		p.Workloads[name] = policy.Ask{Spec: spec}
	}
}

func instead(name string, spec sandbox.Spec) func(*policy.Posture) {
	return func(p *policy.Posture) { p.Workloads = map[string]policy.Ask{name: {Spec: spec}} }
}

// told lists what differs, a line each.
func told(subjects []policy.SubjectChange) []string {
	var lines []string
	for _, s := range subjects {
		for _, c := range s.Changes {
			lines = append(lines, s.Subject+" "+s.Presence.String()+": "+c.Change.String()+" "+c.String())
		}
		for _, path := range s.Undecided {
			lines = append(lines, s.Subject+" "+s.Presence.String()+": undecided "+path.String())
		}
	}
	return lines
}

func TestPosturesAreComparedSubjectBySubject(t *testing.T) {
	t.Parallel()
	imposed := func(p sandbox.Policy) func(*policy.Posture) {
		return func(into *policy.Posture) {
			into.HostPolicy = &policy.Layer{Source: policy.PlatformPolicy, Policy: p}
		}
	}
	other := func(change func(*sandbox.Spec)) sandbox.Spec {
		s := reportSpec("a.example.com")
		change(&s)
		return s
	}
	relies := func(words ...sandbox.Guarantee) func(*policy.Posture) {
		return func(p *policy.Posture) {
			p.Guarantees = map[string]sandbox.GuaranteeSet{"docker": sandbox.SetOf(words...)}
		}
	}
	for name, row := range map[string]struct {
		before, after func(*policy.Posture)
		want          []string
	}{
		"nothing": {nil, nil, nil},
		"the policy": {nil, func(p *policy.Posture) { p.Policy.Policy.DeniedIdentities = sandbox.IdentitySet{} }, []string{
			`policy "agents" kept: widened denied_identities: app no longer denied`,
		}},
		"a host of a workload": {nil, workload("report", reportSpec("a.example.com", "b.example.com")), []string{
			`workload "report" kept: widened egress: b.example.com:443 becomes reachable`,
		}},
		"a workload that does more": {nil, workload("z", reportSpec("z.example.com")), []string{
			`workload "z" added: widened workloads: none of that name before, a new one now`,
			`workload "z" added: widened requires: exec, files_in asked for`,
			`workload "z" added: widened egress_mode: z.example.com:443 becomes reachable`,
		}},
		"a workload that does no more": {nil, workload("z", reportSpec("A.example.com.")), []string{
			`workload "z" added: replaced workloads: none of that name before, one within what "report" could do now`,
		}},
		"a renamed workload": {nil, instead("z", reportSpec("a.example.com")), []string{
			`workload "report" removed: replaced workloads: one within what "z" can do before, none of that name now`,
			`workload "z" added: replaced workloads: none of that name before, one within what "report" could do now`,
		}},
		"a renamed workload that does less": {workload("report", reportSpec("a.example.com", "b.example.com")), instead("z", reportSpec("a.example.com")), []string{
			`workload "report" removed: narrowed workloads: one of that name before, none of that name now`,
			`workload "z" added: replaced workloads: none of that name before, one within what "report" could do now`,
		}},
		"a workload less": {workload("z", reportSpec("z.example.com")), nil, []string{
			`workload "z" removed: narrowed workloads: one of that name before, none of that name now`,
		}},
		"another backend": {nil, workload("report", other(func(s *sandbox.Spec) { s.Backend = "process" })), []string{
			`workload "report" kept: incomparable backend: docker before, process now`,
		}},
		"a workload of another kind": {nil, workload("z", other(func(s *sandbox.Spec) { s.Kind = "bicep" })), []string{
			`workload "z" added: widened workloads: none of that name before, a new one now`,
			`workload "z" added: widened requires: exec, files_in asked for`,
			`workload "z" added: widened egress_mode: a.example.com:443 becomes reachable`,
		}},
		"what has no order": {nil, workload("report", other(func(s *sandbox.Spec) {
			s.Image, s.WorkDir, s.Labels = sandbox.Image{Prebuilt: "python-3.13", User: "1000"}, "/srv", map[string]string{"team": "a"}
			s.Outputs = map[string]sandbox.Output{"o": {Path: "o.csv", Name: "table.csv", MediaType: "text/csv", Optional: true}}
		})), []string{
			`workload "report" kept: replaced image: none before, python-3.13, user 1000 now`,
			`workload "report" kept: replaced work_dir: ` + sandbox.DefaultWorkDir + ` before, /srv now`,
			`workload "report" kept: replaced outputs: none before, o from o.csv as table.csv of type text/csv, optional now`,
			`workload "report" kept: replaced labels: none before, team=a now`,
		}},
		"an imposed policy comes": {nil, imposed(sandbox.Policy{MinimumIsolation: sandbox.IsolationVM}), []string{
			`platform policy added: narrowed minimum_isolation: container before, vm now`,
		}},
		"an imposed policy goes": {imposed(sandbox.Policy{MinimumIsolation: sandbox.IsolationVM}), nil, []string{
			`platform policy removed: widened minimum_isolation: vm before, container now`,
		}},
		"an imposed policy without effect": {nil, imposed(sandbox.Policy{MinimumIsolation: sandbox.IsolationRuntime}), nil},
		"an imposed policy is laxer": {imposed(sandbox.Policy{MinimumIsolation: sandbox.IsolationVM}), imposed(sandbox.Policy{MinimumIsolation: sandbox.IsolationMicroVM}), []string{
			`platform policy kept: widened minimum_isolation: vm before, microvm now`,
		}},
		"a guarantee relied on no more": {relies(sandbox.GuaranteeDNSConfined, sandbox.GuaranteeUDPDenied), relies(sandbox.GuaranteeDNSConfined), []string{
			`manifest kept: widened guarantees: udp_denied no longer demanded`,
		}},
		"a backend used no more": {
			relies(sandbox.GuaranteeDNSConfined),
			workload("report", other(func(s *sandbox.Spec) { s.Backend = "process" })),
			[]string{`workload "report" kept: incomparable backend: docker before, process now`},
		},
		"the group": {nil, func(p *policy.Posture) { p.Group = "other" }, []string{
			`manifest kept: replaced group: none before, other now`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := told(policy.ComparePostures(onePosture(row.before), onePosture(row.after)))
			if !slices.Equal(got, row.want) {
				t.Errorf("got\n%q\nwant\n%q", got, row.want)
			}
		})
	}
}

func TestUnknownPartsOfAPostureAreUndecided(t *testing.T) {
	t.Parallel()
	report := sandbox.Path("workloads", sandbox.MapKey("report"))
	for name, row := range map[string]struct {
		after func(*policy.Posture)
		want  []string
	}{
		"a workload": {func(p *policy.Posture) { p.Workloads, p.Known = nil, unknown(report) }, []string{
			`workload "report" kept: undecided `,
		}},
		"the imposed policy": {func(p *policy.Posture) { p.Known = unknown(sandbox.Path("host_policy")) }, []string{
			`platform policy kept: undecided `,
		}},
		"the kind of a new workload": {func(p *policy.Posture) {
			p.Workloads["z"] = policy.Ask{Spec: reportSpec("a.example.com"), Known: unknown(sandbox.Path("kind"))}
		}, []string{
			`workload "z" added: replaced workloads: none of that name before, one within what "report" could do now`,
			`workload "z" added: undecided kind`,
		}},
		"all workloads": {func(p *policy.Posture) { p.Workloads, p.Known = nil, unknown(sandbox.Path("workloads")) }, []string{
			`manifest kept: undecided workloads`,
			`workload "report" kept: undecided `,
		}},
		"part of what may stand in for a workload": {
			func(p *policy.Posture) {
				p.Workloads = map[string]policy.Ask{"z": {Spec: reportSpec("a.example.com"), Known: unknown(sandbox.Path("requires"))}}
			},
			[]string{
				`workload "report" removed: undecided `,
				`workload "z" added: replaced workloads: none of that name before, one within what "report" could do now`,
				`workload "z" added: undecided requires`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subjects := policy.ComparePostures(onePosture(nil), onePosture(row.after))
			if got := told(subjects); !slices.Equal(got, row.want) {
				t.Errorf("got\n%q\nwant\n%q", got, row.want)
			}
			if _, _, decided := policy.Moved(subjects); decided {
				t.Error("decided")
			}
		})
	}
}

// What one direction calls widened, the other calls narrowed, and nothing differs
// from itself.
func TestComparingPosturesBackwardsSwapsTheDirections(t *testing.T) {
	t.Parallel()
	draw := func(t *rapid.T) policy.Posture {
		p := policy.Posture{Policy: policy.Layer{Policy: drawPolicy(t)}, Workloads: map[string]policy.Ask{}}
		if rapid.Bool().Draw(t, "imposed") {
			p.HostPolicy = &policy.Layer{Policy: drawPolicy(t)}
		}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.ID[string]).Draw(t, "workloads") {
			spec := drawSpec(t)
			spec.Backend = pick(t, "backend", "one", "two")
			p.Workloads[name] = policy.Ask{Spec: spec}
		}
		return p
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after := draw(t), draw(t)
		if same := policy.ComparePostures(before, before); len(told(same)) > 0 {
			t.Fatalf("differs from itself: %q", told(same))
		}
		if rapid.Bool().Draw(t, "same policies") {
			after.Policy, after.HostPolicy = before.Policy, before.HostPolicy
		}
		after.HostPolicy = before.HostPolicy // coming and going is told by the later side's policy
		forth, back := policy.ComparePostures(before, after), policy.ComparePostures(after, before)
		widened, narrowed, decided := policy.Moved(forth)
		if w, n, d := policy.Moved(back); widened != n || narrowed != w || !decided || !d {
			t.Fatalf("forth %q\nback %q", told(forth), told(back))
		}
	})
}
