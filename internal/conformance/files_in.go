package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

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
				s.writeRefused(ctx, s.relative(s.outside+"/new.txt")), s.writeRefused(ctx, s.outside+"/new.txt"),
				s.absent(ctx, s.outside+"/new.txt"))
		}},
		{Name: "a-path-through-a-linked-parent-is-refused", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(
				s.writeRefused(ctx, "link-dir/new.txt"), s.writeRefused(ctx, "link-dir/new/deeper.txt"),
				s.absent(ctx, s.outside+"/new.txt"), s.absent(ctx, s.outside+"/new"))
		}},
		{Name: "a-linked-destination-is-refused-not-followed", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.writeRefused(ctx, "link-file"), s.survives(ctx, s.outside+"/secret.txt", secret))
		}},
		{Name: "the-work-directory-is-refused", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.writeRefused(ctx, "."), s.writeRefused(ctx, ""), s.survives(ctx, s.work+"/plain.txt", plainText))
		}},
		{Name: "a-backslash-is-refused", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.writeRefused(ctx, `..\escape.txt`), s.writeRefused(ctx, `a\b`))
		}},
		{Name: "a-linked-work-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := s.linkWorkDir(); err != nil {
				return err
			}
			return errors.Join(s.writeRefused(ctx, "new.txt"), s.absent(ctx, s.outside+"/new.txt"))
		}},
		{Name: "a-linked-ancestor-of-the-work-directory", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			return s.belowLink(ctx, func(below *Scene) error {
				return errors.Join(below.writeRefused(ctx, "new.txt"), s.absent(ctx, s.outside+"/sub/new.txt"))
			})
		}},
		{Name: "text-that-is-no-path-is-refused", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			var errs []error
			for _, path := range badPaths {
				errs = append(errs, s.writeRefused(ctx, path))
			}
			return errors.Join(errs...)
		}},
		{Name: "a-directory-is-not-replaced", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(refused("writing onto a directory", s.write(ctx, "real", "x"), sandbox.ErrOS),
				s.survives(ctx, s.work+"/real/inside.txt", insideText))
		}},
		{Name: "a-pipe-is-not-written-to", Layout: Links, Run: func(ctx context.Context, s *Scene) error {
			if err := s.guest.Mkfifo(s.work + "/pipe"); err != nil {
				return err
			}
			return refused("writing into a pipe", s.write(ctx, "pipe", "x"), sandbox.ErrOS)
		}},
		{Name: "content-that-ends-early-replaces-nothing", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			err := s.WriteFile(ctx, "plain.txt", strings.NewReader("cut"), 10)
			return errors.Join(refused("content of three bytes for ten", err, sandbox.ErrValue), s.survives(ctx, s.work+"/plain.txt", plainText))
		}},
		{Name: "content-that-fails-replaces-nothing", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			broken := errors.New("the source failed")
			err := s.WriteFile(ctx, "plain.txt", io.MultiReader(strings.NewReader(strings.Repeat("new", 100_000)), failing{broken}), 1<<20)
			if !errors.Is(err, broken) {
				return otherwise(err, "a source that failed was not what the write failed for")
			}
			return s.survives(ctx, s.work+"/plain.txt", plainText)
		}},
		{Name: "content-that-runs-over-replaces-nothing", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			err := s.WriteFile(ctx, "plain.txt", strings.NewReader("longer than said"), 3)
			return errors.Join(refused("sixteen bytes for three", err, sandbox.ErrValue), s.survives(ctx, s.work+"/plain.txt", plainText))
		}},
		{Name: "the-caps-of-the-spec-hold", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			limited := s.request
			limited.Spec.FilesIn = &sandbox.TransferLimits{MaxBytesPerFile: 10, MaxTotalBytes: 15, MaxFiles: 2}
			again, err := s.subject.Backend.Acquire(ctx, limited)
			if err != nil {
				return err
			}
			write := func(path string, n int) error {
				return again.Session.WriteFile(ctx, path, strings.NewReader(strings.Repeat("x", n)), int64(n))
			}
			return errors.Join(
				refused("a file over its cap", write("over", 11), sandbox.ErrLimit), write("whole", 10),
				refused("more than all may have", write("more", 6), sandbox.ErrLimit), write("rest", 5),
				refused("one file too many", write("third", 0), sandbox.ErrLimit),
				s.absent(ctx, s.work+"/over"), s.absent(ctx, s.work+"/more"), s.absent(ctx, s.work+"/third"))
		}},
		{Name: "nothing-half-made-is-left-beside", Layout: Files, Needs: []sandbox.Capability{sandbox.CapabilityFilesList}, Run: func(ctx context.Context, s *Scene) error {
			if err := s.mustWrite(ctx, "beside/whole", "x"); err != nil {
				return err
			}
			for _, size := range []int64{0, 1, 5} {
				if err := s.WriteFile(ctx, "beside/broken", io.MultiReader(strings.NewReader("abc"), failing{io.ErrNoProgress}), size); err == nil {
					return fmt.Errorf("three bytes and a failure were taken for %d", size)
				}
			}
			entries, err := s.List(ctx, "beside")
			if err == nil && len(entries) != 1 {
				err = fmt.Errorf("failed writes left %d entries beside one file", len(entries)-1)
			}
			return err
		}},
		{Name: "a-program-can-use-what-was-written", Needs: exec, Run: func(ctx context.Context, s *Scene) error {
			data := everyByte()
			if err := s.WriteFile(ctx, "given.bin", bytes.NewReader(data), int64(len(data))); err != nil {
				return err
			}
			got, err := s.do(ctx, "read", s.work+"/given.bin")
			if err != nil {
				return err
			}
			return same("reading it from within", got, data)
		}},
		{Name: "a-file-in-the-way-of-a-parent", Layout: Files, Run: func(ctx context.Context, s *Scene) error {
			err := s.write(ctx, "plain.txt/below.txt", "x")
			return errors.Join(refused("a write below a file", err, sandbox.ErrOS), s.survives(ctx, s.work+"/plain.txt", plainText))
		}},
	}}
}

// failing is a source that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
