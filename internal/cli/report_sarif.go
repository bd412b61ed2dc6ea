package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// printSARIF writes the report in SARIF 2.1.0, for code hosts. A finding whose
// place is known has a range; any other has the logical location by which it is
// called: the workload or policy, and the path in it.
func (a *app) printSARIF(r *report) error {
	run := sarif.NewRun()
	driver := sarif.NewToolComponent().WithName("sandboxctl").WithVersion(a.env.Version)
	rules := map[sandbox.Code]int{}
	for _, i := range r.Findings {
		if _, known := rules[i.Code]; !known {
			rules[i.Code] = len(rules)
			driver.AddRule(ruleOf(i.Code))
		}
		run.AddResult(resultOf(i).WithRuleIndex(rules[i.Code]))
	}
	invocation := sarif.NewInvocation().WithExecutionSuccessful(len(r.Problems) == 0).WithExitCode(r.Exit)
	for _, problem := range r.Problems {
		invocation.AddToolExecutionNotification(sarif.NewNotification().WithLevel("error").
			WithMessage(sarif.NewTextMessage(plaintext.Value(problem))))
	}
	run.WithTool(sarif.NewTool().WithDriver(driver)).AddInvocation(invocation).WithColumnKind("unicodeCodePoints")
	if run.Results == nil {
		run.Results = []*sarif.Result{} // an empty list says that nothing was found, none that nothing was looked at
	}
	var b bytes.Buffer
	if err := sarif.NewReport().AddRun(run).PrettyWrite(&b); err != nil {
		return fmt.Errorf("write SARIF: %w", err)
	}
	_, err := a.out.Write(append(plaintext.JSON(bytes.TrimSpace(b.Bytes())), '\n'))
	return err
}

func ruleOf(code sandbox.Code) *sarif.ReportingDescriptor {
	text := func(t string) *sarif.MultiformatMessageString { return sarif.NewMultiformatMessageString().WithText(t) }
	return sarif.NewReportingDescriptor().WithID(string(code)).WithShortDescription(text(code.Summary())).
		WithFullDescription(text(code.Meaning())).WithHelp(text(code.Meaning() + " See: sandboxctl explain " + string(code)))
}

func resultOf(i item) *sarif.Result {
	level := map[sandbox.Verdict]string{sandbox.Deny: "error", sandbox.Undecided: "warning", sandbox.Allow: "note"}[i.Verdict]
	if i.Widened {
		level = "warning"
	}
	text := i.Summary
	if i.Subject != "" {
		text = i.Subject + ": " + text
	}
	for _, part := range [][2]string{{"Found: ", i.Found}, {"Required: ", i.Required}, {"Would become reachable: ", i.Witness}, {"", i.Remedy}} {
		if part[1] != "" {
			text += "\n" + part[0] + part[1]
		}
	}
	text = strings.ReplaceAll(text, "](", "] (") // which would be a link
	logical := sarif.NewLogicalLocation().WithName(plaintext.Value(i.Name)).WithFullyQualifiedName(plaintext.Value(qualified(i)))
	location := sarif.NewLocation().AddLogicalLocation(logical)
	if i.span.File != "" {
		location.WithPhysicalLocation(physical(i))
	}
	// The fingerprint holds while lines move: the same rule about the same thing.
	sum := sha256.Sum256([]byte(string(i.Code) + "\x00" + i.Name + "\x00" + i.Subject + "\x00" + i.Path + "\x00" + i.Witness))
	return sarif.NewResult().WithRuleID(string(i.Code)).WithLevel(level).WithMessage(sarif.NewTextMessage(text)).
		AddLocation(location).WithPartialFingerprints(map[string]string{"sandbox/v1": hex.EncodeToString(sum[:])})
}

func qualified(i item) string {
	name := i.Subject
	if i.Address != "" {
		name = i.Address
	}
	if i.Path == "" {
		return name
	}
	return name + " at " + i.Path
}

func physical(i item) *sarif.PhysicalLocation {
	region := sarif.NewRegion().WithStartLine(max(i.Line, 1))
	if i.span.Column > 0 {
		region.WithStartColumn(i.span.Column)
		if i.span.EndLine > 0 && i.span.EndColumn > 0 {
			region.WithEndLine(i.span.EndLine).WithEndColumn(i.span.EndColumn)
		}
	}
	uri := (&url.URL{Path: i.span.File}).String()
	return sarif.NewPhysicalLocation().WithRegion(region).
		WithArtifactLocation(sarif.NewArtifactLocation().WithURI(uri).WithURIBaseID("%SRCROOT%"))
}
