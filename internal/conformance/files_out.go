package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

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
			if err := linkWorkDir(s); err != nil {
				return err
			}
			return errors.Join(s.readRefused(ctx, "secret.txt", sandbox.ErrValue), statRefused(ctx, s, "secret.txt"))
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
			for _, path := range []string{"../" + base(s.outside) + "/secret.txt", s.outside + "/secret.txt", "real/../../" + base(s.outside) + "/secret.txt"} {
				if err := errors.Join(s.readRefused(ctx, path, sandbox.ErrValue), statRefused(ctx, s, path)); err != nil {
					return err
				}
			}
			return nil
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

func filesList() Suite {
	return Suite{Name: "FILES_LIST", Gate: sandbox.CapabilityFilesList, Probes: []Probe{
		{Name: "listing-a-linked-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return listRefused(ctx, s, "link-dir")
		}},
		{Name: "listing-through-a-linked-parent", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return listRefused(ctx, s, "link-dir/sub")
		}},
		{Name: "listing-under-a-linked-work-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := linkWorkDir(s); err != nil {
				return err
			}
			return listRefused(ctx, s, ".")
		}},
		{Name: "a-listing-names-its-links", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			entries, err := s.List(ctx, ".")
			if err != nil {
				return err
			}
			for _, entry := range entries {
				if entry.Path == "link-file" && entry.Kind == sandbox.EntrySymlink {
					return nil
				}
			}
			return fmt.Errorf("no link among %d entries", len(entries))
		}},
		{Name: "a-listing-has-direct-children-only", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			entries, err := s.List(ctx, "real")
			if err != nil {
				return err
			}
			if len(entries) != 1 || entries[0].Path != "real/inside.txt" {
				return fmt.Errorf("listed %+v", entries)
			}
			return nil
		}},
	}}
}

// linkWorkDir replaces the work directory by a link to its neighbour.
func linkWorkDir(s *Scene) error {
	if err := s.guest.Remove(s.work); err != nil {
		return err
	}
	return s.guest.Symlink(s.work, s.outside)
}

func statRefused(ctx context.Context, s *Scene, path string) error {
	_, err := s.Stat(ctx, path)
	return refused("stat of "+path, err, sandbox.ErrValue)
}

func listRefused(ctx context.Context, s *Scene, path string) error {
	entries, err := s.List(ctx, path)
	if len(entries) > 0 {
		return fmt.Errorf("listing %s gave %d entries", path, len(entries))
	}
	return refused("listing "+path, err, sandbox.ErrValue)
}
