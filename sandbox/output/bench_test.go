package output_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// BenchmarkLanding lands one large file and many small ones, with and without waiting
// for the disk, each beside io.Copy into plain files that does the same.
func BenchmarkLanding(b *testing.B) {
	for _, load := range []struct {
		name  string
		files int
		each  int
	}{{"100 MiB in one", 1, 100 << 20}, {"1000 of 1 KiB", 1000, 1 << 10}} {
		content := bytes.Repeat([]byte("x"), load.each)
		for name, sync := range map[string]bool{"synced": true, "unsynced": false} {
			b.Run(load.name+"/"+name+"/io.Copy", func(b *testing.B) {
				b.SetBytes(int64(load.files * load.each))
				b.ReportAllocs()
				for range b.N {
					copyPlain(b, content, load.files, sync)
				}
			})
			b.Run(load.name+"/"+name+"/DirSink", func(b *testing.B) {
				b.SetBytes(int64(load.files * load.each))
				b.ReportAllocs()
				for range b.N {
					landAll(b, content, load.files, sync)
				}
			})
		}
	}
}

// onlyReader hides what io.Copy could do without a buffer.
type onlyReader struct{ io.Reader }

func copyPlain(b *testing.B, content []byte, files int, sync bool) {
	b.Helper()
	dir := b.TempDir()
	for i := range files {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint("f", i)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(f, onlyReader{bytes.NewReader(content)}); err != nil {
			b.Fatal(err)
		}
		if sync {
			err = f.Sync()
		}
		if closeErr := f.Close(); err != nil || closeErr != nil {
			b.Fatal(err, closeErr)
		}
	}
	forget(b, dir)
}

func landAll(b *testing.B, content []byte, files int, sync bool) {
	b.Helper()
	dir := b.TempDir()
	sink, err := output.NewDirSink(dir, output.DirOptions{SkipSync: !sync})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	ctx := context.Background()
	d, err := sink.Begin(ctx, output.Origin{Owner: "o", Key: sandbox.Key{Scope: "s"}})
	if err != nil {
		b.Fatal(err)
	}
	artifacts := make([]output.Artifact, files)
	for i := range artifacts {
		artifacts[i] = output.Artifact{Name: fmt.Sprint("f", i), Size: int64(len(content))}
	}
	if planner, ok := d.(output.Planner); ok {
		if err := planner.Plan(ctx, artifacts); err != nil {
			b.Fatal(err)
		}
	}
	for _, a := range artifacts {
		if _, err := d.Stage(ctx, a, onlyReader{bytes.NewReader(content)}); err != nil {
			b.Fatal(err)
		}
	}
	if err := d.Commit(ctx); err != nil {
		b.Fatal(err)
	}
	if err := d.Abort(); err != nil {
		b.Fatal(err)
	}
	forget(b, dir)
}

// forget removes what was written, outside of what is measured.
func forget(b *testing.B, dir string) {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	if err := os.RemoveAll(dir); err != nil {
		b.Fatal(err)
	}
}
