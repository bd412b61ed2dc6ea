package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// both runs a check for a plain and for a recursive removal.
func both(check func(recursive bool) error) error {
	for _, recursive := range []bool{false, true} {
		if err := check(recursive); err != nil {
			return fmt.Errorf("recursive %t: %w", recursive, err)
		}
	}
	return nil
}

func filesDelete() Suite {
	return Suite{Name: "FILES_DELETE", Gate: sandbox.CapabilityFilesDelete, Probes: []Probe{
		{Name: "a-removal-removes", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.Remove(ctx, "plain.txt", false), s.absent(ctx, s.work+"/plain.txt"),
				s.survives(ctx, s.work+"/real/inside.txt", insideText))
		}},
		{Name: "a-missing-path-is-success", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.Remove(ctx, "never", false), s.Remove(ctx, "never", true), s.Remove(ctx, "never/was", true))
		}},
		{Name: "a-link-is-removed-never-followed", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return both(func(recursive bool) error {
				if err := s.guest.Symlink(s.work+"/gone", s.outside); err != nil {
					return err
				}
				return errors.Join(s.Remove(ctx, "gone", recursive), s.absent(ctx, s.work+"/gone"),
					s.survives(ctx, s.outside+"/secret.txt", secret))
			})
		}},
		{Name: "a-path-through-a-linked-parent-is-refused", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return both(func(recursive bool) error {
				return errors.Join(removeRefused(ctx, s, "link-dir/secret.txt", recursive, sandbox.ErrValue),
					removeRefused(ctx, s, "link-dir/sub", recursive, sandbox.ErrValue),
					s.survives(ctx, s.outside+"/secret.txt", secret), s.survives(ctx, s.outside+"/sub/leaf.txt", secret))
			})
		}},
		{Name: "a-directory-needs-recursive", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(removeRefused(ctx, s, "real", false, sandbox.ErrOS), s.survives(ctx, s.work+"/real/inside.txt", insideText))
		}},
		{Name: "an-empty-directory-needs-recursive", Needs: []sandbox.Capability{sandbox.CapabilityFilesIn}, Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(
				s.mustWrite(ctx, "empty/passing", ""), s.Remove(ctx, "empty/passing", false),
				removeRefused(ctx, s, "empty", false, sandbox.ErrOS),
				s.Remove(ctx, "empty", true), s.absent(ctx, s.work+"/empty"))
		}},
		{Name: "recursive-removes-the-tree", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.Remove(ctx, "real", true), s.absent(ctx, s.work+"/real"), s.survives(ctx, s.work+"/plain.txt", plainText))
		}},
		{Name: "a-link-inside-a-recursive-removal-is-unlinked-not-followed", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := s.guest.Symlink(s.work+"/real/out", s.outside); err != nil {
				return err
			}
			return errors.Join(s.Remove(ctx, "real", true), s.absent(ctx, s.work+"/real"), s.survives(ctx, s.outside+"/secret.txt", secret))
		}},
		{Name: "the-work-directory-is-refused", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return both(func(recursive bool) error {
				return errors.Join(removeRefused(ctx, s, ".", recursive, sandbox.ErrValue),
					removeRefused(ctx, s, "real/..", recursive, sandbox.ErrValue), s.survives(ctx, s.work+"/plain.txt", plainText))
			})
		}},
		{Name: "a-path-outside-is-refused", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return both(func(recursive bool) error {
				return errors.Join(removeRefused(ctx, s, "../"+base(s.outside), recursive, sandbox.ErrValue),
					removeRefused(ctx, s, s.outside+"/secret.txt", recursive, sandbox.ErrValue),
					s.survives(ctx, s.outside+"/secret.txt", secret))
			})
		}},
		{Name: "a-linked-work-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := linkWorkDir(s); err != nil {
				return err
			}
			return both(func(recursive bool) error {
				return errors.Join(removeRefused(ctx, s, "secret.txt", recursive, sandbox.ErrValue),
					s.survives(ctx, s.outside+"/secret.txt", secret))
			})
		}},
	}}
}

func removeRefused(ctx context.Context, s *Scene, path string, recursive bool, family sandbox.Family) error {
	return refused("removing "+path, s.Remove(ctx, path, recursive), family)
}
