package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/learn"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// nowhere is a name that nobody has and nobody knows: an allowlist of it alone permits
// nothing, and has a proxy that says what was refused. It is another in each run, since
// whoever knew it could ask for it, and whoever answers for it would be reached. A name
// that is always refused would be no allowlist.
func nowhere() string { return strings.ToLower(rand.Text()) + ".nowhere.internal" }

// observe runs the program and counts what it asked for. The program may fail, as one
// will that is refused what it needs; what it writes goes to standard error.
func (a *app) observe(ctx context.Context, o learnOptions, args []string, t *learn.Tally) error {
	in, err := a.inputs(ctx, o.runs, args)
	if err != nil {
		return err
	}
	if in, err = watched(in, o.runs); err != nil {
		return inInput(o.runs.manifest, err)
	}
	var mu sync.Mutex // observers of several sandboxes may speak at once
	o.runs.watch = append(o.runs.watch, func(e eventlog.Entry) {
		mu.Lock()
		defer mu.Unlock()
		t.Add(e)
	})
	o.runs.noOutputs = true
	beside := *a
	beside.format, beside.out, beside.env.Stdout = "text", a.errs, a.env.Stderr
	err = beside.runWatched(ctx, o.runs, in, args)
	e, ok := errors.AsType[*exit](err)
	if !ok || e.code != ExitProgram || ctx.Err() != nil {
		return err
	}
	if e.err != nil {
		a.end(ctx, e) // such as a program that took too long
	}
	return nil
}

// watched makes a run of a closed workload one that is watched: for it alone, the
// workload and its policy name what leads nowhere. What else they demand stays, and
// what a platform has closed stays closed: the router then refuses the run. The
// document must have been accepted as it is.
func watched(in run, o runOptions) (run, error) {
	m, err := manifest.Parse(in.document)
	if err != nil {
		return in, nil //nolint:nilerr // the router says what is wrong
	}
	spec, ok := m.Workloads[o.workload]
	closed := spec.Egress.Mode == sandbox.EgressClosed || spec.Egress.Mode == sandbox.EgressUnspecified
	if !ok || !closed || !slices.Contains(in.accept, manifest.DigestOf(in.document)) {
		return in, nil
	}
	unknown := nowhere()
	spec.Egress.Mode, spec.Egress.Hosts, spec.Egress.Rules = sandbox.EgressAllowlist, []string{unknown}, nil
	m.Workloads = map[string]sandbox.Spec{o.workload: spec}
	m.Policy.Egress.Mode, m.Policy.Egress.Hosts, m.Policy.Egress.Rules = sandbox.EgressAllowlist, []string{unknown}, nil
	if m.HostPolicy != nil && m.HostPolicy.Egress.Mode == sandbox.EgressAllowlist {
		imposed := *m.HostPolicy
		imposed.Egress.Hosts = append(slices.Clip(imposed.Egress.Hosts), unknown)
		m.HostPolicy = &imposed
	}
	if in.document, err = m.Encode(); err != nil {
		return in, err
	}
	in.accept = []manifest.Digest{manifest.DigestOf(in.document)}
	return in, nil
}
