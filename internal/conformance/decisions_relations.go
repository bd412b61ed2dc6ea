package conformance

import (
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// relation is how what a workload asks for stands to what the policy allows.
type relation struct {
	name   string
	allows []string // rules: host, ports, methods and paths, each a list with commas
	asks   string
	within bool
}

func relations() []relation {
	return []relation{
		{"the same rule", []string{"a.example 443 GET /v1"}, "a.example 443 GET /v1", true},
		{"another host", []string{"a.example 443 * *"}, "b.example 443 * *", false},
		{"a host below a wildcard", []string{"*.a.example 443 * *"}, "x.a.example 443 * *", true},
		{"a host far below a wildcard", []string{"*.a.example 443 * *"}, "x.y.z.a.example 443 * *", true},
		{"the name that a wildcard is below", []string{"*.a.example 443 * *"}, "a.example 443 * *", false},
		{"a name that only ends like it", []string{"*.a.example 443 * *"}, "evila.example 443 * *", false},
		{"the same wildcard", []string{"*.a.example 443 * *"}, "*.a.example 443 * *", true},
		{"a wildcard below a wildcard", []string{"*.a.example 443 * *"}, "*.x.a.example 443 * *", true},
		{"a wildcard above a wildcard", []string{"*.x.a.example 443 * *"}, "*.a.example 443 * *", false},
		{"a wildcard over the only host", []string{"x.a.example 443 * *"}, "*.a.example 443 * *", false},
		{"the same name in capitals and with the root's dot", []string{"a.example 443 * *"}, "A.Example. 443 * *", true},
		{"the same name in another alphabet's two spellings", []string{"xn--bcher-kva.example 443 * *"}, "bücher.example 443 * *", true},
		{"one of two hosts", []string{"a.example 443 * *", "b.example 443 * *"}, "b.example 443 * *", true},

		{"one of several ports", []string{"a.example 443,8443 * *"}, "a.example 8443 * *", true},
		{"a port beside them", []string{"a.example 443,8443 * *"}, "a.example 8444 * *", false},
		{"a range in a range", []string{"a.example 8000-8099 * *"}, "a.example 8010-8019 * *", true},
		{"a range over the end of a range", []string{"a.example 8000-8099 * *"}, "a.example 8090-8100 * *", false},
		{"a range that two ranges cover", []string{"a.example 8000-8049,8050-8099 * *"}, "a.example 8040-8060 * *", true},
		{"a range that two rules cover", []string{"a.example 8000-8049 * *", "a.example 8050-8099 * *"}, "a.example 8040-8060 * *", true},
		{"a range with one port missing between two rules", []string{"a.example 8000-8049 * *", "a.example 8051-8099 * *"}, "a.example 8040-8060 * *", false},
		{"any port of one", []string{"a.example 443 * *"}, "a.example * * *", false},
		{"any port of any", []string{"a.example * * *"}, "a.example * * *", true},
		{"one port of any", []string{"a.example * * *"}, "a.example 22 * *", true},

		{"one of several methods", []string{"a.example 443 GET,HEAD *"}, "a.example 443 HEAD *", true},
		{"a method beside them", []string{"a.example 443 GET,HEAD *"}, "a.example 443 POST *", false},
		{"any method of one", []string{"a.example 443 GET *"}, "a.example 443 * *", false},
		{"methods that two rules cover", []string{"a.example 443 GET *", "a.example 443 POST *"}, "a.example 443 GET,POST *", true},
		{"a method on one path and a path under another method", []string{"a.example 443 GET /v1", "a.example 443 POST /v2"}, "a.example 443 GET /v2", false},

		{"a path below", []string{"a.example 443 * /v1"}, "a.example 443 * /v1/users", true},
		{"a path above", []string{"a.example 443 * /v1/users"}, "a.example 443 * /v1", false},
		{"a path that begins like it", []string{"a.example 443 * /v1"}, "a.example 443 * /v10", false},
		{"any path of one", []string{"a.example 443 * /v1"}, "a.example 443 * *", false},
		{"the root, which is any path", []string{"a.example 443 * /"}, "a.example 443 * *", true},
		{"one of several paths", []string{"a.example 443 * /v1,/v2"}, "a.example 443 * /v2/x", true},

		{"an address in a range", []string{"10.0.0.0/8 443 * *"}, "10.1.2.3 443 * *", true},
		{"a range in a range of addresses", []string{"10.0.0.0/8 443 * *"}, "10.1.0.0/16 443 * *", true},
		{"a range over a range of addresses", []string{"10.1.0.0/16 443 * *"}, "10.0.0.0/8 443 * *", false},
		{"a range that two halves cover", []string{"10.0.0.0/9 443 * *", "10.128.0.0/9 443 * *"}, "10.0.0.0/8 443 * *", true},
		{"a range that three quarters do not cover", []string{"10.0.0.0/9 443 * *", "10.128.0.0/10 443 * *"}, "10.0.0.0/8 443 * *", false},
		{"an address of version 6 in a range", []string{"2001:db8::/32 443 * *"}, "2001:db8::1 443 * *", true},
		{"an address of version 6 beside a range", []string{"2001:db8::/32 443 * *"}, "2001:db9::1 443 * *", false},
		{"an address where only names are allowed", []string{"*.example 443 * *"}, "192.0.2.1 443 * *", false},
		{"a name where only addresses are allowed", []string{"0.0.0.0/0 443 * *"}, "a.example 443 * *", false},

		{"everything at once, within", []string{"*.a.example 8000-8099 GET,POST /v1"}, "x.a.example 8001 POST /v1/users", true},
		{"everything at once, one method too many", []string{"*.a.example 8000-8099 GET,POST /v1"}, "x.a.example 8001 PUT /v1/users", false},
	}
}

func egressRelations() []DecisionRow {
	var rows []DecisionRow
	for _, r := range relations() {
		step := func(w *World) {
			w.Policy.Egress = sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{}}
			for i, text := range r.allows {
				w.Policy.Egress.Rules["rule-"+strconv.Itoa(i)] = ruleOf(text)
			}
			w.Workload.Egress = sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{"ask": ruleOf(r.asks)}}
		}
		if r.within {
			rows = append(rows, allowedRow("egress relations", r.name, step))
		} else {
			rows = append(rows, deniedRow("egress relations", r.name, step, `egress.not_within_policy at egress_rules["ask"]`))
		}
	}
	return rows
}

// ruleOf reads the four parts of a rule, with one space between them.
func ruleOf(text string) sandbox.EgressRule {
	parts := append(strings.Split(text, " "), "", "", "")
	list := func(i int) []string { return strings.Split(parts[i], ",") }
	return sandbox.EgressRule{Host: parts[0], Ports: list(1), Methods: list(2), Paths: list(3)}
}
