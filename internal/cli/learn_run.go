package cli

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/learn"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// nowhere is a name that never leads anywhere (RFC 6761 6.4): an allowlist of it alone
// permits nothing, and has a proxy that says what was refused.
const nowhere = "observed.invalid"

// observe runs the program and counts what it asked for. The program may fail, as one
// will that is refused what it needs; what it writes goes to standard error.
func (a *app) observe(ctx context.Context, o learnOptions, args []string, t *learn.Tally) error {
	in, err := a.inputs(o.runs, args)
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
	if e, ok := errors.AsType[*exit](err); ok && e.code == ExitProgram && ctx.Err() == nil {
		a.end(ctx, err)
		return nil
	}
	return err
}

// watched makes a run of a closed workload one that is watched. The document must
// have been accepted as it is.
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
	spec.Egress.Mode, spec.Egress.Hosts, spec.Egress.Rules = sandbox.EgressAllowlist, []string{nowhere}, nil
	m.Workloads = map[string]sandbox.Spec{o.workload: spec}
	m.Policy = admitting(m.Policy)
	if m.HostPolicy != nil {
		imposed := admitting(*m.HostPolicy)
		m.HostPolicy = &imposed
	}
	if in.document, err = m.Encode(); err != nil {
		return in, err
	}
	in.accept = []manifest.Digest{manifest.DigestOf(in.document)}
	return in, nil
}

// admitting is a policy under which workloads may name the name that leads nowhere,
// and reach nothing else. What else it demands, it demands.
func admitting(p sandbox.Policy) sandbox.Policy {
	p.Egress.Mode, p.Egress.Hosts, p.Egress.Rules = sandbox.EgressAllowlist, []string{nowhere}, nil
	return p
}
