package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func reuse() Suite {
	files := []sandbox.Capability{sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut}
	apart := func(name string, change func(*sandbox.AcquireRequest)) Probe {
		return Probe{Name: name, Needs: files, Run: func(ctx context.Context, s *Scene) error { return s.apart(ctx, change) }}
	}
	differs := func(name string, change func(*sandbox.AcquireRequest)) Probe {
		return Probe{Name: name, Run: func(ctx context.Context, s *Scene) error {
			other := s.request
			change(&other)
			_, err := s.subject.Backend.Acquire(ctx, other)
			return errors.Join(coded("reuse", err, sandbox.CodeReuseDiffers), alive(ctx, s))
		}}
	}
	return Suite{Name: "REUSE", Probes: []Probe{
		differs("another-spec-is-refused", func(r *sandbox.AcquireRequest) { r.SpecDigest = otherDigest }),
		differs("another-policy-is-refused", func(r *sandbox.AcquireRequest) { r.PolicyDigest = otherDigest }),
		differs("other-labels-are-refused", func(r *sandbox.AcquireRequest) { r.Spec.Labels = map[string]string{"team": "other"} }),
		apart("two-kinds-never-share", func(r *sandbox.AcquireRequest) { r.Spec.Kind += "-other" }),
		apart("two-owners-never-share", func(r *sandbox.AcquireRequest) { r.Owner = otherOwner }),
		apart("two-calls-never-share", func(r *sandbox.AcquireRequest) { r.Key.Call = "call-2" }),
		apart("two-agents-never-share", func(r *sandbox.AcquireRequest) { r.Key.Agent += "-2" }),
		apart("two-threads-never-share", func(r *sandbox.AcquireRequest) { r.Key.Thread += "-2" }),
		apart("two-scopes-never-share", func(r *sandbox.AcquireRequest) { r.Key.Scope += "-2" }),
		apart("a-boundary-moved-is-another-key", func(r *sandbox.AcquireRequest) {
			// The same text when it is joined by slashes, as keys often are.
			head, tail, _ := strings.Cut(r.Key.Thread, "/")
			r.Key.Scope, r.Key.Thread = r.Key.Scope+"/"+head, tail
		}),
		apart("a-boundary-moved-without-a-mark-is-another-key", func(r *sandbox.AcquireRequest) {
			r.Key.Agent, r.Key.Call = r.Key.Agent[:3], r.Key.Agent[3:]
		}),
		apart("case-and-look-make-another-key", func(r *sandbox.AcquireRequest) { r.Key.Agent = strings.ToUpper(r.Key.Agent) }),
		{Name: "long-keys-differ-to-their-end", Needs: files, Run: func(ctx context.Context, s *Scene) error {
			long := strings.Repeat("long ", 150)
			first, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) { r.Key.Agent = long + "a" })
			if err != nil {
				return err
			}
			return first.apart(ctx, func(r *sandbox.AcquireRequest) { r.Key.Agent = long + "b" })
		}},
		{Name: "a-disposed-sandbox-leaves-nothing", Needs: files, Run: func(ctx context.Context, s *Scene) error {
			if err := errors.Join(s.mustWrite(ctx, "left.txt", "x"), s.dispose(ctx)); err != nil {
				return err
			}
			next, err := s.again(ctx)
			if err != nil {
				return err
			}
			if next.Origin != sandbox.OriginCreated {
				return fmt.Errorf("after disposal the sandbox was %s", next.Origin)
			}
			_, err = next.Session.Stat(ctx, "left.txt")
			return coded("a file of the disposed sandbox", err, sandbox.CodeFileNotFound)
		}},
		{Name: "a-linked-work-directory-fails-the-acquire", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := s.linkWorkDir(); err != nil {
				return err
			}
			_, err := s.again(ctx)
			return refused("a work directory that is a link", err, sandbox.ErrValue)
		}},
		{Name: "disposing-a-thread-leaves-its-neighbour", Run: func(ctx context.Context, s *Scene) error {
			other, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) { r.Key.Thread += "-neighbour" })
			if err != nil {
				return err
			}
			if d := s.subject.Backend.DisposeScope(ctx, owner, scope, s.request.Key.Thread); d.Undisposed != nil || d.Disposed != 1 {
				return fmt.Errorf("disposing one thread answered %+v", d)
			}
			return alive(ctx, other)
		}},
		{Name: "disposing-a-scope-takes-all-of-it", Run: func(ctx context.Context, s *Scene) error {
			whole := scope + "/whole"
			for _, change := range []func(*sandbox.AcquireRequest){
				func(r *sandbox.AcquireRequest) { r.Key.Scope = whole },
				func(r *sandbox.AcquireRequest) { r.Key.Scope, r.Key.Thread = whole, "second" },
				func(r *sandbox.AcquireRequest) { r.Key.Scope, r.Spec.Kind = whole, r.Spec.Kind+"-other" },
			} {
				if _, _, err := s.neighbour(ctx, change); err != nil {
					return err
				}
			}
			if d := s.subject.Backend.DisposeScope(ctx, owner, whole, ""); d.Undisposed != nil || d.Disposed != 3 {
				return fmt.Errorf("disposing a scope of three answered %+v", d)
			}
			if d := s.subject.Backend.DisposeScope(ctx, owner, whole, ""); d.Undisposed != nil || d.Disposed != 0 {
				return fmt.Errorf("disposing it again answered %+v", d)
			}
			return alive(ctx, s)
		}},
	}}
}

// apart acquires for somebody else and checks that neither sees the other's file.
func (s *Scene) apart(ctx context.Context, change func(*sandbox.AcquireRequest)) error {
	if err := s.mustWrite(ctx, "mine.txt", "mine"); err != nil {
		return err
	}
	theirs, _, err := s.neighbour(ctx, change)
	if err != nil {
		return err
	}
	if theirs.Info().InstanceID == s.Info().InstanceID {
		return errors.New("both got one sandbox")
	}
	_, err = theirs.Stat(ctx, "mine.txt")
	if err := errors.Join(coded("the other's file", err, sandbox.CodeFileNotFound), theirs.mustWrite(ctx, "theirs.txt", "theirs")); err != nil {
		return err
	}
	_, err = s.Stat(ctx, "theirs.txt")
	failure := s.subject.Backend.Dispose(ctx, sandbox.DisposeRequest{Owner: theirs.request.Owner, Key: theirs.request.Key, Kind: theirs.request.Spec.Kind})
	if failure != nil {
		return failure
	}
	return errors.Join(coded("the other's file", err, sandbox.CodeFileNotFound), s.holds(ctx, "mine.txt", []byte("mine")))
}
