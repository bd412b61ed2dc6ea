package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hclsource"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/tfplan"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// checkDirectory reads a configuration's sources, plans a copy of it and judges
// the plan.
func (a *app) checkDirectory(ctx context.Context, dir string, o checkOptions, book factbook) (*report, error) {
	config, err := hclsource.Load(dir)
	if err != nil {
		return nil, &exit{ExitBadInput, err}
	}
	var dropped []item
	for _, d := range config.Dropped() {
		i := itemOf(d.Finding).about(label(d.Address), d.Address)
		i.File, i.Line = d.File, d.Line
		dropped = append(dropped, i)
	}
	if remote := config.Remote(); remote != "" {
		undecided := badInput("%s. A directory is checked without a cloud: move the policies, workloads and manifests "+
			"into a root of their own, or check the plan's JSON.", remote)
		if len(dropped) == 0 {
			return nil, undecided
		}
		return &report{Findings: dropped, Problems: []string{undecided.Error()}, place: finder(config)}, nil
	}
	planning, cancel := context.WithTimeoutCause(ctx, o.timeout, errors.New("planning took longer than --timeout "+o.timeout.String()))
	defer cancel()
	outcome, err := tfplan.Run(planning, config, tfplan.Options{
		Terraform: o.terraform, Provider: o.provider, VarFiles: o.varFiles, Vars: o.vars, Environ: a.env.Environ,
	})
	if err != nil && len(dropped) == 0 {
		return nil, &exit{ExitBadInput, err}
	}
	r := directoryReport(outcome, book)
	if err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
	r.dropped(dropped)
	r.place = finder(config)
	return r, nil
}

// dropped takes up the names that Terraform drops. A workload with one is refused: what
// was planned is not what was written.
func (r *report) dropped(names []item) {
	r.Findings = append(names, r.Findings...)
	for i, w := range r.Workloads {
		if slices.ContainsFunc(names, func(d item) bool { return isWorkload(d.Subject) && d.Name == w.Name }) {
			r.Workloads[i].Verdict = sandbox.Deny
		}
	}
}

// directoryReport makes a report of a plan and of what Terraform said. The plan
// of a configuration that was refused lacks what was refused, so the refused
// workloads are counted from the errors.
func directoryReport(outcome tfplan.Outcome, book factbook) *report {
	r := &report{}
	failed, refused := false, map[string]bool{}
	for _, d := range outcome.Diagnostics {
		failed = failed || d.Error
		switch {
		case d.Code != "":
			if !d.Error {
				continue // warnings come with the decision below
			}
			i := itemOf(d.Finding()).about(label(d.Address), d.Address)
			i.Path, i.File, i.Line = d.Path, d.File, d.Line
			i.span = hclsource.Place{Column: d.Column, EndLine: d.EndLine, EndColumn: d.EndColumn}
			r.Findings = append(r.Findings, i)
			refused[d.Address] = true
		case d.Error:
			r.Problems = append(r.Problems, problem(d))
		}
	}
	if outcome.Plan != nil {
		plan := *outcome.Plan
		plan.Errored, plan.Incomplete = false, plan.Incomplete && !failed
		planned := checkPlan(plan, book)
		r.Policies, r.Workloads, r.Facts = planned.Policies, planned.Workloads, planned.Facts
		r.candidates, r.standalone = planned.candidates, planned.standalone
		r.Findings = append(r.Findings, planned.Findings...)
		if !failed {
			r.Problems = append(r.Problems, planned.Problems...)
		}
	}
	for _, address := range sortedKeys(refused) {
		if isWorkload(address) {
			r.Workloads = append(r.Workloads, judged{Name: label(address), Verdict: sandbox.Deny})
		}
	}
	if outcome.Plan == nil && len(r.Findings) == 0 && len(r.Problems) == 0 {
		r.Problems = append(r.Problems, "Terraform planned nothing and said nothing")
	}
	return r
}

// problem is an error of Terraform's own in one line.
func problem(d tfplan.Diagnostic) string {
	text := d.Summary
	if d.File != "" {
		text = d.File + " line " + show.Count(int64(d.Line)) + ": " + text
	}
	if d.Detail != "" {
		text += ". " + d.Detail
	}
	return text
}
