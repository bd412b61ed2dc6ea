package cli_test

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// attacked are suites that files in memory can pass whole.
var attacked = []string{"conformance", "--backend", "memory", "--only", "CALL_SCOPE", "--only", "INSTANCE_DISPOSAL", "--only", "RECLAIM"}

func TestConformanceSaysWhatHeldAndWhatIsMissing(t *testing.T) {
	t.Parallel()
	got := run(t, attacked...)
	for _, text := range []string{"memory conforms: 14 held, 2 skipped", "CALL_SCOPE           4 held", "without exec", "isolation "} {
		if !strings.Contains(got.stdout, text) {
			t.Errorf("no %q in\n%s", text, got.stdout)
		}
	}
	if got.code != cli.ExitAllowed || got.stderr != "" {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
}

func TestConformanceThatFailsExitsWithOneAndNamesTheProbe(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	e.Intercept(func(r sandboxtest.Request) error {
		if r.Op == sandboxtest.OpWrite {
			return errNoMore
		}
		return nil
	})
	got := invocation{engine: e}.run(t, "conformance", "--backend", "memory", "--only", "FILES_IN/an-empty-file-is-a-file")
	if got.code != cli.ExitRefused || !strings.Contains(got.stdout, "does not conform") || !strings.Contains(got.stdout, "an-empty-file-is-a-file") {
		t.Errorf("exit %d\n%s", got.code, got.both())
	}
}

func TestConformanceOfNothingButSkipsClaimsNothing(t *testing.T) {
	t.Parallel()
	got := run(t, "conformance", "--backend", "memory", "--only", "FILES_OUT/a-link-is-never-read")
	if !strings.Contains(got.stdout, "memory shows nothing: 1 skipped") {
		t.Error(got.both())
	}
}

type noMore struct{}

func (noMore) Error() string { return "no more" }

var errNoMore = noMore{}

func TestConformanceReportsForMachines(t *testing.T) {
	t.Parallel()
	var report struct {
		Backend string
		Suites  []struct {
			Name   string
			Probes []struct{ Name, Result, Detail string }
		}
		Passed, Failed, Skipped int
		Facts                   map[string]any
	}
	got := run(t, append(attacked, "--report", "json")...)
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v in\n%s", err, got.both())
	}
	if report.Backend != "memory" || report.Passed != 14 || report.Failed != 0 || report.Skipped != 2 || len(report.Suites) != 3 || len(report.Facts) == 0 {
		t.Errorf("%+v", report)
	}
	got = run(t, append(attacked, "--report", "junit")...)
	var suites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Suites   []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Skipped  int `xml:"skipped,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(got.stdout), &suites); err != nil || !strings.Contains(got.stdout, `<testsuite name="RECLAIM" tests="6" failures="0" errors="0" skipped="2">`) {
		t.Errorf("%v in\n%s", err, got.stdout)
	}
	for _, s := range suites.Suites {
		suites.Tests, suites.Failures, suites.Skipped = suites.Tests-s.Tests, suites.Failures-s.Failures, suites.Skipped-s.Skipped
	}
	if suites.Tests != 0 || suites.Failures != 0 || suites.Skipped != 0 || strings.Contains(got.stdout, `tests="0" failures="0" skipped="0">`) {
		t.Errorf("the root does not count what its suites do:\n%s", got.stdout)
	}
	if got := run(t, append(attacked, "--report", "markdown")...); !strings.Contains(got.stdout, "| `CALL_SCOPE` | 4 | 0 | 0 |") {
		t.Error(got.stdout)
	}
}

func TestConformanceOfNothingKnownIsBadInput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"conformance"},
		{"conformance", "--backend", "nothing"},
		{"conformance", "--backend", "memory", "--report", "pdf"},
		{"conformance", "--backend", "memory", "--only", "NO_SUITE"},
		{"conformance", "--backend", "memory", "--only", "EXEC"},
		{"conformance", "--backend", "memory", "--only", "EXEC/exit-codes-are-exact"},
	} {
		if got := run(t, args...); got.code != cli.ExitBadInput || got.stderr == "" {
			t.Errorf("%v: exit %d, %s", args, got.code, got.both())
		}
	}
}
