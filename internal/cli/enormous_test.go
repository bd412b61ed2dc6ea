package cli_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

const enormous = 100_000

// Enormous input is judged or refused, in a time that shows in what is allocated,
// which is counted for the whole process: nothing runs beside this test. What took a
// second for each of these inputs allocated gigabytes.
func TestEnormousInputIsJudgedOrRefused(t *testing.T) { //nolint:paralleltest // see above
	names := func(pattern string) []string {
		all := make([]string, enormous)
		for i := range all {
			all[i] = fmt.Sprintf(pattern, i)
		}
		return all
	}
	allowlist := func(hosts []string) sandbox.Egress {
		return sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: hosts}
	}
	world := func(policy, workload []string, never ...string) string {
		m := manifest.Manifest{
			Policy: sandbox.Policy{Egress: allowlist(policy), NeverReaches: never},
			Workloads: map[string]sandbox.Spec{"report": {
				Kind: "codeact", Backend: "wasm", MinimumIsolation: sandbox.IsolationRuntime, Egress: allowlist(workload),
			}},
		}
		path, _ := encode(t, m)
		return path
	}
	policyOf := func(hosts []string) string {
		b, err := manifest.EncodePolicy(sandbox.Policy{Egress: allowlist(hosts)})
		if err != nil {
			t.Fatal(err)
		}
		return write(t, "policy.json", b)
	}
	text := func(s string) string { return write(t, "text.json", []byte(s)) }
	nested := func(depth int) string { return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth) }
	// On every port all of ten thousand rules are in question, and none decides.
	knot := func(last string) string {
		rule := func(ports, method string) sandbox.EgressRule {
			return sandbox.EgressRule{Host: "a.example", Ports: []string{ports}, Methods: []string{method}, Paths: []string{"*"}}
		}
		rules := map[string]sandbox.EgressRule{"low": rule("1-25000", "GET"), "high": rule("25001-"+last, "GET")}
		for i := range 10_000 {
			rules[fmt.Sprint("r", i)] = rule(fmt.Sprintf("%d-%d", 1+i, 20_000+i), fmt.Sprint("M", i))
		}
		m := manifest.Manifest{
			Policy: sandbox.Policy{Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: rules}},
			Workloads: map[string]sandbox.Spec{"report": {Kind: "codeact", Backend: "wasm", Egress: sandbox.Egress{
				Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{"all": rule("1-50000", "GET")},
			}}},
		}
		path, _ := encode(t, m)
		return path
	}

	hosts, others, addresses := names("h%d.example.com"), names("k%d.example.net"), make([]string, enormous)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("11.%d.%d.%d", i>>16, i>>8&255, i&255)
	}
	few := []string{"h1.example.com"}
	both, policy := world(hosts, hosts), policyOf(hosts)
	for _, row := range []struct { //nolint:paralleltest // see above
		name string
		args []string
		code int
		says string
	}{
		{"check, the workload within the policy", []string{"check", both}, cli.ExitRefused, "egress.not_enforced"},
		{"check, nothing within the policy", []string{"check", world(hosts, others)}, cli.ExitRefused, "egress_hosts[42]"},
		{"check, addresses", []string{"check", world(addresses, addresses)}, cli.ExitRefused, "egress.not_enforced"},
		{"check, as many that are never reached", []string{"check", world(hosts, few, others...)}, cli.ExitRefused, "egress.not_enforced"},
		{"digest, all of them never reached", []string{"digest", text(neverReached(hosts))}, cli.ExitBadInput, "egress.never_reaches"},
		{"check, a baseline that is another", []string{"check", both, "--baseline", policy}, cli.ExitRefused, "egress.not_enforced"},
		{"check, rules in a knot", []string{"check", knot("50000")}, cli.ExitRefused, "egress.too_complex"},
		{"digest, more hosts than are read", []string{"digest", text(tooMany())}, cli.ExitBadInput, "at most 100000"},
		{"check, a plan with all of them", []string{"check", text(planWith(hosts))}, cli.ExitRefused, "egress.not_enforced"},
		{"check, a document nested 100 deep", []string{"check", text(nested(100))}, cli.ExitBadInput, "32 levels"},
		{"check, a document nested 100,000 deep", []string{"check", text(nested(100_000))}, cli.ExitBadInput, "32 levels"},
		{"check, a plan nested 100,000 deep", []string{"check", text(`{"format_version":"1.2","planned_values":` + nested(100_000) + "}")}, cli.ExitBadInput, "not a plan"},
		{"why, allowed by both", []string{"why", "--manifest", both, "--host", "h7.example.com"}, cli.ExitRefused, "egress_hosts[7]"},
		{"why, allowed by neither", []string{"why", "--manifest", both, "--host", "evil.example.com"}, cli.ExitRefused, "no edit of rules allows it"},
		{"why, nested 100,000 deep", []string{"why", "--host", "a.example", "--manifest", text(nested(100_000))}, cli.ExitBadInput, "32 levels"},
		{"diff, the same", []string{"diff", policy, policy}, cli.ExitAllowed, "equal"},
		{"diff, another one", []string{"diff", policy, policyOf(append([]string{"evil.example.com"}, hosts[1:]...))}, cli.ExitWidened, "evil.example.com:443"},
		{"diff, all others", []string{"diff", policy, policyOf(others)}, cli.ExitWidened, "incomparable"},
		{"diff, both sides of both", []string{"diff", both, world(others, hosts)}, cli.ExitWidened, "incomparable"},
		{"canonical, nested 100,000 deep", []string{"canonical", text(nested(100_000))}, cli.ExitBadInput, "32 levels"},
		{"digest", []string{"digest", both}, cli.ExitAllowed, "sha256:"},
		{"show", []string{"show", both}, cli.ExitAllowed, "allowlist"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := run(t, row.args...)
			runtime.ReadMemStats(&after)
			if got.code != row.code || !strings.Contains(got.both(), row.says) {
				t.Errorf("exit %d, want %d and %q\n%.2000s", got.code, row.code, row.says, got.both())
			}
			if len(got.both()) > 1<<20 {
				t.Errorf("%d bytes are told", len(got.both()))
			}
			const most = 768
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			if t.Logf("%d MB were allocated", allocated); allocated > most {
				t.Errorf("%d MB were allocated, at most %d", allocated, most)
			}
		})
	}
}

func neverReached(hosts []string) string {
	list := `["` + strings.Join(hosts, `","`) + `"]`
	return `{"api_version":"sandbox/v1","document":"policy","policy":{"egress_hosts":` + list + `,"egress_mode":"allowlist","never_reaches":` + list + `}}`
}

func tooMany() string {
	return `{"api_version":"sandbox/v1","document":"policy","policy":{"egress_hosts":["a.example"` + strings.Repeat(`,"a.example"`, 140_000) + `],"egress_mode":"allowlist"}}`
}

func planWith(hosts []string) string {
	list := `["` + strings.Join(hosts, `","`) + `"]`
	policy := `{"egress_mode":"allowlist","egress_hosts":` + list + `}`
	return `{"format_version":"1.2","terraform_version":"1.14.0","resource_changes":[` +
		`{"address":"sandbox_workload.report","mode":"managed","type":"sandbox_workload","name":"report",` +
		`"provider_name":"provider.example/sandbox-iac/sandbox","change":{"actions":["create"],"before":null,"after_unknown":{},` +
		`"after":{"kind":"codeact","backend":"wasm","egress_mode":"allowlist","egress_hosts":` + list + `,"policy":` + policy + `}}}]}`
}
