package provider

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// The real command line plans every row of the decision table that Terraform can
// write. Each row is a workload with a policy resource and facts that are not
// known before the plan, so that the validation that goes before decides nothing
// but what is malformed.
func TestAccThePlanDecidesAsTheTableSays(t *testing.T) {
	t.Parallel()
	runTable(t, "terraform plan", &planCLI{t: t, cli: newCLI(t, offline(), nil)})
}

// The same rows written literally. A plan's validation refuses what is certain
// and hides the rest.
func TestAccTheValidationRefusesNothingThatThePlanAdmits(t *testing.T) {
	t.Parallel()
	runTable(t, "the validation of terraform plan", &validateCLI{t: t, cli: newCLI(t, offline(), nil)})
}

// planned is what `plan -json` and the plan file say.
type planned struct {
	// errors and warnings are locators by the address of their resource.
	errors, warnings map[string][]string
	// settled are the workloads whose verdict is planned.
	settled map[string]bool
	// done says that there is a plan.
	done bool
}

// planOnce plans a configuration and reads what the plan said about each resource,
// in its own order.
func planOnce(c *cli, r *rows) planned {
	r.write(c)
	out, code := c.run(r.t, "plan", "-json", "-input=false", "-out=plan")
	p := planned{errors: map[string][]string{}, warnings: map[string][]string{}, settled: map[string]bool{}, done: code == 0}
	for line := range strings.Lines(out) {
		p.hear(r.t, line)
	}
	if code != 0 && code != 1 || code == 1 && len(p.errors) == 0 {
		r.t.Fatalf("a plan that fails without saying why, exit %d:\n%s", code, out)
	}
	if p.done {
		p.read(r.t, c)
	}
	return p
}

// hear takes one line of `plan -json`.
func (p *planned) hear(t *testing.T, text string) {
	t.Helper()
	var line struct {
		Diagnostic *struct{ Severity, Summary, Detail, Address string }
	}
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Fatalf("plan -json printed %q", text)
	}
	d := line.Diagnostic
	if d == nil {
		return
	}
	locator, carried := strings.CutPrefix(d.Detail[strings.LastIndexByte(d.Detail, '\n')+1:], " ")
	if !carried || d.Address == "" {
		t.Fatalf("a diagnostic of another sort, at %q: %s\n%s", d.Address, d.Summary, d.Detail)
	}
	said := p.errors
	if d.Severity == "warning" {
		said = p.warnings
	}
	said[d.Address] = append(said[d.Address], locator)
}

// read asks the plan file which verdicts are planned.
func (p *planned) read(t *testing.T, c *cli) {
	t.Helper()
	out, code := c.run(t, "show", "-json", "plan")
	var file struct {
		Changes []struct {
			Address string
			Change  struct{ After struct{ Verdict string } }
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(out), &file); code != 0 || err != nil {
		t.Fatalf("show the plan: %v", err)
	}
	for _, change := range file.Changes {
		p.settled[change.Address] = change.Change.After.Verdict == sandbox.Allow.String()
	}
}

func rowName(i int) string { return fmt.Sprintf("row-%04d", i) }

// planCLI plans rows until nothing is refused any more: what a validation refuses
// hides what a plan would refuse, so each plan is of the rows that those before
// left. No plan shows what an undecided row waits for.
type planCLI struct {
	t   *testing.T
	cli *cli
}

func (*planCLI) Cannot(w conformance.World) string { return cannotBeWritten(w) }

func (e *planCLI) Decide(worlds []conformance.World) ([]conformance.Answer, error) {
	byPlatform := map[string]*rows{}
	for i, w := range worlds {
		attrs, err := written(w)
		if err != nil {
			return nil, err
		}
		document, err := imposedBy(w)
		if err != nil {
			return nil, err
		}
		if byPlatform[document] == nil {
			byPlatform[document] = newRows(e.t)
		}
		byPlatform[document].byReference(rowName(i), attrs)
	}
	answers := make([]conformance.Answer, len(worlds))
	for document, r := range byPlatform {
		e.cli.serve(e.t, imposing(document))
		settled := e.settle(r)
		for i := range worlds {
			if answer, ok := settled[rowName(i)]; ok {
				answers[i] = answer
			}
		}
	}
	return answers, nil
}

// settle answers every row of one configuration.
func (e *planCLI) settle(r *rows) map[string]conformance.Answer {
	answers := map[string]conformance.Answer{}
	for {
		p := planOnce(e.cli, r)
		refused := r.refused(p)
		maps.Copy(answers, refused)
		r.without(refused)
		if p.done {
			for row := range r.workloads {
				at := "sandbox_workload." + row
				answer := conformance.Answer{Verdict: sandbox.Allow, Locators: p.warnings[at]}
				if !p.settled[at] {
					answer = conformance.Answer{Verdict: sandbox.Undecided, Shown: conformance.ShownNoDeny}
				}
				answers[row] = answer
			}
			return answers
		}
		if !r.unhide(p) && len(refused) == 0 {
			e.t.Fatalf("a plan refuses none of its rows and fails: %v", p.errors)
		}
	}
}

// validateCLI plans all rows once, as literals.
type validateCLI struct {
	t   *testing.T
	cli *cli
}

func (*validateCLI) Cannot(w conformance.World) string { return cannotBeWritten(w) }

func (e *validateCLI) Decide(worlds []conformance.World) ([]conformance.Answer, error) {
	r := newRows(e.t)
	for i, w := range worlds {
		attrs, err := written(w)
		if err != nil {
			return nil, err
		}
		r.literally(rowName(i), attrs)
	}
	refused := r.refused(planOnce(e.cli, r))
	answers := make([]conformance.Answer, len(worlds))
	for i := range worlds {
		answers[i] = conformance.Answer{Verdict: sandbox.Undecided}
		if answer, ok := refused[rowName(i)]; ok {
			answers[i] = answer
		}
		answers[i].Shown = conformance.ShownCertain
	}
	return answers, nil
}
