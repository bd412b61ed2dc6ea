package guestagent_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Each measure has its peer beside it: what the host itself does without an agent.

func BenchmarkExec(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			cmd := exec.CommandContext(b.Context(), "/bin/true")
			cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, as := range principals() {
		b.Run("agent as "+as.name, func(b *testing.B) {
			box := start(b, as, guestagent.Options{})
			b.ReportAllocs()
			for b.Loop() {
				code, err := box.Exec(b.Context(), engine.ExecRequest{
					Args: []string{"/bin/true"}, Dir: "/", Env: []string{path}, Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{},
				})
				if code != 0 || err != nil {
					b.Fatal(code, err)
				}
			}
		})
	}
	b.Run("agent, with input and output", func(b *testing.B) {
		box := start(b, asFirst(), guestagent.Options{})
		for b.Loop() {
			if r := box.run(b.Context(), bytes.NewReader([]byte("x")), "/bin/cat"); r.err != nil || r.stdout != "x" {
				b.Fatal(r)
			}
		}
	})
}

func BenchmarkStat(b *testing.B) {
	box := start(b, asFirst(), guestagent.Options{})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.Lstat(box.dir); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("agent", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := box.Stat(b.Context(), box.ref("")); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// ramDir is in memory, so that the disk is not what is measured.
func ramDir(b *testing.B, uid int) string {
	b.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "guestagent") //nolint:usetesting // it is to be in memory
	if err != nil {
		b.Skip("no file system in memory:", err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chown(dir, uid, uid); err != nil {
		b.Skip("only root can give it away:", err)
	}
	return dir
}

func BenchmarkTransfer(b *testing.B) {
	box := start(b, asFirst(), guestagent.Options{})
	dir := ramDir(b, nobody)
	ref := engine.FileRef{Root: dir, Path: filepath.Join(dir, "file"), Access: guestagent.Access()}
	for _, size := range []int64{1 << 20, 100 << 20} {
		data := make([]byte, size)
		name := fmt.Sprintf("%d MiB", size>>20)
		b.Run(name+" in, plain copy", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				if err := os.WriteFile(filepath.Join(dir, "plain"), data, 0o600); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+" in", func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if err := box.Write(b.Context(), ref, bytes.NewReader(data), size); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+" out, plain copy", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				f, err := os.Open(ref.Path)
				if err != nil {
					b.Fatal(err)
				}
				drain(b, f, size)
			}
		})
		b.Run(name+" out", func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				r, _, err := box.Open(b.Context(), ref)
				if err != nil {
					b.Fatal(err)
				}
				drain(b, r, size)
			}
		})
		b.Run(name+" of program output, plain pipe", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				var n counter
				cmd := exec.CommandContext(b.Context(), "/usr/bin/head", "-c", fmt.Sprint(size), "/dev/zero")
				cmd.Stdout = &n
				if err := cmd.Run(); err != nil || int64(n) != size {
					b.Fatal(err, n)
				}
			}
		})
		b.Run(name+" of program output", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				var n counter
				if code, err := box.Exec(context.Background(), engine.ExecRequest{
					Args: []string{"/usr/bin/head", "-c", fmt.Sprint(size), "/dev/zero"}, Dir: "/", Stdout: &n,
				}); code != 0 || err != nil || int64(n) != size {
					b.Fatal(code, err, n)
				}
			}
		})
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

var drainBuffer = make([]byte, 256<<10)

func drain(b *testing.B, r io.ReadCloser, size int64) {
	b.Helper()
	defer r.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, drainBuffer)
	if n != size || err != nil {
		b.Fatal(n, err)
	}
}
