package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// storageBase is about the work directory itself: it is there from the start, is
// what "." means to every call, and cannot be left or taken away.
func storageBase() Suite {
	in, out := sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut
	list, del := sandbox.CapabilityFilesList, sandbox.CapabilityFilesDelete
	needs := func(c ...sandbox.Capability) []sandbox.Capability { return c }
	return Suite{Name: "STORAGE_BASE", Probes: []Probe{
		{Name: "it-is-there-from-the-start", Needs: needs(out), Run: func(ctx context.Context, s *Scene) error {
			for _, path := range []string{".", "", s.work, "./", "x/.."} {
				entry, err := s.Stat(ctx, path)
				if err != nil || entry.Kind != sandbox.EntryDirectory || entry.Path != "." {
					return otherwise(err, "stat of %q answered %+v", path, entry)
				}
			}
			return s.readRefused(ctx, ".", sandbox.ErrOS)
		}},
		{Name: "it-begins-empty", Needs: needs(list), Run: func(ctx context.Context, s *Scene) error {
			entries, err := s.List(ctx, ".")
			if err == nil && len(entries) > 0 {
				err = fmt.Errorf("%d entries in a new work directory", len(entries))
			}
			return err
		}},
		{Name: "a-warm-acquire-keeps-what-is-in-it", Needs: needs(in, out), Run: func(ctx context.Context, s *Scene) error {
			if err := s.mustWrite(ctx, "kept/here.txt", "kept"); err != nil {
				return err
			}
			again, err := s.again(ctx)
			if err != nil {
				return err
			}
			warm := *s
			warm.Session = again.Session
			return warm.holds(ctx, "kept/here.txt", []byte("kept"))
		}},
		{Name: "every-spelling-is-one-file", Needs: needs(in, out), Run: func(ctx context.Context, s *Scene) error {
			if err := s.mustWrite(ctx, "child/value", "first"); err != nil {
				return err
			}
			for i, path := range []string{"./child/value", s.work + "/child/value", "child/../child/./value", "child//value"} {
				value := fmt.Sprintf("value %d", i)
				if err := errors.Join(s.mustWrite(ctx, path, value), s.holds(ctx, "child/value", []byte(value)), s.holds(ctx, path, []byte(value))); err != nil {
					return err
				}
			}
			return nil
		}},
		{Name: "every-call-stays-in-it", Needs: needs(in, out, list, del), Run: func(ctx context.Context, s *Scene) error {
			var errs []error
			for _, path := range []string{"..", "../outside", "../" + "work/../../escape", "/", "/etc/passwd", s.work + "-outside/x", s.work + "/../x"} {
				errs = append(errs, s.statRefused(ctx, path), s.readRefused(ctx, path, sandbox.ErrValue), s.listRefused(ctx, path),
					s.writeRefused(ctx, path), s.removeRefused(ctx, path, false, sandbox.ErrValue), s.removeRefused(ctx, path, true, sandbox.ErrValue))
			}
			return errors.Join(errs...)
		}},
		{Name: "it-cannot-be-taken-away", Needs: needs(in, out, del), Run: func(ctx context.Context, s *Scene) error {
			if err := s.mustWrite(ctx, "kept", "kept"); err != nil {
				return err
			}
			for _, path := range []string{".", "", s.work, "kept/.."} {
				for _, recursive := range []bool{false, true} {
					if err := s.removeRefused(ctx, path, recursive, sandbox.ErrValue); err != nil {
						return err
					}
				}
			}
			return s.holds(ctx, "kept", []byte("kept"))
		}},
		{Name: "removed-is-removed-and-can-come-back", Needs: needs(in, out, del), Run: func(ctx context.Context, s *Scene) error {
			for range 2 {
				if err := errors.Join(s.mustWrite(ctx, "tree/of/files", "x"), s.Remove(ctx, "tree", true)); err != nil {
					return err
				}
				if _, err := s.Stat(ctx, "tree"); !errors.Is(err, sandbox.CodeFileNotFound) {
					return otherwise(err, "a removed tree is there")
				}
			}
			return nil
		}},
		{Name: "programs-see-the-same-files", Needs: needs(sandbox.CapabilityExec, in), Run: func(ctx context.Context, s *Scene) error {
			if err := s.mustWrite(ctx, "shared/value", "one place"); err != nil {
				return err
			}
			out, err := s.do(ctx, "read", "shared/value")
			return errors.Join(err, same("reading it from within", out, []byte("one place")))
		}},
		{Name: "another-work-directory-is-another-place", Needs: needs(in, out), Run: func(ctx context.Context, s *Scene) error {
			inner := s.work + "/deep/er"
			again, err := s.subject.Backend.Acquire(ctx, withWorkDir(s.request, inner))
			if err != nil {
				return err
			}
			below := *s
			below.Session, below.work = again.Session, inner
			return errors.Join(below.mustWrite(ctx, "here.txt", "deep"), below.holds(ctx, "here.txt", []byte("deep")),
				s.holds(ctx, "deep/er/here.txt", []byte("deep")), below.writeRefused(ctx, "../up.txt"))
		}},
	}}
}
