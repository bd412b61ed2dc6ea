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

// The provider decides every row of the decision table that Terraform can write,
// as a workload and as a manifest of one.
func TestTheProviderPlansAsTheTableSays(t *testing.T) {
	t.Parallel()
	for name, shape := range rowShapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runTable(t, name, planRPC{t, shape})
		})
	}
}

// A validation knows no imposed policy, which may be an opinion where there is
// none. It refuses only what the plan refuses as well, whatever is imposed.
func TestTheProviderValidatesNothingThatThePlanAdmits(t *testing.T) {
	t.Parallel()
	for name, shape := range rowShapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runTable(t, name, validateRPC{t, shape})
		})
	}
}

// runTable puts the table to an executor of this package.
func runTable(t *testing.T, name string, e conformance.Executor) {
	t.Helper()
	report, err := conformance.RunDecisions(e, conformance.Decisions())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", name, report)
	for _, d := range report.Differences {
		t.Error(d)
	}
	if len(report.Skipped) != 1 {
		t.Errorf("rows were skipped by %d rules", len(report.Skipped))
	}
}

// rowShape is the object as which rows are written, and where in it the workload
// stands.
type rowShape struct {
	resource string
	of       func(workload map[string]any) map[string]any
	workload sandbox.FieldPath
}

func rowShapes() map[string]rowShape {
	return map[string]rowShape{
		"as a workload": {
			resource: "sandbox_workload",
			of:       func(workload map[string]any) map[string]any { return workload },
		},
		"as a manifest": {
			resource: "sandbox_manifest",
			of: func(workload map[string]any) map[string]any {
				bare := with(workload, nil)
				delete(bare, "policy")
				return map[string]any{"policy": workload["policy"], "workloads": map[string]any{"row": bare}}
			},
			workload: sandbox.Path("workloads", sandbox.MapKey("row")),
		},
	}
}

// answer reads the locators of errors, or of warnings under an allow. They count
// as the table's do, from the workload.
func (s rowShape) answer(v sandbox.Verdict, diags []*tfprotov6.Diagnostic) conformance.Answer {
	severity := tfprotov6.DiagnosticSeverityError
	if v == sandbox.Allow {
		severity = tfprotov6.DiagnosticSeverityWarning
	}
	answer := conformance.Answer{Verdict: v}
	for i, locator := range locators(diags) {
		if diags[i].Severity == severity {
			answer.Locators = append(answer.Locators, strings.Replace(locator, " at "+s.workload.String()+".", " at ", 1))
		}
	}
	return answer
}

// validateRPC asks the provider what it refuses before it is configured.
type validateRPC struct {
	t     *testing.T
	shape rowShape
}

func (validateRPC) Cannot(w conformance.World) string { return cannotBeWritten(w) }

func (e validateRPC) Decide(worlds []conformance.World) ([]conformance.Answer, error) {
	s := newServer(e.t, offline())
	answers := make([]conformance.Answer, len(worlds))
	for i, w := range worlds {
		attrs, err := written(w)
		if err != nil {
			return nil, err
		}
		verdict := sandbox.Undecided
		diags := s.validate(e.t, e.shape.resource, e.shape.of(attrs))
		if failed(diags) {
			verdict = sandbox.Deny
		}
		answers[i] = e.shape.answer(verdict, diags)
		answers[i].Shown = conformance.ShownCertain
	}
	return answers, nil
}

// planRPC asks the provider for plans.
type planRPC struct {
	t     *testing.T
	shape rowShape
}

func (planRPC) Cannot(w conformance.World) string { return cannotBeWritten(w) }

func (e planRPC) Decide(worlds []conformance.World) ([]conformance.Answer, error) {
	servers := map[string]*server{} // by what is imposed
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
		if servers[document] == nil {
			servers[document] = newServer(e.t, imposing(document)).configure(e.t, nil)
		}
		answers[i] = e.plan(servers[document], e.shape.of(attrs))
	}
	return answers, nil
}

// plan answers from a plan, and, where that leaves the verdict open, from an apply
// during which nothing more becomes known: it refuses, and says what it waits for.
func (e planRPC) plan(s *server, attrs map[string]any) conformance.Answer {
	planned, diags := s.plan(e.t, e.shape.resource, nil, attrs)
	switch {
	case failed(diags):
		return e.shape.answer(sandbox.Deny, diags)
	case attrsOf(e.t, planned)["digest"].IsKnown():
		return e.shape.answer(sandbox.Allow, diags)
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
		return e.shape.answer(sandbox.Undecided, resp.Diagnostics)
	}
	return e.shape.answer(sandbox.Allow, diags)
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
