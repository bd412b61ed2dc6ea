package conformance

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

// refusal is a pair of lines of the decision table: one step away from the world
// that fits a workload is denied, and one step beside it the workload is let
// through.
type refusal struct {
	name   string
	change change
	denied []string // locators, in order

	beside  string
	allowed change
	warned  []string // locators of warnings
}

// question is one check of the decision with its refusals.
type question struct {
	check    string
	refusals []refusal
}

// questions stand in the order in which the decision asks them. Before it come
// what is wrong with each part of the world alone, since nothing is decided about
// what is malformed.
func questions() []question {
	return []question{
		{"policy alone", malformedPolicies()},
		{"workload alone", malformedWorkloads()},
		{"backend alone", malformedBackends()},
		{"denied capabilities", deniedCapabilities()},
		{"denied identities", deniedIdentities()},
		{"attached identity", attachedIdentity()},
		{"isolation floor", isolationFloor()},
		{"isolation evidence", isolationEvidence()},
		{"capabilities", missingCapabilities()},
		{"method tokens", methodTokens()},
		{"OS family", osFamilies()},
		{"program channel", programChannels()},
		{"transfer limits", transferLimits()},
		{"egress mode", egressModes()},
		{"egress within policy, and what it never reaches", egressWithin()},
		{"egress guarantees", egressGuarantees()},
		{"isolation scope", isolationScopes()},
		{"image", images()},
	}
}

// alone is how many questions are about one part of the world alone.
const alone = 3

// Decisions is the decision table: every check by itself with what it lets
// through, every pair of checks, whatever may be unknown, every combination of
// floors, every guarantee with every evidence, every way in which two egress rules
// can stand to each other, and the rules about images. A line that is added here
// is put to every executor.
func Decisions() []DecisionRow {
	rows := []DecisionRow{allowedRow("nothing", "the world that fits", then())}
	for _, q := range questions() {
		for _, r := range q.refusals {
			rows = append(rows, deniedRow(q.check, r.name, r.change, r.denied...))
			if r.allowed != nil {
				rows = append(rows, allowedRow(q.check, r.beside, r.allowed, r.warned...))
			}
		}
	}
	rows = append(rows, combinedFloors()...)
	rows = append(rows, guaranteeEvidence()...)
	rows = append(rows, modeGuarantees()...)
	rows = append(rows, egressRelations()...)
	rows = append(rows, platformRows()...)
	rows = append(rows, unknownRows()...)
	rows = append(rows, deniedAnyway()...)
	return append(rows, pairs()...)
}

func worldAfter(c change) World {
	w := Fits()
	c(&w)
	return w
}

func deniedRow(check, name string, c change, locators ...string) DecisionRow {
	return DecisionRow{check, name, worldAfter(c), Answer{Verdict: sandbox.Deny, Locators: locators}}
}

func allowedRow(check, name string, c change, warnings ...string) DecisionRow {
	return DecisionRow{check, name, worldAfter(c), Answer{Verdict: sandbox.Allow, Locators: warnings}}
}

func undecidedRow(check, name string, c change, locators ...string) DecisionRow {
	return DecisionRow{check, name, worldAfter(c), Answer{Verdict: sandbox.Undecided, Locators: locators}}
}
