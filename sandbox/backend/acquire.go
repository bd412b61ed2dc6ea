package backend

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

// Acquire answers the sandbox of the request's owner, key and kind: the one that
// runs, if it was made for exactly this, or a new one. Concurrent calls for one
// identity get one sandbox; other identities never wait for it.
//
// A running sandbox that was made for another spec or admitted by another policy
// is refused with [sandbox.CodeReuseDiffers], which names the fields; it is left
// alone. So is one whose guest turns out to run as a user with whom the workload
// cannot do what it requires, with [sandbox.CodeImageUserUnfit]. When a sandbox was made and the acquire fails after all, it is removed
// before Acquire returns; should that fail too, the error also holds a
// [*sandbox.DisposalFailure].
func (b *Backend) Acquire(ctx context.Context, req sandbox.AcquireRequest) (sandbox.Acquired, error) {
	leave, err := b.calls.enter()
	if err != nil {
		return sandbox.Acquired{}, err
	}
	defer leave()
	if req.Spec.WorkDir == "" {
		req.Spec.WorkDir = sandbox.DefaultWorkDir
	}
	if err := b.checkRequest(req); err != nil {
		return sandbox.Acquired{}, err
	}

	l, who := b.labeler(req.Owner), identityOf(req)
	name, labels := l.name(who), l.allLabels(req)
	unlock, err := b.locks.lock(ctx, name, who)
	if err != nil {
		return sandbox.Acquired{}, fmt.Errorf("waiting to acquire: %w", err)
	}
	defer unlock()

	gate := b.userGate(&req)
	if !b.instances.knows(name) {
		if err := gate.remembered(); err != nil {
			return sandbox.Acquired{}, err
		}
	}
	started, err := b.engine.Start(ctx, engine.StartRequest{
		Name: name, Labels: maps.Clone(labels), Image: req.Spec.Image, Egress: req.Spec.Egress,
		WorkDir: req.Spec.WorkDir, OSFamily: req.Spec.OSFamily,
	})
	if err != nil {
		return sandbox.Acquired{}, startError(ctx, err)
	}
	if started.Guest == nil || started.Guest.ID() == "" {
		return sandbox.Acquired{}, broken("a started sandbox without an id")
	}
	inst := b.instances.note(started.Guest, name, who)
	s := b.newSession(req, started.Guest, inst)
	warnings, err := s.prepare(ctx, labels, gate, started)
	if err != nil {
		if started.Origin == sandbox.OriginCreated {
			err = b.undo(ctx, inst, err)
		}
		return sandbox.Acquired{}, err
	}
	if started.Origin == sandbox.OriginCreated {
		b.instances.madeFor(inst, &s.spec)
	}
	return sandbox.Acquired{Session: sandbox.NewSession(s.info, s), Origin: started.Origin, Findings: warnings}, nil
}

// prepare judges what was started and makes its work directory. It answers what it
// warns of.
func (s *session) prepare(ctx context.Context, want map[string]string, gate userGate, started engine.Started) ([]sandbox.Finding, error) {
	if !slices.Contains([]sandbox.Origin{sandbox.OriginCreated, sandbox.OriginResumed, sandbox.OriginAdopted}, started.Origin) {
		return nil, broken("a sandbox of no known origin")
	}
	if fields := differing(want, started.Labels); fields != "" {
		if started.Origin == sandbox.OriginCreated {
			return nil, broken("a new sandbox that does not carry its labels (" + fields + ")")
		}
		return nil, reuseDiffers(fields, s.backend.instances.specOf(s.inst), &s.spec)
	}
	need := s.spec.RequiredCapabilities()
	if _, ok := started.Guest.(engine.Execer); need.Has(sandbox.CapabilityExec) && !ok {
		return nil, broken("a guest that cannot exec")
	}
	if _, ok := started.Guest.(engine.CodeRunner); need.Has(sandbox.CapabilityRunCode) && !ok {
		return nil, broken("a guest that cannot run_code")
	}
	warnings, err := s.admitUser(ctx, gate, started)
	if err != nil || !needsWorkDir(need) {
		return warnings, err
	}
	return warnings, s.ensureWorkDir(ctx)
}

// undo removes a sandbox whose acquire failed.
func (b *Backend) undo(ctx context.Context, inst *instance, cause error) error {
	ctx, cancel := b.detached(ctx)
	defer cancel()
	if err := b.engine.Delete(ctx, inst.id); err != nil {
		return fmt.Errorf("%w; what had been made could not be removed: %w",
			cause, disposalFailure(ctx, "removing a half-made sandbox", err))
	}
	b.instances.forget(inst.id)
	return cause
}

// checkRequest refuses what no sandbox can be made for.
func (b *Backend) checkRequest(req sandbox.AcquireRequest) error {
	if err := checkOwner(req.Owner); err != nil {
		return err
	}
	if err := req.Key.Validate(); err != nil {
		return err
	}
	if req.Spec.Kind == "" {
		return sandbox.Finding{
			Code: sandbox.CodeMissing, Path: sandbox.Path("kind"), Found: "no kind",
			Required: "the workload's kind", Remedy: "set kind",
		}.Refusal(nil)
	}
	for _, d := range []struct{ field, digest string }{
		{"spec_digest", req.SpecDigest}, {"policy_digest", req.PolicyDigest},
	} {
		if !sandbox.IsDigest(d.digest) {
			return sandbox.Finding{
				Code: sandbox.CodeInvalidText, Path: sandbox.Path(d.field), Found: sandbox.Echo(d.digest),
				Required: "sha256: and 64 lower-case hex digits", Remedy: "give the digest that admitted the workload",
			}.Refusal(nil)
		}
	}
	for _, label := range slices.Sorted(maps.Keys(req.Spec.Labels)) {
		if sandbox.ReservedLabel(label) {
			return sandbox.Finding{
				Code: sandbox.CodeInvalidText, Path: sandbox.Path("labels", sandbox.MapKey(label)),
				Found: sandbox.Echo(label), Required: "a key outside " + sandbox.ReservedLabelPrefix,
				Remedy: "choose another prefix",
			}.Refusal(nil)
		}
	}
	if err := guestpath.ValidateBase(req.Spec.WorkDir); err != nil {
		return err
	}
	missing := req.Spec.RequiredCapabilities().Minus(capabilitiesOf(b.declarations))
	if !missing.Empty() {
		return sandbox.Finding{
			Code: sandbox.CodeCapabilityMissing, Path: sandbox.Path("requires"),
			Found:    "backend " + b.Name() + " without " + missing.String(),
			Required: req.Spec.RequiredCapabilities().String(),
			Remedy:   "choose a backend that declares it",
		}.Refusal(nil)
	}
	return nil
}

func checkOwner(owner string) error {
	if owner != "" {
		return nil
	}
	return sandbox.Finding{
		Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path("owner"), Found: "no owner",
		Required: "the owner that sandboxes belong to", Remedy: "set the router's Owner",
	}.Refusal(nil)
}

func needsWorkDir(need sandbox.CapabilitySet) bool {
	for _, c := range fileCapabilities {
		if need.Has(c) {
			return true
		}
	}
	return need.Has(sandbox.CapabilityExec) || need.Has(sandbox.CapabilityRunCode)
}

// broken is the refusal for an engine that does not keep its contract.
func broken(found string) *sandbox.Refusal {
	return sandbox.Finding{
		Code: sandbox.CodeGuestFailed, Found: "an engine that answered " + found,
		Required: "an engine that keeps its contract", Remedy: "report it to the engine's author",
	}.Refusal(nil)
}
