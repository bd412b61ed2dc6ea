package cli_test

import (
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// A manifest that was planned with facts of its own, and is judged without them, is
// answered once and with the flag that gives them.
func TestWhoJudgesWithoutThePlansFactsIsToldHowToGiveThem(t *testing.T) {
	t.Parallel()
	m := fitting()
	m.Guarantees = map[string]sandbox.GuaranteeSet{"acas": sandbox.SetOf(sandbox.Guarantees()...)}
	path, _ := encode(t, m)
	events := logged(t, deniedTo("pip", "files.example.net", 443))

	d, err := facts.Lookup("acas")
	if err != nil {
		t.Fatal(err)
	}
	given := make(map[sandbox.Guarantee]sandbox.Evidence)
	for _, g := range sandbox.Guarantees() {
		given[g] = sandbox.Evidence{Kind: sandbox.EvidenceProbed, Reference: "a test"}
	}
	weaker := d
	d.Guarantees = given
	file := func(d sandbox.Declarations) string {
		b, err := manifest.EncodeDeclarations(d)
		if err != nil {
			t.Fatal(err)
		}
		return write(t, "facts.json", b)
	}
	const remedy = "give the facts that the plan had: --facts FILE"
	for name, args := range map[string][]string{
		"check": {"check", path},
		"why":   {"why", "--manifest", path, "--host", "packages.example.org", "--workload", "report"},
		"learn": {"learn", events, "--manifest", path},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, args...)
			text := strings.Join(strings.Fields(got.both()), " ")
			if got.code != cli.ExitRefused || strings.Count(text, remedy) != 1 || strings.Count(text, `egress.guarantee_missing at guarantees["acas"]`) > 2 {
				t.Errorf("judged by shipped facts: exit code %d\n%s", got.code, got.both())
			}
			if got := run(t, append(args, "--facts", file(d))...); strings.Contains(got.both(), "egress.guarantee_missing") {
				t.Errorf("judged by the plan's facts: exit code %d\n%s", got.code, got.both())
			}
			if got := run(t, append(args, "--facts", file(weaker))...); got.code != cli.ExitRefused || strings.Contains(got.both(), "--facts FILE") {
				t.Errorf("judged by facts that give less: exit code %d\n%s", got.code, got.both())
			}
		})
	}
}
