package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func freshAcquire() Suite {
	return Suite{Name: "FRESH_ACQUIRE", Probes: []Probe{
		{Name: "the-first-is-created-and-the-next-is-not", Run: func(ctx context.Context, s *Scene) error {
			if s.origin != sandbox.OriginCreated {
				return fmt.Errorf("the first acquire answered %s", s.origin)
			}
			id := s.Info().InstanceID
			again, err := s.again(ctx)
			switch {
			case err != nil:
				return err
			case again.Origin == sandbox.OriginCreated:
				return errors.New("the second acquire says that it created what was there")
			case again.Session.Info().InstanceID != id || s.Info().InstanceID != id:
				return errors.New("two acquires of one key got two sandboxes")
			}
			return nil
		}},
		{Name: "two-at-once-get-one-and-one-created-it", Run: func(ctx context.Context, s *Scene) error {
			req := s.request
			req.Key.Thread += "/both"
			s.alsoDispose(sandbox.DisposeRequest{Owner: owner, Key: req.Key})
			const callers = 4
			type got struct {
				acquired sandbox.Acquired
				err      error
			}
			answers := make(chan got, callers)
			for range callers {
				go func() {
					acquired, err := s.subject.Backend.Acquire(ctx, req)
					answers <- got{acquired, err}
				}()
			}
			ids, created := map[string]bool{}, 0
			var errs []error
			for range callers {
				a := <-answers
				if a.err != nil {
					errs = append(errs, a.err)
					continue
				}
				ids[a.acquired.Session.Info().InstanceID] = true
				if a.acquired.Origin == sandbox.OriginCreated {
					created++
				}
			}
			if len(errs) == 0 && (len(ids) != 1 || created != 1) {
				errs = append(errs, fmt.Errorf("%d sandboxes, %d of them created, for one key", len(ids), created))
			}
			return errors.Join(errs...)
		}},
		{Name: "a-cancelled-acquire-leaves-nothing", Run: func(ctx context.Context, s *Scene) error {
			cancelled, cancel := context.WithCancel(ctx)
			cancel()
			req := s.request
			req.Key.Thread += "/cancelled"
			if _, err := s.subject.Backend.Acquire(cancelled, req); err == nil {
				return errors.New("a cancelled acquire succeeded")
			}
			d := s.subject.Backend.DisposeScope(ctx, owner, scope, req.Key.Thread)
			if d.Undisposed != nil || d.Disposed != 0 {
				return fmt.Errorf("a cancelled acquire left %+v", d)
			}
			return nil
		}},
		{Name: "what-cannot-be-acquired-is-refused", Run: func(ctx context.Context, s *Scene) error {
			var errs []error
			for what, change := range map[string]func(*sandbox.AcquireRequest){
				"no owner":             func(r *sandbox.AcquireRequest) { r.Owner = "" },
				"no kind":              func(r *sandbox.AcquireRequest) { r.Spec.Kind = "" },
				"an empty thread":      func(r *sandbox.AcquireRequest) { r.Key.Thread = "" },
				"no digest":            func(r *sandbox.AcquireRequest) { r.SpecDigest = "" },
				"a digest that is not": func(r *sandbox.AcquireRequest) { r.PolicyDigest = "sha256:x" },
				"a relative work dir":  func(r *sandbox.AcquireRequest) { r.Spec.WorkDir = "work" },
				"a work dir with ..":   func(r *sandbox.AcquireRequest) { r.Spec.WorkDir = "/work/../etc" },
				"a reserved label": func(r *sandbox.AcquireRequest) {
					r.Spec.Labels = map[string]string{sandbox.ReservedLabelPrefix + "owner": "somebody"}
				},
			} {
				req := s.request
				change(&req)
				_, err := s.subject.Backend.Acquire(ctx, req)
				if err == nil {
					errs = append(errs, fmt.Errorf("%s was let through", what))
				} else if sandbox.RefusalOf(err) == nil && len(sandbox.RefusalsOf(err)) == 0 {
					errs = append(errs, fmt.Errorf("%s is no refusal: %w", what, err))
				}
			}
			return errors.Join(errs...)
		}},
	}}
}

func callScope() Suite {
	in, out := sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut
	const name = "planted-before-the-other-call-existed.txt"
	other := func(ctx context.Context, s *Scene) (*Scene, error) {
		if err := s.mustWrite(ctx, name, "the first call's"); err != nil {
			return nil, err
		}
		second, origin, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) { r.Key.Call = "call-2" })
		if err == nil && origin != sandbox.OriginCreated {
			err = fmt.Errorf("another call's sandbox was %s", origin)
		}
		if err == nil && second.Info().WorkDir != s.Info().WorkDir {
			err = errors.New("two calls of one workload have two work directories")
		}
		return second, err
	}
	return Suite{Name: "CALL_SCOPE", Gate: in, Probes: []Probe{
		{Name: "arrives-without-the-other-calls-data", Needs: []sandbox.Capability{out}, Run: func(ctx context.Context, s *Scene) error {
			second, err := other(ctx, s)
			if err != nil {
				return err
			}
			_, err = second.Stat(ctx, name)
			return coded("the other call's file", err, sandbox.CodeFileNotFound)
		}},
		{Name: "the-same-name-holds-this-calls-bytes", Needs: []sandbox.Capability{out}, Run: func(ctx context.Context, s *Scene) error {
			second, err := other(ctx, s)
			if err != nil {
				return err
			}
			return errors.Join(second.mustWrite(ctx, name, "the second call's"),
				s.holds(ctx, name, []byte("the first call's")), second.holds(ctx, name, []byte("the second call's")))
		}},
		{Name: "the-listing-holds-only-this-calls-files", Needs: []sandbox.Capability{sandbox.CapabilityFilesList}, Run: func(ctx context.Context, s *Scene) error {
			second, err := other(ctx, s)
			if err != nil {
				return err
			}
			if err := second.mustWrite(ctx, "own.txt", "x"); err != nil {
				return err
			}
			entries, err := second.List(ctx, ".")
			if err == nil && (len(entries) != 1 || entries[0].Path != "own.txt") {
				err = fmt.Errorf("listed %+v", entries)
			}
			return err
		}},
		{Name: "disposing-this-call-leaves-the-other", Needs: []sandbox.Capability{out}, Run: func(ctx context.Context, s *Scene) error {
			second, err := other(ctx, s)
			if err != nil {
				return err
			}
			if failure := s.subject.Backend.Dispose(ctx, sandbox.DisposeRequest{Owner: owner, Key: second.request.Key}); failure != nil {
				return failure
			}
			return s.holds(ctx, name, []byte("the first call's"))
		}},
	}}
}

