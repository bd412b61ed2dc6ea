package explain

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func drawEgress(t *rapid.T, label string) sandbox.Egress {
	e := sandbox.Egress{Mode: rapid.SampledFrom([]sandbox.EgressMode{0, sandbox.EgressClosed, sandbox.EgressAllowlist, sandbox.EgressAllowlist, sandbox.EgressUnrestricted}).Draw(t, label)}
	if e.Mode != sandbox.EgressAllowlist {
		return e
	}
	e.Hosts = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a.example", "*.example", "b.example", "10.0.0.0/8", "x-y.example", "c1.test", "c2.test", "c3.test"}), 1, 8, rapid.ID).Draw(t, label+" hosts")
	if rapid.Bool().Draw(t, label+" has rules") {
		e.Rules = map[string]sandbox.EgressRule{"a": {
			Host: rapid.SampledFrom([]string{"a.example", "b.example"}).Draw(t, label+" host"), Ports: []string{"443", "8000-8099"}, Methods: []string{"GET"}, Paths: []string{"/v1"},
		}}
	}
	return e
}

func drawWorld(t *rapid.T) (manifest.Manifest, egress.Request) {
	m := manifest.Manifest{
		Policy:    sandbox.Policy{Egress: drawEgress(t, "policy")},
		Workloads: map[string]sandbox.Spec{"w": {Kind: "k", Backend: "b", Egress: drawEgress(t, "workload")}, "other": {Kind: "k", Backend: "b"}},
	}
	if rapid.Bool().Draw(t, "never") {
		m.Policy.NeverReaches = []string{rapid.SampledFrom([]string{"b.example", "*.example", "d.test", "10.1.0.0/16"}).Draw(t, "never host"), "*.internal.test"}
	}
	if rapid.Bool().Draw(t, "imposed") {
		m.HostPolicy = &sandbox.Policy{Egress: drawEgress(t, "platform")}
	}
	r := egress.Request{Port: rapid.SampledFrom([]uint16{443, 80, 8001}).Draw(t, "port")}
	if rapid.Bool().Draw(t, "address") {
		r.Addr = netip.MustParseAddr(rapid.SampledFrom([]string{"10.1.2.3", "192.0.2.1", "2001:db8::1"}).Draw(t, "addr"))
	} else {
		r.Host = rapid.SampledFrom([]string{"a.example", "b.example", "x-y.example", "d.test", "example", "0.example"}).Draw(t, "name")
	}
	if rapid.Bool().Draw(t, "seen") {
		r.Method = rapid.SampledFrom([]string{"GET", "POST", "get"}).Draw(t, "method")
		r.Path = rapid.SampledFrom([]string{"/", "/v1", "/v1/", "/v1/x", "/v1/../x", "/a b", "/${x}"}).Draw(t, "path")
	}
	return m, r
}

func admits(m manifest.Manifest, r egress.Request) (admitted, sound bool) {
	p, findings := policy.CompilePolicy(m.Layers()...)
	s, problems := policy.CompileSpec(m.Workloads["w"], sandbox.Known{})
	return min(p.Admits(r), s.Admits(r)) == sandbox.Allow, len(findings)+len(problems) == 0
}

// made is the manifest with the edits that were proposed to allow a request.
func made(t *rapid.T, m manifest.Manifest, r egress.Request, w WorkloadAnswer) manifest.Manifest {
	compiled, _ := policy.CompilePolicy(m.Layers()...)
	spec, _ := policy.CompileSpec(m.Workloads["w"], sandbox.Known{})
	own := spec.Opinion(r)
	own.Source = policy.WorkloadSubject("w")
	for turn := range turns(m, "w", r, append(compiled.Opinions(r), own)) {
		if reflect.DeepEqual(turn.edits, w.Edits) {
			return turn.manifest
		}
	}
	t.Fatalf("no way to turn it has the edits %+v", w.Edits)
	return m
}

func parses(t *rapid.T, edits []Edit) {
	for _, e := range edits {
		if len(e.HCL)+len(e.Remove) == 0 {
			t.Fatalf("an edit that says nothing: %+v", e)
		}
		if _, diagnostics := hclsyntax.ParseConfig([]byte(strings.Join(e.HCL, "\n")+"\n"), "edit.tf", hcl.InitialPos); diagnostics.HasErrors() {
			t.Fatalf("%v in %q", diagnostics, e.HCL)
		}
	}
}

func TestEditsTurnTheAnswerAndStaySound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, r := drawWorld(t)
		before, sound := admits(m, r)
		if !sound {
			t.Skip("not a sound world")
		}
		answer, err := Why(m, Question{Request: r, Workload: "w"})
		if err != nil || answer.Allowed != before {
			t.Fatalf("%v, allowed %v, want %v", err, answer.Allowed, before)
		}
		w := answer.Workloads[0]
		parses(t, w.Edits)
		if len(w.Edits) == 0 {
			if !alwaysRefused(w) {
				t.Fatalf("nothing is proposed: %+v", w)
			}
			return
		}
		var edited manifest.Manifest
		if before {
			spec, _ := policy.CompileSpec(m.Workloads["w"], sandbox.Known{})
			edited, _ = refuse(m, "w", spec.Opinion(r))
		} else {
			edited = made(t, m, r, w)
		}
		after, sound := admits(edited, r)
		if after == before {
			t.Fatalf("%s: the answer is still %v\n%+v\n%+v", requestText(r), after, m, edited)
		}
		if !sound {
			t.Fatalf("no longer sound: %+v", edited)
		}
	})
}

// alwaysRefused reports whether a layer says that no rule opens the destination.
func alwaysRefused(w WorkloadAnswer) bool {
	return slices.ContainsFunc(w.Layers, func(l Layer) bool { return strings.Contains(l.Why, "always refused") })
}

