package provider

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// The provider decides every row of the decision table that Terraform can write:
// as a workload and as a manifest of one, and whether or not a validation comes
// before the plan. What a validation refuses, the plan would have refused too.
func TestTheProviderDecidesAsTheTableSays(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]rpcExecutor{
		"a workload, validated and planned": {t, workloadRow, true},
		"a workload, planned":               {t, workloadRow, false},
		"a manifest, validated and planned": {t, manifestRow, true},
		"a manifest, planned":               {t, manifestRow, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e.t = t
			runTable(t, name, e)
		})
	}
}

// runTable puts the table to an executor of this package.
func runTable(t *testing.T, name string, e conformance.Executor) {
	t.Helper()
	report, err := conformance.RunDecisions(t.Context(), e, conformance.Decisions())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", name, report)
	for _, d := range report.Differences {
		t.Error(d)
	}
	if len(report.Skipped) > 1 {
		t.Errorf("rows were skipped by %d rules", len(report.Skipped))
	}
}

// rowShape is the object as which rows are written, and where in it the workload
// and its policy stand.
type rowShape struct {
	resource         string
	of               func(workload map[string]any) map[string]any
	workload, policy sandbox.FieldPath
}

var (
	workloadRow = rowShape{
		resource: "sandbox_workload",
		of:       func(workload map[string]any) map[string]any { return workload },
		policy:   sandbox.Path("policy"),
	}
	manifestRow = rowShape{
		resource: "sandbox_manifest",
		of: func(workload map[string]any) map[string]any {
			bare := with(workload, nil)
			delete(bare, "policy")
			return map[string]any{"policy": workload["policy"], "workloads": map[string]any{"row": bare}}
		},
		workload: sandbox.Path("workloads", sandbox.MapKey("row")),
		policy:   sandbox.Path("policy"),
	}
)

// locator is one of the object's, counted as the table counts: from the workload.
func (s rowShape) locator(text string) string {
	return strings.Replace(text, " at "+s.workload.String()+".", " at ", 1)
}

// rpcExecutor asks the provider as Terraform does, without Terraform.
type rpcExecutor struct {
	t        *testing.T
	shape    rowShape
	validate bool
}

func (rpcExecutor) Cannot(w conformance.World) string { return cannotBeWritten(w) }

func (e rpcExecutor) Decide(_ context.Context, worlds []conformance.World) ([]conformance.Answer, error) {
	unconfigured := newServer(e.t, offline())
	configured := map[string]*server{}
	answers := make([]conformance.Answer, len(worlds))
	for i, w := range worlds {
		attrs, err := written(w)
		if err != nil {
			return nil, err
		}
		document, err := imposedBy(w)
		if err != nil {
			return nil, err
		}
		s, ok := configured[document]
		if !ok {
			s = newServer(e.t, imposing(document)).configure(e.t, nil)
			configured[document] = s
		}
		if e.validate {
			if diags := unconfigured.validate(e.t, e.shape.resource, e.shape.of(attrs)); failed(diags) {
				answers[i] = e.answer(sandbox.Deny, diags)
				continue
			}
		}
		answers[i] = e.plan(s, e.shape.of(attrs))
	}
	return answers, nil
}

// plan answers from a plan, and, where it leaves the verdict open, from an apply
// during which nothing more becomes known: that refuses, and says what it waits
// for.
func (e rpcExecutor) plan(s *server, attrs map[string]any) conformance.Answer {
	planned, diags := s.plan(e.t, e.shape.resource, nil, attrs)
	switch {
	case failed(diags):
		return e.answer(sandbox.Deny, diags)
	case attrsOf(e.t, planned)["digest"].IsKnown():
		return e.answer(sandbox.Allow, diags)
	}
	typ := s.types[e.shape.resource]
	resp, err := s.ApplyResourceChange(context.Background(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: e.shape.resource, Config: dynamic(e.t, typ, s.config(e.t, e.shape.resource, attrs)),
		PriorState: dynamic(e.t, typ, tftypes.NewValue(typ, nil)), PlannedState: dynamic(e.t, typ, planned),
	})
	if err != nil {
		e.t.Fatal(err)
	}
	if failed(resp.Diagnostics) {
		return e.answer(sandbox.Undecided, resp.Diagnostics)
	}
	return e.answer(sandbox.Allow, diags)
}

// answer reads the locators of errors, or of warnings under an allow.
func (e rpcExecutor) answer(v sandbox.Verdict, diags []*tfprotov6.Diagnostic) conformance.Answer {
	severity := tfprotov6.DiagnosticSeverityError
	if v == sandbox.Allow {
		severity = tfprotov6.DiagnosticSeverityWarning
	}
	answer := conformance.Answer{Verdict: v}
	for _, d := range diags {
		if d.Severity == severity {
			answer.Locators = append(answer.Locators, e.shape.locator(locators([]*tfprotov6.Diagnostic{d})[0]))
		}
	}
	return answer
}

// imposedBy is the document of the policy that a runner imposes on a world, empty
// without one.
func imposedBy(w conformance.World) (string, error) {
	if w.Platform == nil {
		return "", nil
	}
	document, err := manifest.EncodePolicy(*w.Platform)
	return string(document), err
}

// imposing is a provider on a machine whose runner imposes a policy, or none.
func imposing(document string) *sandboxProvider {
	if document == "" {
		return offline()
	}
	return platform(map[string]string{envPolicyFile: "platform.json"}, map[string][]byte{"platform.json": []byte(document)})
}
