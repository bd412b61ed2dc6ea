package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// badPaths are no guest paths, whatever they would name.
var badPaths = []string{"a\x00b", `a\b`, `..\real\inside.txt`, "a\xff\xfeb", "a\nb", strings.Repeat("x", 300), strings.Repeat("x/", 4000)}

var exec = []sandbox.Capability{sandbox.CapabilityExec, sandbox.CapabilityFilesIn}

func filesOut() Suite {
	return Suite{Name: "FILES_OUT", Gate: sandbox.CapabilityFilesOut, Probes: []Probe{
		{Name: "a-legitimate-read-still-works", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			entry, err := s.Stat(ctx, "real/inside.txt")
			if err != nil {
				return err
			}
			if entry.Kind != sandbox.EntryFile || !entry.SizeKnown || entry.Size != int64(len(insideText)) {
				return fmt.Errorf("stat answered %+v", entry)
			}
			return s.holds(ctx, "real/inside.txt", []byte(insideText))
		}},
		{Name: "a-link-is-named-a-link", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			entry, err := s.Stat(ctx, "link-file")
			if err != nil {
				return err
			}
			if entry.Kind != sandbox.EntrySymlink || entry.SizeKnown {
				return fmt.Errorf("stat answered %+v", entry)
			}
			return nil
		}},
		{Name: "a-link-is-never-read", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return s.readRefused(ctx, "link-file", sandbox.ErrOS)
		}},
		{Name: "stat-through-a-linked-parent", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			_, err := s.Stat(ctx, "link-dir/secret.txt")
			return refused("stat through a link", err, sandbox.ErrValue)
		}},
		{Name: "read-through-a-linked-parent", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return s.readRefused(ctx, "link-dir/secret.txt", sandbox.ErrValue)
		}},
		{Name: "a-linked-work-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := s.linkWorkDir(); err != nil {
				return err
			}
			return errors.Join(s.readRefused(ctx, "secret.txt", sandbox.ErrValue), s.statRefused(ctx, "secret.txt"))
		}},
		{Name: "a-linked-ancestor-of-the-work-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return s.belowLink(ctx, func(below *Scene) error {
				return errors.Join(below.readRefused(ctx, "leaf.txt", sandbox.ErrValue), below.statRefused(ctx, "leaf.txt"))
			})
		}},
		{Name: "a-plain-parent-is-not-an-escape", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			_, err := s.Stat(ctx, "plain.txt/deeper.txt")
			return refused("stat below a file", err, sandbox.CodePathNotDirectory.Family())
		}},
		{Name: "a-pipe-is-refused-without-waiting", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := s.guest.Mkfifo(s.work + "/pipe"); err != nil {
				return err
			}
			return s.readRefused(ctx, "pipe", sandbox.ErrOS)
		}},
		{Name: "a-path-outside-is-refused", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			for _, path := range []string{s.relative(s.outside + "/secret.txt"), s.outside + "/secret.txt", "real/../" + s.relative(s.outside+"/secret.txt")} {
				if err := errors.Join(s.readRefused(ctx, path, sandbox.ErrValue), s.statRefused(ctx, path)); err != nil {
					return err
				}
			}
			return nil
		}},
		{Name: "a-device-is-never-read", Layout: Links, Needs: exec, Run: func(ctx context.Context, s *Scene) error {
			_, err := s.do(ctx, "device", s.work+"/device")
			if errors.Is(err, ErrGuestCannot) {
				return held("the guest cannot make devices")
			}
			if err != nil {
				return notShown("making a device: %v", err)
			}
			return s.readRefused(ctx, "device", sandbox.ErrOS)
		}},
		{Name: "a-hole-counts-as-what-it-is", Layout: Files, Needs: exec, Run: holes},
		{Name: "a-directory-is-never-read", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.readRefused(ctx, "real", sandbox.ErrOS), s.readRefused(ctx, ".", sandbox.ErrOS))
		}},
		{Name: "nothing-there-is-said-so", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			_, err := s.Stat(ctx, "never")
			_, readErr := s.ReadFile(ctx, "real/never/was", maxRead)
			return errors.Join(coded("stat of nothing", err, sandbox.CodeFileNotFound), coded("reading nothing", readErr, sandbox.CodeFileNotFound))
		}},
		{Name: "text-that-is-no-path-is-refused", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			var errs []error
			for _, path := range badPaths {
				errs = append(errs, s.readRefused(ctx, path, sandbox.ErrValue), s.statRefused(ctx, path))
			}
			return errors.Join(errs...)
		}},
		{Name: "over-the-cap-is-refused-never-cut", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			if _, err := s.ReadFile(ctx, "plain.txt", int64(len(plainText))); err != nil {
				return fmt.Errorf("a file of exactly the cap: %w", err)
			}
			data, err := s.ReadFile(ctx, "plain.txt", int64(len(plainText))-1)
			if len(data) > 0 {
				return fmt.Errorf("%d bytes of a file over the cap", len(data))
			}
			return refused("reading over the cap", err, sandbox.ErrLimit)
		}},
	}}
}

// holes makes files that hold nothing: one far over the cap, which is refused by its
// size, and one below it, which is read whole.
func holes(ctx context.Context, s *Scene) error {
	const small, large = 1 << 20, 1 << 40
	if _, err := s.do(ctx, "sparse", s.work+"/large", fmt.Sprint(large)); err == nil {
		entry, err := s.Stat(ctx, "large")
		if err != nil || entry.Kind != sandbox.EntryFile || entry.SizeKnown && entry.Size != large {
			return otherwise(err, "stat of a file of %d bytes answered %+v", large, entry)
		}
		if err := s.readRefused(ctx, "large", sandbox.ErrLimit); err != nil {
			return err
		}
	}
	if _, err := s.do(ctx, "sparse", s.work+"/small", fmt.Sprint(small)); err != nil {
		return notShown("making a file with a hole: %v", err)
	}
	return s.holds(ctx, "small", make([]byte, small))
}

// belowLink acquires another sandbox with its work directory below a link and hands
// it on, if it is made at all: an acquire that refuses is as good.
func (s *Scene) belowLink(ctx context.Context, check func(*Scene) error) error {
	inner := s.work + "/link-dir/sub"
	again, err := s.subject.Backend.Acquire(ctx, withWorkDir(s.request, inner))
	if err != nil {
		return refused("a work directory below a link", err, sandbox.ErrValue)
	}
	below := *s
	below.Session, below.work = again.Session, inner
	return check(&below)
}

func withWorkDir(req sandbox.AcquireRequest, dir string) sandbox.AcquireRequest {
	req.Spec.WorkDir = dir
	return req
}