// On a backend, a proposal gets the workload admitted and its request allowed; where
// none does, there is no proposal and the reason is said; and what policies refuse no
// edit of the workload is said to allow.
func TestWhatIsProposedIsAdmitted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, r := drawWorld(t)
		if before, sound := admits(m, r); before || !sound {
			t.Skip("nothing to propose")
		}
		d := drawDeclarations(t)
		answer, err := Why(m, Question{Request: r, Workload: "w", Backends: []sandbox.Declarations{d}})
		if err != nil {
			t.Fatal(err)
		}
		w := answer.Workloads[0]
		policyRefuses := slices.ContainsFunc(w.Layers[:len(w.Layers)-1], func(l Layer) bool { return !l.Allows })
		said := strings.Contains(answer.Text(), "no edit of the workload alone")
		switch {
		case len(w.Edits) > 0 && len(w.Refused) == 0:
			edited := made(t, m, r, w)
			judge := policy.NewJudge(edited.Layers()...)
			asks := judge.Case(policy.Ask{Spec: edited.Workloads["w"]})
			if got := asks.Decide(judge.CompileBackends([]sandbox.Declarations{d}, nil).Of("b")); got.Verdict != sandbox.Allow || asks.Admits(r) != sandbox.Allow {
				t.Fatalf("proposed and refused: %+v\n%s", got.Findings, answer.Text())
			}
			if policyRefuses != said {
				t.Fatalf("policies refuse %v, said %v\n%s", policyRefuses, said, answer.Text())
			}
		case len(w.Edits) == 0 && len(w.Afterwards)+len(w.Refused) == 0 && !alwaysRefused(w):
			t.Fatalf("nothing is proposed, for no reason\n%s", answer.Text())
		}
	})
}

func TestTheSmallestEditIsOneMoreOfARuleThereIs(t *testing.T) {
	t.Parallel()
	rules := func(methods ...string) sandbox.Egress {
		return sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{
			"api":       {Host: "api.example.com", Ports: []string{"443"}, Methods: methods, Paths: []string{"/v1"}},
			"elsewhere": {Host: "*.example.com", Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"/"}},
		}}
	}
	m := manifest.Manifest{
		Policy:    sandbox.Policy{Egress: rules("GET", "HEAD", "POST")},
		Workloads: map[string]sandbox.Spec{"w": {Kind: "k", Backend: "b", Egress: rules("GET")}},
	}
	for _, c := range []struct {
		name    string
		request egress.Request
		want    string
		edits   int
	}{
		{"a method", egress.Request{Host: "api.example.com", Port: 443, Method: "POST", Path: "/v1/x"}, `methods = ["GET", "POST"], paths = ["/v1"]`, 1},
		{"a method that the policy refuses", egress.Request{Host: "api.example.com", Port: 443, Method: "PUT", Path: "/v1/x"}, `methods = ["GET", "HEAD", "POST", "PUT"]`, 2},
		{"a port", egress.Request{Host: "api.example.com", Port: 8443, Method: "GET", Path: "/v1/x"}, `ports = [443, 8443]`, 2},
		{"a path", egress.Request{Host: "api.example.com", Port: 443, Method: "HEAD", Path: "/v2"}, `paths = ["/v1", "/v2"]`, 2},
		{"another host", egress.Request{Host: "b.example.com", Port: 443, Method: "PUT", Path: "/x"}, `host = "b.example.com", ports = [443], methods = ["PUT"], paths = ["/x"]`, 2},
	} {
		answer, err := Why(m, Question{Request: c.request})
		if err != nil {
			t.Fatal(err)
		}
		edits := answer.Workloads[0].Edits
		if len(edits) != c.edits || !strings.Contains(strings.Join(edits[0].HCL, "\n"), c.want) {
			t.Errorf("%s: %d edits, want %d with %s\n%s", c.name, len(edits), c.edits, c.want, answer.Text())
		}
	}
}

func TestRuleForARequestIsTheNarrowest(t *testing.T) {
	t.Parallel()
	any := []string{"*"}
	for _, c := range []struct {
		name           string
		request        egress.Request
		methods, paths []string
	}{
		{"a connection", egress.Request{Host: "a.example", Port: 80}, any, any},
		{"a request", egress.Request{Host: "a.example", Port: 443, Method: "GET", Path: "/v1/x"}, []string{"GET"}, []string{"/v1/x"}},
		{"the root", egress.Request{Host: "a.example", Port: 443, Method: "GET", Path: "/"}, []string{"GET"}, any},
		{"a slash at the end", egress.Request{Host: "a.example", Port: 443, Method: "GET", Path: "/v1/"}, []string{"GET"}, []string{"/v1"}},
		{"a method that no rule names", egress.Request{Host: "a.example", Port: 443, Method: "get", Path: "/v1"}, any, []string{"/v1"}},
		{"a path that readers take for another", egress.Request{Host: "a.example", Port: 443, Method: "GET", Path: "/v1/../x"}, []string{"GET"}, any},
	} {
		rule := egress.AdditionFor(c.request).Rule
		if !slices.Equal(rule.Methods, c.methods) || !slices.Equal(rule.Paths, c.paths) {
			t.Errorf("%s: %+v", c.name, rule)
		}
	}
	taken := map[string]sandbox.EgressRule{"cdn": {}, "cdn_2": {}}
	for host, want := range map[string]string{"cdn.example": "cdn_3", "my-cdn.example": "my_cdn", "0.example": "rule", "10.0.0.1": "rule", "fd00::1": "rule", "for.example": "rule"} {
		if got := RuleKey(host, taken); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}
