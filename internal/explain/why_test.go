package explain

import (
	"net/netip"
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
		compiled, _ := policy.CompilePolicy(m.Layers()...)
		spec, _ := policy.CompileSpec(m.Workloads["w"], sandbox.Known{})
		opinions := append(compiled.Opinions(r), spec.Opinion(r))
		var edited manifest.Manifest
		if before {
			edited, _ = refuse(m, "w", opinions[len(opinions)-1])
		} else {
			edited, _ = allow(m, "w", r, opinions)
		}
		after, sound := admits(edited, r)
		if after == before {
			t.Fatalf("%s: the answer is still %v\n%+v\n%+v", requestText(r), after, m, edited)
		}
		if !sound {
			t.Fatalf("no longer sound: %+v", edited)
		}
		for _, e := range answer.Workloads[0].Edits {
			if len(e.HCL)+len(e.Remove) == 0 {
				t.Fatalf("an edit that says nothing: %+v", e)
			}
			if _, diagnostics := hclsyntax.ParseConfig([]byte(strings.Join(e.HCL, "\n")+"\n"), "edit.tf", hcl.InitialPos); diagnostics.HasErrors() {
				t.Fatalf("%v in %q", diagnostics, e.HCL)
			}
		}
	})
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
		if got := freeKey(egress.Addition{Rule: sandbox.EgressRule{Host: host}}.Key(), taken); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}
