package provider

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestDiagnosticPathIsTheDeepestThatTerraformShows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   sandbox.FieldPath
		want path.Path
	}{
		"root attribute":     {sandbox.Path("backend"), path.Root("backend")},
		"list element":       {sandbox.Path("egress_hosts", 2), path.Root("egress_hosts").AtListIndex(2)},
		"map element":        {sandbox.Path("egress_rules", sandbox.MapKey("api")), path.Root("egress_rules").AtMapKey("api")},
		"field of an object": {sandbox.Path("image", "user"), path.Root("image")},
		"field of a map element": {
			sandbox.Path("egress_rules", sandbox.MapKey("api"), "ports", 0), path.Root("egress_rules").AtMapKey("api"),
		},
		"workload of a manifest": {
			sandbox.Path("workloads", sandbox.MapKey("report"), "egress_hosts", 1), path.Root("workloads").AtMapKey("report"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, ok := refusal(sandbox.Finding{Code: sandbox.CodeMissing, Path: c.at}).(diag.DiagnosticWithPath)
			if !ok || !d.Path().Equal(c.want) {
				t.Fatalf("shown at %v, want %v", d, c.want)
			}
			if !strings.HasSuffix(d.Detail(), "\n value.missing at "+c.at.String()) {
				t.Errorf("detail %q does not end with the whole path", d.Detail())
			}
		})
	}
	if _, ok := refusal(sandbox.Finding{Code: sandbox.CodeMissing}).(diag.DiagnosticWithPath); ok {
		t.Error("a finding about the whole object has a path")
	}
}

func TestDetailSaysFoundRequiredWitnessRemedyAndLocator(t *testing.T) {
	t.Parallel()
	got := detail(sandbox.Finding{
		Code: sandbox.CodeEgressNotWithinPolicy, Subject: `workload "report"`, Path: sandbox.Path("egress_hosts", 0),
		Found: `"*.example.com"`, Required: "api.example.com:443", Witness: "evil.example.com:443",
		Remedy: "name a host that the policy allows",
	})
	want := `Workload "report":
Found: "*.example.com"
Required: api.example.com:443
Would become reachable: evil.example.com:443

Name a host that the policy allows.

 egress.not_within_policy at egress_hosts[0]`
	if got != want {
		t.Errorf("detail is\n%s\nwant\n%s", got, want)
	}
}

func TestNoValueForgesALocator(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{"x\n value.missing at backend", "x\r\n value.missing", "x\u2028 value.missing"} {
		got := detail(sandbox.Finding{Code: sandbox.CodeInvalidText, Found: hostile, Required: hostile, Witness: hostile, Remedy: hostile})
		for _, line := range strings.FieldsFunc(got, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' }) {
			if strings.HasPrefix(line, " ") && line != " value.invalid_text" {
				t.Errorf("%q gave the line %q", hostile, line)
			}
		}
	}
}

func TestOnlyDenialsAreErrorsAndUndecidedIsNothing(t *testing.T) {
	t.Parallel()
	findings := []sandbox.Finding{
		{Verdict: sandbox.Undecided, Code: sandbox.CodeUndecided},
		{Verdict: sandbox.Deny, Code: sandbox.CodeMissing},
		{Verdict: sandbox.Allow, Code: sandbox.CodeEgressGuarantee},
		{Verdict: sandbox.Deny, Code: sandbox.CodeOutOfRange},
	}
	errs := refusals(findings)
	if errs.ErrorsCount() != 2 || errs.WarningsCount() != 0 || errs[0].Summary() != sandbox.CodeMissing.Summary() {
		t.Errorf("errors %v", errs)
	}
	warns := warnings(findings, "0123abcd")
	if warns.ErrorsCount() != 0 || warns.WarningsCount() != 1 {
		t.Errorf("warnings %v", warns)
	}
}

func TestSummariesFitAndWarningsTellTheirObjectsApart(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, about := range []string{"0123abcd", "4567cdef"} {
		for _, code := range sandbox.Codes() {
			f := sandbox.Finding{Verdict: sandbox.Allow, Code: code}
			for _, subject := range []string{"", `workload "a"`, `workload "` + strings.Repeat("long", 40) + `"`} {
				f.Subject = subject
				summary := warnings([]sandbox.Finding{f}, about)[0].Summary()
				if utf8.RuneCountInString(summary) > maxSummary {
					t.Errorf("warning summary %q is too long", summary)
				}
				if subject == "" && seen[summary] {
					t.Errorf("two warnings have the summary %q", summary)
				}
				seen[summary] = true
			}
			f.Verdict = sandbox.Deny
			if summary := refusal(f).Summary(); utf8.RuneCountInString(summary) > maxSummary {
				t.Errorf("error summary %q is too long", summary)
			}
		}
	}
}