func instanceDisposal() Suite {
	return Suite{Name: "INSTANCE_DISPOSAL", Probes: []Probe{
		{Name: "only-the-named-instance-goes", Run: func(ctx context.Context, s *Scene) error {
			sibling, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) { r.Spec.Kind += "-sibling" })
			if err != nil {
				return err
			}
			named := sandbox.DisposeRequest{Owner: owner, Key: s.request.Key, Kind: s.request.Spec.Kind, InstanceID: s.Info().InstanceID}
			for range 2 {
				if failure := s.subject.Backend.Dispose(ctx, named); failure != nil {
					return failure
				}
			}
			return errors.Join(gone(ctx, s), alive(ctx, sibling))
		}},
		{Name: "a-stale-instance-hits-no-replacement", Run: func(ctx context.Context, s *Scene) error {
			old := s.Info().InstanceID
			if err := s.dispose(ctx); err != nil {
				return err
			}
			next, err := s.again(ctx)
			if err != nil {
				return err
			}
			if next.Session.Info().InstanceID == old {
				return errors.New("a replacement has the name of what it replaced")
			}
			failure := s.subject.Backend.Dispose(ctx, sandbox.DisposeRequest{Owner: owner, Key: s.request.Key, InstanceID: old})
			if failure != nil {
				return failure
			}
			again, err := s.again(ctx)
			if err == nil && again.Session.Info().InstanceID != next.Session.Info().InstanceID {
				err = errors.New("the replacement was removed")
			}
			return err
		}},
		{Name: "another-owner-disposes-nothing", Run: func(ctx context.Context, s *Scene) error {
			if failure := s.subject.Backend.Dispose(ctx, sandbox.DisposeRequest{Owner: otherOwner, Key: s.request.Key, InstanceID: s.Info().InstanceID}); failure != nil {
				return failure
			}
			d := s.subject.Backend.DisposeScope(ctx, otherOwner, scope, "")
			if d.Undisposed != nil || d.Disposed != 0 {
				return fmt.Errorf("another owner's disposal answered %+v", d)
			}
			return alive(ctx, s)
		}},
		{Name: "another-kind-disposes-nothing", Run: func(ctx context.Context, s *Scene) error {
			if failure := s.subject.Backend.Dispose(ctx, sandbox.DisposeRequest{Owner: owner, Key: s.request.Key, Kind: "other"}); failure != nil {
				return failure
			}
			return alive(ctx, s)
		}},
		{Name: "what-is-not-there-is-disposed", Run: func(ctx context.Context, s *Scene) error {
			key := s.request.Key
			key.Thread += "/never"
			if failure := s.subject.Backend.Dispose(ctx, sandbox.DisposeRequest{Owner: owner, Key: key}); failure != nil {
				return failure
			}
			return alive(ctx, s)
		}},
		{Name: "a-session-of-a-disposed-sandbox-is-lost", Needs: []sandbox.Capability{sandbox.CapabilityFilesIn}, Run: func(ctx context.Context, s *Scene) error {
			if err := s.dispose(ctx); err != nil {
				return err
			}
			if err := s.write(ctx, "late.txt", "x"); err == nil {
				return errors.New("a file was written into a sandbox that is gone")
			}
			next, err := s.again(ctx)
			if err == nil && next.Origin != sandbox.OriginCreated {
				err = fmt.Errorf("after its disposal the sandbox was %s", next.Origin)
			}
			return err
		}},
	}}
}

// alive checks that the scene's sandbox is the one that acquiring gets.
func alive(ctx context.Context, s *Scene) error {
	again, err := s.again(ctx)
	switch {
	case err != nil:
		return err
	case again.Origin == sandbox.OriginCreated || again.Session.Info().InstanceID != s.Info().InstanceID:
		return errors.New("a sandbox was removed that was not meant")
	}
	return nil
}

// gone checks that acquiring makes another one.
func gone(ctx context.Context, s *Scene) error {
	again, err := s.again(ctx)
	switch {
	case err != nil:
		return err
	case again.Origin != sandbox.OriginCreated || again.Session.Info().InstanceID == s.Info().InstanceID:
		return errors.New("what was disposed is there")
	}
	return nil
}
