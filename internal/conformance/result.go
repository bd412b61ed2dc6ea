package conformance

// Result is what became of one probe.
type Result struct {
	Suite   string
	Probe   string
	Outcome Outcome
	// Detail says why a probe did not pass; of one that passed it may say how.
	Detail string
}

// Outcome of a probe.
type Outcome string

// The outcomes.
const (
	Pass Outcome = "pass"
	Fail Outcome = "fail"
	// Skip: a capability is missing, which the detail names.
	Skip Outcome = "skip"
	// NotShown: the attack could not be staged, so nothing is known. It counts as a
	// failure.
	NotShown Outcome = "not_shown"
)

// Failed reports whether the outcome fails the suite.
func (o Outcome) Failed() bool { return o != Pass && o != Skip }

// Tally counts outcomes.
type Tally struct {
	Passed, Failed, Skipped int
}

// Count adds results up. What was not shown has failed.
func Count(results []Result) Tally {
	var t Tally
	for _, r := range results {
		switch r.Outcome {
		case Pass:
			t.Passed++
		case Skip:
			t.Skipped++
		default:
			t.Failed++
		}
	}
	return t
}

// BySuite groups results, in the order in which they came.
func BySuite(results []Result) [][]Result {
	var suites [][]Result
	for i, r := range results {
		if i == 0 || results[i-1].Suite != r.Suite {
			suites = append(suites, nil)
		}
		last := len(suites) - 1
		suites[last] = append(suites[last], r)
	}
	return suites
}
