package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func reuse() Suite {
	files := []sandbox.Capability{sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut}
	return Suite{Name: "REUSE", Probes: []Probe{
		{Name: "the-same-request-gets-the-same-sandbox", Run: func(ctx context.Context, s *Scene) error {
			again, err := s.subject.Backend.Acquire(ctx, s.request)
			if err != nil {
				return err
			}
			if again.Origin == sandbox.OriginCreated || again.Session.Info().InstanceID != s.Info().InstanceID {
				return fmt.Errorf("got a sandbox that was %s", again.Origin)
			}
			return nil
		}},
		{Name: "another-spec-is-refused", Run: func(ctx context.Context, s *Scene) error {
			s.request.SpecDigest = otherDigest
			_, err := s.subject.Backend.Acquire(ctx, s.request)
			return refused("reuse for another spec", err, sandbox.CodeReuseDiffers.Family())
		}},
		{Name: "another-policy-is-refused", Run: func(ctx context.Context, s *Scene) error {
			s.request.PolicyDigest = otherDigest
			_, err := s.subject.Backend.Acquire(ctx, s.request)
			return refused("reuse under another policy", err, sandbox.CodeReuseDiffers.Family())
		}},
		{Name: "two-kinds-never-share", Needs: files, Run: func(ctx context.Context, s *Scene) error {
			return s.apart(ctx, func(r *sandbox.AcquireRequest) { r.Spec.Kind += "-other" })
		}},
		{Name: "two-owners-never-share", Needs: files, Run: func(ctx context.Context, s *Scene) error {
			return s.apart(ctx, func(r *sandbox.AcquireRequest) { r.Owner = otherOwner })
		}},
		{Name: "two-calls-never-share", Needs: files, Run: func(ctx context.Context, s *Scene) error {
			return s.apart(ctx, func(r *sandbox.AcquireRequest) { r.Key.Call = "call-2" })
		}},
		{Name: "a-stale-instance-hits-no-replacement", Run: func(ctx context.Context, s *Scene) error {
			old := s.Info().InstanceID
			if err := s.dispose(ctx); err != nil {
				return err
			}
			next, err := s.subject.Backend.Acquire(ctx, s.request)
			if err != nil {
				return err
			}
			failure := s.subject.Backend.Dispose(ctx, sandbox.DisposeRequest{Owner: owner, Key: s.request.Key, InstanceID: old})
			if failure != nil {
				return failure
			}
			again, err := s.subject.Backend.Acquire(ctx, s.request)
			if err == nil && again.Session.Info().InstanceID != next.Session.Info().InstanceID {
				err = errors.New("the replacement was removed")
			}
			return err
		}},
		{Name: "a-disposed-sandbox-leaves-nothing", Needs: files, Run: func(ctx context.Context, s *Scene) error {
			if err := errors.Join(s.mustWrite(ctx, "left.txt", "x"), s.dispose(ctx)); err != nil {
				return err
			}
			next, err := s.subject.Backend.Acquire(ctx, s.request)
			if err != nil {
				return err
			}
			if next.Origin != sandbox.OriginCreated {
				return fmt.Errorf("after disposal the sandbox was %s", next.Origin)
			}
			_, err = next.Session.Stat(ctx, "left.txt")
			return refused("a file of the disposed sandbox", err, sandbox.CodeFileNotFound.Family())
		}},
		{Name: "a-linked-work-directory-fails-the-acquire", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := linkWorkDir(s); err != nil {
				return err
			}
			_, err := s.subject.Backend.Acquire(ctx, s.request)
			return refused("a work directory that is a link", err, sandbox.ErrValue)
		}},
		{Name: "disposing-a-thread-leaves-its-neighbour", Run: func(ctx context.Context, s *Scene) error {
			other := s.request
			other.Key.Thread += "-neighbour"
			if _, err := s.subject.Backend.Acquire(ctx, other); err != nil {
				return err
			}
			if d := s.subject.Backend.DisposeScope(ctx, owner, scope, s.request.Key.Thread); d.Undisposed != nil || d.Disposed != 1 {
				return fmt.Errorf("disposing one thread answered %+v", d)
			}
			again, err := s.subject.Backend.Acquire(ctx, other)
			if err == nil && again.Origin == sandbox.OriginCreated {
				err = errors.New("the neighbour was removed")
			}
			d := s.subject.Backend.DisposeScope(ctx, owner, scope, other.Key.Thread)
			if d.Undisposed != nil {
				err = errors.Join(err, d.Undisposed)
			}
			return err
		}},
	}}
}

// apart acquires for somebody else and checks that neither sees the other's file.
func (s *Scene) apart(ctx context.Context, change func(*sandbox.AcquireRequest)) error {
	if err := s.mustWrite(ctx, "mine.txt", "mine"); err != nil {
		return err
	}
	other := s.request
	change(&other)
	theirs, err := s.subject.Backend.Acquire(ctx, other)
	if err != nil {
		return err
	}
	if theirs.Session.Info().InstanceID == s.Info().InstanceID {
		return errors.New("both got one sandbox")
	}
	_, err = theirs.Session.Stat(ctx, "mine.txt")
	err = errors.Join(refused("the other's file", err, sandbox.CodeFileNotFound.Family()),
		s.holds(ctx, "mine.txt", []byte("mine")))
	failure := s.subject.Backend.Dispose(ctx, sandbox.DisposeRequest{Owner: other.Owner, Key: other.Key, Kind: other.Spec.Kind})
	if failure != nil {
		return errors.Join(err, failure)
	}
	return errors.Join(err, s.holds(ctx, "mine.txt", []byte("mine")))
}
