package router_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// The router decides every row of the decision table as the plan does: it opens a
// manifest of the row's policies and workload over a backend that declares what
// the row says, and attaches the workload.
func TestTheRouterDecidesAsTheTableSays(t *testing.T) {
	t.Parallel()
	report, err := conformance.RunDecisions(attaching{t}, conformance.Decisions())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the router: %s", report)
	for _, d := range report.Differences {
		t.Error(d)
	}
	if len(report.Skipped) != 1 {
		t.Errorf("rows were skipped by %d rules", len(report.Skipped))
	}
}

// attaching is the executor that attaches.
type attaching struct{ t *testing.T }

// rowWorkload is what a row's workload is called in its manifest.
const rowWorkload = "row"

func (attaching) Cannot(w conformance.World) string {
	if len(w.Unknown) > 0 {
		return "nothing is unknown at run time: a manifest has no way to say it"
	}
	return ""
}

func (e attaching) Decide(worlds []conformance.World) ([]conformance.Answer, error) {
	answers := make([]conformance.Answer, len(worlds))
	for i, w := range worlds {
		fake := newFake(e.t, w.Backend.Backend)
		fake.decls = w.Backend
		findings, err := attachOnce(e.t.Context(), w, fake)
		if err != nil {
			return nil, err
		}
		if live, made, _ := fake.counts(); made > 0 || live > 0 {
			return nil, errors.New("attaching made a sandbox")
		}
		answers[i] = conformance.AnswerOf(findings)
	}
	return answers, nil
}

// attachOnce returns what opening or attaching refused, or what the attachment
// warns of.
func attachOnce(ctx context.Context, w conformance.World, b router.Backend) ([]sandbox.Finding, error) {
	document, err := manifest.Manifest{
		Policy: w.Policy, HostPolicy: w.Platform, Workloads: map[string]sandbox.Spec{rowWorkload: w.Workload},
	}.Encode()
	if err != nil {
		return refusedAt(err)
	}
	r, err := router.Open(ctx, router.Options{
		Manifest: document, Accept: []manifest.Digest{manifest.DigestOf(document)}, Owner: "table",
		Backends: []router.Backend{b}, Floor: w.HostFloor,
	})
	if err != nil {
		return refusedAt(err)
	}
	a, err := r.Attach(ctx, rowWorkload)
	if err != nil {
		return refusedAt(errors.Join(err, r.Close(ctx)))
	}
	return a.Findings(), r.Close(ctx)
}

// refusedAt turns a refusal into findings whose paths count as the table's do:
// from the workload, with the policy and the backend's declarations beside it.
func refusedAt(err error) ([]sandbox.Finding, error) {
	refusals := sandbox.RefusalsOf(err)
	if len(refusals) == 0 {
		return nil, err
	}
	findings := make([]sandbox.Finding, len(refusals))
	for i, refusal := range refusals {
		f := refusal.Finding
		switch workload := sandbox.Path("workloads", sandbox.MapKey(rowWorkload)); {
		case f.Path.HasPrefix(workload):
			f.Path = slices.Clone(f.Path[len(workload):])
		case f.Code == sandbox.CodeBackendNotPermitted:
			f.Path = sandbox.Path("backend_facts").Append(f.Path...)
		}
		findings[i] = f
	}
	return findings, nil
}
