package conformance_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestThePolicyPackageDecidesAsTheTableSays(t *testing.T) {
	t.Parallel()
	report, err := conformance.RunDecisions(conformance.PolicyPackage{}, conformance.Decisions())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the policy package: %s", report)
	for _, d := range report.Differences {
		t.Error(d)
	}
}

func TestTheTableAsksEveryCheckAndEveryPairOfChecks(t *testing.T) {
	t.Parallel()
	perCheck := map[string]map[sandbox.Verdict]int{}
	for _, row := range conformance.Decisions() {
		if perCheck[row.Check] == nil {
			perCheck[row.Check] = map[sandbox.Verdict]int{}
		}
		perCheck[row.Check][row.Want.Verdict]++
	}
	checks := policy.CheckNames()
	for i, check := range checks {
		if perCheck[check][sandbox.Deny] == 0 || perCheck[check][sandbox.Allow] == 0 {
			t.Errorf("%s: %v", check, perCheck[check])
		}
		for _, second := range checks[i+1:] {
			if perCheck[check+" and "+second][sandbox.Deny] != 1 {
				t.Errorf("%s and %s are not asked together", check, second)
			}
		}
	}
}

// A row whose name stands twice could not be found from its failure.
func TestEveryRowOfTheTableHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	rows := conformance.Decisions()
	if len(rows) < 150 {
		t.Errorf("only %d rows", len(rows))
	}
	names := map[string]int{}
	for _, row := range rows {
		names[row.Check+": "+row.Name]++
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] > 1 {
			t.Errorf("%q stands %d times", name, names[name])
		}
	}
}

// Every code of the decision is the answer of some row.
func TestTheTableMeetsEveryCodeOfTheDecision(t *testing.T) {
	t.Parallel()
	met := map[sandbox.Code]bool{}
	for _, row := range conformance.Decisions() {
		for _, locator := range row.Want.Locators {
			code, _, _ := strings.Cut(locator, " at ")
			met[sandbox.Code(code)] = true
		}
	}
	codes := sandbox.Codes()
	first, last := slices.Index(codes, sandbox.CodeUndecided), slices.Index(codes, sandbox.CodeImageInvalid)
	for _, code := range codes[first : last+1] {
		if !met[code] {
			t.Errorf("no row is answered with %s", code)
		}
	}
}

// A table that agrees with everything would prove nothing.
func TestAWrongAnswerIsADifference(t *testing.T) {
	t.Parallel()
	row := conformance.DecisionRow{
		Check: "capabilities", Name: "fits", World: conformance.Fits(),
		Want: conformance.Answer{Verdict: sandbox.Allow},
	}
	for name, want := range map[string]conformance.Answer{
		"another verdict":          {Verdict: sandbox.Deny},
		"a locator that is absent": {Verdict: sandbox.Allow, Locators: []string{"capability.missing at requires"}},
	} {
		wrong := row
		wrong.Want = want
		report, err := conformance.RunDecisions(conformance.PolicyPackage{}, []conformance.DecisionRow{row, wrong})
		if err != nil || len(report.Differences) != 1 {
			t.Errorf("%s: %v, %v", name, report.Differences, err)
		}
	}
}

// A row whose answer is turned into any other is a difference, so that no row
// passes whatever is answered.
func TestEveryRowOfTheTableCanFail(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]func(*conformance.Answer){
		"another verdict": func(a *conformance.Answer) { a.Verdict = (a.Verdict + 1) % 3 },
		"and one more":    func(a *conformance.Answer) { a.Verdict = (a.Verdict + 2) % 3 },
		"one locator more": func(a *conformance.Answer) {
			a.Locators = append(slices.Clone(a.Locators), "value.missing at nowhere")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := slices.Clone(conformance.Decisions())
			for i := range rows {
				turn(&rows[i].Want)
			}
			report, err := conformance.RunDecisions(conformance.PolicyPackage{}, rows)
			asked := len(rows)
			for _, skipped := range report.Skipped {
				asked -= skipped
			}
			if err != nil || len(report.Differences) != asked {
				t.Errorf("%d of %d rows are differences, %v", len(report.Differences), asked, err)
			}
		})
	}
}
