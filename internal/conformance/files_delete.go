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
				return errors.Join(s.removeRefused(ctx, "link-dir/secret.txt", recursive, sandbox.ErrValue),
					s.removeRefused(ctx, "link-dir/sub", recursive, sandbox.ErrValue),
					s.survives(ctx, s.outside+"/secret.txt", secret), s.survives(ctx, s.outside+"/sub/leaf.txt", secret))
			})
		}},
		{Name: "a-directory-needs-recursive", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.removeRefused(ctx, "real", false, sandbox.ErrOS), s.survives(ctx, s.work+"/real/inside.txt", insideText))
		}},
		{Name: "an-empty-directory-needs-recursive", Needs: []sandbox.Capability{sandbox.CapabilityFilesIn}, Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(
				s.mustWrite(ctx, "empty/passing", ""), s.Remove(ctx, "empty/passing", false),
				s.removeRefused(ctx, "empty", false, sandbox.ErrOS),
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
				return errors.Join(s.removeRefused(ctx, ".", recursive, sandbox.ErrValue),
					s.removeRefused(ctx, "real/..", recursive, sandbox.ErrValue), s.survives(ctx, s.work+"/plain.txt", plainText))
			})
		}},
		{Name: "a-path-outside-is-refused", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return both(func(recursive bool) error {
				return errors.Join(s.removeRefused(ctx, s.relative(s.outside), recursive, sandbox.ErrValue),
					s.removeRefused(ctx, s.outside+"/secret.txt", recursive, sandbox.ErrValue),
					s.survives(ctx, s.outside+"/secret.txt", secret))
			})
		}},
		{Name: "a-linked-ancestor-of-the-work-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return s.belowLink(ctx, func(below *Scene) error {
				return errors.Join(below.removeRefused(ctx, "leaf.txt", true, sandbox.ErrValue), s.survives(ctx, s.outside+"/sub/leaf.txt", secret))
			})
		}},
		{Name: "text-that-is-no-path-is-refused", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			var errs []error
			for _, path := range badPaths {
				errs = append(errs, s.removeRefused(ctx, path, true, sandbox.ErrValue))
			}
			return errors.Join(errs...)
		}},
		{Name: "a-huge-directory-goes", Layout: Files, Needs: exec, Run: func(ctx context.Context, s *Scene) error {
			if _, err := s.do(ctx, "many", s.work+"/many", "5000"); err != nil {
				return notShown("making files: %v", err)
			}
			return errors.Join(s.Remove(ctx, "many", true), s.absent(ctx, s.work+"/many"), s.survives(ctx, s.work+"/plain.txt", plainText))
		}},
		{Name: "a-linked-work-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := s.linkWorkDir(); err != nil {
				return err
			}
			return both(func(recursive bool) error {
				return errors.Join(s.removeRefused(ctx, "secret.txt", recursive, sandbox.ErrValue),
					s.survives(ctx, s.outside+"/secret.txt", secret))
			})
		}},
	}}
}
