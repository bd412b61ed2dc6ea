package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// reclaim is the framework's own clean-up of a directory, by its absolute path.
func reclaim() Suite {
	again := func(ctx context.Context, s *Scene, dir string) error {
		if err := s.Reclaim(ctx, dir); err != nil {
			return fmt.Errorf("reclaiming %s: %w", dir, err)
		}
		return nil
	}
	return Suite{Name: "RECLAIM", Gate: sandbox.CapabilityReclaim, Probes: []Probe{
		{Name: "a-created-directory-is-gone", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(again(ctx, s, s.work+"/real"), s.absent(ctx, s.work+"/real"), s.survives(ctx, s.work+"/plain.txt", plainText))
		}},
		{Name: "nested-content-goes-with-it", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.mustWrite(ctx, "call/a/b/c.txt", "x"), s.mustWrite(ctx, "call/d.txt", "x"),
				again(ctx, s, s.work+"/call"), s.absent(ctx, s.work+"/call"))
		}},
		{Name: "a-link-inside-is-unlinked-not-followed", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := s.guest.Symlink(s.work+"/call/out", s.outside); err != nil {
				return notShown("making a link: %v", err)
			}
			return errors.Join(again(ctx, s, s.work+"/call"), s.absent(ctx, s.work+"/call"), s.survives(ctx, s.outside+"/secret.txt", secret))
		}},
		{Name: "a-linked-parent-is-refused", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			err := s.Reclaim(ctx, s.work+"/link-dir/sub")
			return errors.Join(refused("reclaiming through a link", err, sandbox.ErrValue), s.survives(ctx, s.outside+"/sub/leaf.txt", secret))
		}},
		{Name: "a-missing-directory-is-success", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(again(ctx, s, s.work+"/never"), again(ctx, s, s.work+"/never"))
		}},
		{Name: "an-absent-work-directory-still-succeeds", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return again(ctx, s, s.work+"/absent-work/call-a1b2c3")
		}},
	}}
}
