package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hclsource"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/planjson"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/tfplan"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// plannedWorkload plans a configuration and finds a workload in it: in the manifest
// that takes it up, or else alone with the policy that it is given.
func (a *app) plannedWorkload(ctx context.Context, o learnOptions, book factbook) (manifest.Manifest, string, error) {
	config, err := hclsource.Load(o.dir)
	if err != nil {
		return manifest.Manifest{}, "", &exit{ExitBadInput, err}
	}
	if remote := config.Remote(); remote != "" {
		return manifest.Manifest{}, "", badInput("%s. A directory is planned without a cloud: give the manifest in its place.", remote)
	}
	c := o.check
	planning, cancel := context.WithTimeoutCause(ctx, planningTimeout, errors.New("planning took longer than "+planningTimeout.String()))
	defer cancel()
	outcome, err := tfplan.Run(planning, config, tfplan.Options{
		Terraform: c.terraform, Provider: c.provider, VarFiles: c.varFiles, Vars: c.vars, Environ: a.env.Environ,
	})
	if err != nil {
		return manifest.Manifest{}, "", &exit{ExitBadInput, err}
	}
	for _, d := range outcome.Diagnostics {
		if d.Error {
			return manifest.Manifest{}, "", badInput("%s cannot be planned as it is: %s\nsandboxctl check says all that is wrong",
				sandbox.Echo(o.dir), problem(d))
		}
	}
	if outcome.Plan == nil || len(config.Dropped()) > 0 {
		return manifest.Manifest{}, "", badInput("%s is refused as it is; sandboxctl check says why", sandbox.Echo(o.dir))
	}
	w, err := workloadIn(*outcome.Plan, o.runs.workload)
	if err != nil {
		return manifest.Manifest{}, "", err
	}
	if err := book.own(w.Spec.Backend, w.Facts); err != nil {
		return manifest.Manifest{}, "", inInput(w.Address, &exit{ExitBadInput, err})
	}
	return homeOf(*outcome.Plan, w)
}

// workloadIn finds a workload of a plan by its address, all of it or without its
// kind.
func workloadIn(plan planjson.Plan, address string) (planjson.Workload, error) {
	var names []string
	for _, w := range plan.Workloads {
		if w.Address != address && label(w.Address) != address {
			names = append(names, w.Address)
			continue
		}
		if !w.Known.Everything() || !w.FactsKnown || len(w.Findings) > 0 || w.Policy == nil || !w.Policy.Known.Everything() || len(w.Policy.Findings) > 0 {
			return planjson.Workload{}, badInput("%s or its policy is not known before apply. Apply, and give the manifest.", w.Address)
		}
		return w, nil
	}
	return planjson.Workload{}, badInput("--workload %s: no such workload is planned; there are %s", sandbox.Echo(address), wordsOrNone(names))
}

func homeOf(plan planjson.Plan, w planjson.Workload) (manifest.Manifest, string, error) {
	own, err := manifest.EncodeWorkload(w.Spec)
	if err != nil {
		return manifest.Manifest{}, "", &exit{ExitBadInput, err}
	}
	for _, planned := range plan.Manifests {
		m, err := manifest.Parse(planned.Document)
		if err != nil {
			continue // it is not known yet
		}
		for _, name := range m.WorkloadNames() {
			if b, err := manifest.EncodeWorkload(m.Workloads[name]); err == nil && bytes.Equal(b, own) {
				return m, name, nil
			}
		}
	}
	name := label(w.Address)
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		name = name[at+1:]
	}
	return manifest.Manifest{Policy: w.Policy.Policy, Workloads: map[string]sandbox.Spec{name: w.Spec}}, name, nil
}
