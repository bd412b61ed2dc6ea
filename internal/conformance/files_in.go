package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	stdpath "path"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func base(path string) string { return stdpath.Base(path) }

// everyByte is 0 to 255, then text that is hard on anything that decodes: several
// bytes a character, a replacement character, CR LF, an unfinished sequence.
func everyByte() []byte {
	var b bytes.Buffer
	for i := range 256 {
		b.WriteByte(byte(i))
	}
	b.WriteString("\u00fc\u6f22\U0001f600\ufffd\r\n\xe2\x82")
	return b.Bytes()
}

func filesIn() Suite {
	out := []sandbox.Capability{sandbox.CapabilityFilesOut}
	return Suite{Name: "FILES_IN", Gate: sandbox.CapabilityFilesIn, Probes: []Probe{
		{Name: "bytes-survive-the-round-trip", Needs: out, Run: func(ctx context.Context, s *Scene) error {
			data := everyByte()
			if err := s.WriteFile(ctx, "binary.bin", bytes.NewReader(data), int64(len(data))); err != nil {
				return err
			}
			return s.holds(ctx, "binary.bin", data)
		}},
		{Name: "an-empty-file-is-a-file", Needs: out, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.mustWrite(ctx, "empty", ""), s.holds(ctx, "empty", nil))
		}},
		{Name: "a-second-write-replaces", Needs: out, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(
				s.mustWrite(ctx, "twice.txt", "the first and longer one"), s.mustWrite(ctx, "twice.txt", "second"),
				s.holds(ctx, "twice.txt", []byte("second")))
		}},
		{Name: "parents-are-created", Needs: out, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.mustWrite(ctx, "a/b/c/d.txt", "deep"), s.holds(ctx, "a/b/c/d.txt", []byte("deep")))
		}},
		{Name: "content-of-another-size-replaces-nothing", Needs: out, Run: func(ctx context.Context, s *Scene) error {
			if err := s.mustWrite(ctx, "kept.txt", "kept"); err != nil {
				return err
			}
			for _, said := range []int64{2, 20} {
				err := s.WriteFile(ctx, "kept.txt", strings.NewReader("another"), said)
				if err := refused(fmt.Sprintf("7 bytes said to be %d", said), err, sandbox.ErrValue); err != nil {
					return err
				}
			}
			return s.holds(ctx, "kept.txt", []byte("kept"))
		}},
		{Name: "a-path-outside-is-refused", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(
				writeRefused(ctx, s, "../"+base(s.outside)+"/new.txt"), writeRefused(ctx, s, s.outside+"/new.txt"),
				s.absent(ctx, s.outside+"/new.txt"))
		}},
		{Name: "a-path-through-a-linked-parent-is-refused", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(
				writeRefused(ctx, s, "link-dir/new.txt"), writeRefused(ctx, s, "link-dir/new/deeper.txt"),
				s.absent(ctx, s.outside+"/new.txt"), s.absent(ctx, s.outside+"/new"))
		}},
		{Name: "a-linked-destination-is-refused-not-followed", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(writeRefused(ctx, s, "link-file"), s.survives(ctx, s.outside+"/secret.txt", secret))
		}},
		{Name: "the-work-directory-is-refused", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(writeRefused(ctx, s, "."), writeRefused(ctx, s, ""), s.survives(ctx, s.work+"/plain.txt", plainText))
		}},
		{Name: "a-backslash-is-refused", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(writeRefused(ctx, s, `..\escape.txt`), writeRefused(ctx, s, `a\b`))
		}},
		{Name: "a-linked-work-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := linkWorkDir(s); err != nil {
				return err
			}
			return errors.Join(writeRefused(ctx, s, "new.txt"), s.absent(ctx, s.outside+"/new.txt"))
		}},
		{Name: "a-file-in-the-way-of-a-parent", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			err := s.write(ctx, "plain.txt/below.txt", "x")
			return errors.Join(refused("a write below a file", err, sandbox.ErrOS), s.survives(ctx, s.work+"/plain.txt", plainText))
		}},
	}}
}

func writeRefused(ctx context.Context, s *Scene, path string) error {
	return refused("writing "+path, s.write(ctx, path, "must not land"), sandbox.ErrValue)
}
