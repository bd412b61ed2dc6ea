package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func filesList() Suite {
	return Suite{Name: "FILES_LIST", Gate: sandbox.CapabilityFilesList, Probes: []Probe{
		{Name: "listing-a-linked-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return s.listRefused(ctx, "link-dir")
		}},
		{Name: "listing-through-a-linked-parent", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return s.listRefused(ctx, "link-dir/sub")
		}},
		{Name: "listing-under-a-linked-work-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := s.linkWorkDir(); err != nil {
				return err
			}
			return s.listRefused(ctx, ".")
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
		{Name: "listing-below-a-linked-ancestor", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return s.belowLink(ctx, func(below *Scene) error { return below.listRefused(ctx, ".") })
		}},
		{Name: "a-file-is-not-listed", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			entries, err := s.List(ctx, "plain.txt")
			if len(entries) > 0 {
				return fmt.Errorf("listing a file gave %d entries", len(entries))
			}
			return refused("listing a file", err, sandbox.ErrOS)
		}},
		{Name: "names-are-whatever-bytes-they-are", Layout: Files, Needs: exec, Run: oddNames},
		{Name: "a-huge-directory-is-whole-or-refused", Layout: Files, Needs: exec, Run: func(ctx context.Context, s *Scene) error {
			const many = 12_000
			if _, err := s.do(ctx, "many", s.work+"/many", fmt.Sprint(many)); err != nil {
				return notShown("making %d files: %v", many, err)
			}
			entries, err := s.List(ctx, "many")
			switch {
			case err == nil && len(entries) != many:
				return fmt.Errorf("%d of %d entries, passed off as all", len(entries), many)
			case err != nil && len(entries) > 0:
				return fmt.Errorf("%d entries beside a refusal", len(entries))
			case err != nil:
				return refused("listing a huge directory", err, sandbox.ErrLimit)
			}
			return nil
		}},
		{Name: "an-empty-directory-is-an-empty-list", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			entries, err := s.List(ctx, "real")
			if err != nil || len(entries) != 1 {
				return otherwise(err, "a directory of one file listed %d entries", len(entries))
			}
			_, err = s.List(ctx, "never")
			return coded("listing nothing", err, sandbox.CodeFileNotFound)
		}},
	}}
}

// oddNames makes files whose names are not text. They are listed as they are, read
// only by those who can name them, and go with their directory.
func oddNames(ctx context.Context, s *Scene) error {
	names := []string{"odd-\xff\xfe", "odd-\xc3", "odd-\n-line", "odd-\x1b[31m", "odd-\u202e"}
	for _, name := range names {
		if _, err := s.run(ctx, sandbox.Command{Args: []string{"write", s.work + "/odd/" + name}, Stdin: strings.NewReader(name)}); err != nil {
			return notShown("making a file named %q: %v", name, err)
		}
	}
	entries, err := s.List(ctx, "odd")
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, e := range entries {
		listed[e.Path] = true
	}
	for _, name := range names {
		if !listed["odd/"+name] {
			return fmt.Errorf("a file named %q is not among %d entries", name, len(entries))
		}
	}
	if len(entries) != len(names) {
		return fmt.Errorf("%d entries of %d files", len(entries), len(names))
	}
	if !s.has(sandbox.CapabilityFilesDelete) {
		return nil
	}
	_, err = s.Stat(ctx, "odd")
	return errors.Join(err, s.Remove(ctx, "odd", true), s.absent(ctx, s.work+"/odd"))
}
