package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// World is everything that one decision is about.
type World struct {
	// HostFloor is what the host that runs a router adds; only a host knows it.
	HostFloor sandbox.Isolation
	// Platform is the policy that a runner imposes, nil when there is none.
	Platform *sandbox.Policy
	Policy   sandbox.Policy
	Workload sandbox.Spec
	// Backend is what the workload's backend declares. In Terraform it stands in
	// backend_facts.
	Backend sandbox.Declarations
	// Unknown lists what is not known yet. Paths count from the workload, whose
	// policy is at policy and whose backend's declarations are at backend_facts.
	Unknown []sandbox.FieldPath
}

// The places of a [World] that are not the workload's own.
const (
	atPolicy = "policy"
	atFacts  = "backend_facts"
)

// Layers are the policies in force, the outermost first, as a router has them.
func (w World) Layers() []policy.Layer {
	var layers []policy.Layer
	if w.HostFloor != sandbox.IsolationUnspecified {
		layers = append(layers, policy.Layer{Source: "the host", Policy: sandbox.Policy{MinimumIsolation: w.HostFloor}})
	}
	if w.Platform != nil {
		layers = append(layers, policy.Layer{Source: manifest.PlatformPolicy, Policy: *w.Platform})
	}
	return append(layers, policy.Layer{Source: manifest.PolicySource(w.Policy), Policy: w.Policy, Known: w.PolicyKnown()})
}

// PolicyKnown marks what is not known of the policy.
func (w World) PolicyKnown() sandbox.Known {
	var known sandbox.Known
	for _, path := range w.Unknown {
		if path.HasPrefix(sandbox.Path(atPolicy)) {
			known = known.Unknown(path[1:])
		}
	}
	return known
}

// WorkloadKnown marks what is not known of the workload, its backend's
// declarations included.
func (w World) WorkloadKnown() sandbox.Known {
	var known sandbox.Known
	for _, path := range w.Unknown {
		if !path.HasPrefix(sandbox.Path(atPolicy)) {
			known = known.Unknown(path)
		}
	}
	return known
}

// BackendKnown reports whether it is known what the backend declares.
func (w World) BackendKnown() bool {
	known := w.WorkloadKnown()
	return known.Has(sandbox.Path("backend")) && known.Has(sandbox.Path(atFacts))
}

// Answer is what was decided about a world. Locators are those of the findings
// that decided, in their order: what denies, what is waited for, or, under an
// allow, the warnings. Their paths count as those of [World.Unknown] do.
type Answer struct {
	Verdict  sandbox.Verdict
	Locators []string
	Shown    Shown
}

// Shown says how much of an answer the executor shows.
type Shown uint8

const (
	// ShownWhole: the verdict and every locator.
	ShownWhole Shown = iota
	// ShownNoDeny: that nothing denied, and neither whether anything is waited for
	// nor what.
	ShownNoDeny
	// ShownCertain: what denies whatever else is found later, in order. Without a
	// deny that is nothing, and any answer may follow.
	ShownCertain
)

// AnswerOf folds findings into an answer.
func AnswerOf(findings []sandbox.Finding) Answer {
	answer := Answer{Verdict: sandbox.Decide(findings).Verdict}
	for _, f := range findings {
		if f.Verdict == answer.Verdict {
			answer.Locators = append(answer.Locators, f.Locator())
		}
	}
	return answer
}

// String shows the answer in a test's failure.
func (a Answer) String() string {
	switch a.Shown {
	case ShownNoDeny:
		return "no deny"
	case ShownCertain:
		return fmt.Sprintf("%s at first %q", a.Verdict, a.Locators)
	default:
		return fmt.Sprintf("%s %q", a.Verdict, a.Locators)
	}
}

// agrees reports whether a is the answer that is wanted, as far as a shows it.
func (a Answer) agrees(want Answer) bool {
	switch {
	case a.Shown == ShownNoDeny:
		return want.Verdict != sandbox.Deny
	case a.Shown == ShownCertain && a.Verdict != sandbox.Deny:
		return true
	case a.Shown == ShownCertain:
		return want.Verdict == sandbox.Deny && len(a.Locators) > 0 && among(a.Locators, want.Locators)
	default:
		return a.Verdict == want.Verdict && slices.Equal(a.Locators, want.Locators)
	}
}

