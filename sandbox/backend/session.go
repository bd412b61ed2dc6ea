package backend

import (
	"context"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// session is what stands behind a [sandbox.Session]: one acquire of one sandbox.
type session struct {
	backend *Backend
	guest   engine.Guest
	inst    *instance
	info    sandbox.SessionInfo
	spec    sandbox.Spec
	in      tally
	out     sandbox.TransferLimits
}

var _ sandbox.SessionOps = (*session)(nil)

func (b *Backend) newSession(req sandbox.AcquireRequest, guest engine.Guest, inst *instance) *session {
	return &session{
		backend: b, guest: guest, inst: inst, spec: req.Spec,
		in:  tally{limits: req.Spec.FilesIn.Or(sandbox.DefaultTransferLimits())},
		out: req.Spec.FilesOut.Or(sandbox.DefaultTransferLimits()),
		info: sandbox.SessionInfo{
			Owner: req.Owner, Key: req.Key, Kind: req.Spec.Kind, Backend: b.Name(),
			InstanceID: inst.id, WorkDir: req.Spec.WorkDir,
			Capabilities: b.offered(req.Spec),
			SpecDigest:   req.SpecDigest, PolicyDigest: req.PolicyDigest,
		},
	}
}

// offered is what a session may be asked for: what its workload requires, and
// reclaim, which the framework itself uses and no workload may require.
func (b *Backend) offered(spec sandbox.Spec) sandbox.CapabilitySet {
	can := spec.RequiredCapabilities()
	if capabilitiesOf(b.declarations).Has(sandbox.CapabilityReclaim) {
		can = can.With(sandbox.CapabilityReclaim)
	}
	return can
}

// ref names a place at or below the work directory for the engine.
func (s *session) ref(path string) engine.FileRef {
	return engine.FileRef{Root: s.info.WorkDir, Path: path, Access: s.backend.access}
}

// above names a place that need not be below the work directory.
func (s *session) above(path string) engine.FileRef {
	return engine.FileRef{Root: "/", Path: path, Access: s.backend.access}
}

// begin starts a call: it may go on until done is called, and a check made in it
// still holds at its use wherever the engine allows that.
func (s *session) begin(ctx context.Context) (done func() error, err error) {
	leave, err := s.backend.calls.enter()
	if err != nil {
		return nil, err
	}
	freezer, ok := s.guest.(engine.Freezer)
	if s.backend.access.Links == engine.Beneath || !ok {
		return func() error { leave(); return nil }, nil
	}
	thaw, err := s.inst.gate.enter(ctx, freezer)
	if err != nil {
		leave()
		return nil, mapError(ctx, "freeze the guest", err)
	}
	return func() error {
		defer leave()
		ctx, cancel := s.backend.detached(ctx)
		defer cancel()
		if err := thaw(ctx); err != nil {
			return refusalFor("thaw the guest", err)
		}
		return nil
	}, nil
}

// finish ends a call and keeps the first thing that went wrong.
func finish(done func() error, err *error) {
	if doneErr := done(); *err == nil {
		*err = doneErr
	}
}