// among reports whether some are in all, in the same order.
func among(some, all []string) bool {
	for _, locator := range some {
		i := slices.Index(all, locator)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}

// Executor decides worlds in one of the ways in which this product decides them.
type Executor interface {
	// Cannot says by which rule a world cannot be put to this executor; it is empty
	// when it can. A rule never looks at what the answer ought to be.
	Cannot(w World) string
	// Decide answers every world, in order. It is given all at once, since some
	// executors answer many in the time of one.
	Decide(worlds []World) ([]Answer, error)
}

// DecisionRow is one line of the decision table.
type DecisionRow struct {
	// Check is the question that decides the row, Name what is particular to it.
	Check, Name string
	World       World
	Want        Answer
}

// DecisionReport is what became of a table under one executor.
type DecisionReport struct {
	Rows, Allowed, Undecided, Denied int
	// NotDenied are the rows of which the executor only showed that, Left those that
	// it left to a later step.
	NotDenied, Left int
	// Skipped counts the rows that could not be put to the executor, by rule.
	Skipped map[string]int
	// Differences are the rows that were answered otherwise than the table says.
	Differences []string
}

// String is a summary of one line, and one more for each rule that skipped rows.
func (r DecisionReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows: %d allowed, %d denied, %d undecided", r.Rows, r.Allowed, r.Denied, r.Undecided)
	if r.NotDenied > 0 {
		fmt.Fprintf(&b, ", %d not denied and no more shown", r.NotDenied)
	}
	if r.Left > 0 {
		fmt.Fprintf(&b, ", %d left to a later step", r.Left)
	}
	rules := make([]string, 0, len(r.Skipped))
	for rule, n := range r.Skipped {
		rules = append(rules, fmt.Sprintf("\n%d not asked: %s", n, rule))
	}
	slices.Sort(rules)
	b.WriteString(strings.Join(rules, ""))
	fmt.Fprintf(&b, "\n%d differ from the table", len(r.Differences))
	return b.String()
}

// RunDecisions puts every row that an executor can express to it.
func RunDecisions(e Executor, rows []DecisionRow) (DecisionReport, error) {
	report := DecisionReport{Rows: len(rows), Skipped: map[string]int{}}
	var asked []DecisionRow
	var worlds []World
	for _, row := range rows {
		if rule := e.Cannot(row.World); rule != "" {
			report.Skipped[rule]++
			continue
		}
		asked = append(asked, row)
		worlds = append(worlds, row.World)
	}
	answers, err := e.Decide(worlds)
	if err != nil {
		return report, err
	}
	if len(answers) != len(asked) {
		return report, fmt.Errorf("%d answers to %d rows", len(answers), len(asked))
	}
	for i, row := range asked {
		report.count(answers[i])
		if !answers[i].agrees(row.Want) {
			report.Differences = append(report.Differences, fmt.Sprintf("%s: %s: answered %s, want %s", row.Check, row.Name, answers[i], row.Want))
		}
	}
	return report, nil
}

func (r *DecisionReport) count(a Answer) {
	switch {
	case a.Shown == ShownNoDeny:
		r.NotDenied++
	case a.Shown == ShownCertain && a.Verdict != sandbox.Deny:
		r.Left++
	case a.Verdict == sandbox.Allow:
		r.Allowed++
	case a.Verdict == sandbox.Undecided:
		r.Undecided++
	default:
		r.Denied++
	}
}

// PolicyPackage is the executor that asks the decision itself.
type PolicyPackage struct{}

// Cannot leaves out what the decision is never asked about: it is given
// declarations.
func (PolicyPackage) Cannot(w World) string {
	if !w.BackendKnown() {
		return "the decision is given declarations; what holds while the backend is unknown is the provider's to say"
	}
	return ""
}

// Decide compiles and decides each world. Nothing is decided about what is
// malformed.
func (PolicyPackage) Decide(worlds []World) ([]Answer, error) {
	answers := make([]Answer, len(worlds))
	for i, w := range worlds {
		compiled, findings := policy.CompilePolicy(w.Layers()...)
		findings = inside(atPolicy, findings)
		spec, problems := policy.CompileSpec(w.Workload, w.WorkloadKnown())
		findings = append(findings, problems...)
		declared, problems := policy.CompileDeclarations(w.Backend)
		findings = append(findings, inside(atFacts, problems)...)
		if len(findings) == 0 {
			findings = policy.Decide(compiled, declared, spec).Findings
		}
		answers[i] = AnswerOf(findings)
	}
	return answers, nil
}

// inside puts findings about a part of the world at that part.
func inside(part string, findings []sandbox.Finding) []sandbox.Finding {
	moved := slices.Clone(findings)
	for i := range moved {
		moved[i].Path = sandbox.Path(part).Append(moved[i].Path...)
	}
	return moved
}
