package backend_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// benchEngine is a layer over an engine in memory, and a request without limits:
// what the layer costs is the difference to the bare engine in the same run.
func benchEngine(b *testing.B) (*sandboxtest.Engine, *backend.Backend, sandbox.AcquireRequest) {
	b.Helper()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	req := request(e)
	req.Spec.FilesIn = &sandbox.TransferLimits{
		MaxBytesPerFile: sandbox.MaxDocumentInteger, MaxTotalBytes: sandbox.MaxDocumentInteger, MaxFiles: sandbox.MaxDocumentInteger,
	}
	return e, sandboxtest.Backend(b, e), req
}

func BenchmarkWarmAcquire(b *testing.B) {
	e, layer, req := benchEngine(b)
	if _, err := layer.Acquire(b.Context(), req); err != nil {
		b.Fatal(err)
	}
	name := e.Requests()[0].Name
	b.Run("layer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := layer.Acquire(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("engine", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := e.Start(b.Context(), engine.StartRequest{Name: name}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkTransfer1MiB(b *testing.B) {
	e, layer, req := benchEngine(b)
	acquired, err := layer.Acquire(b.Context(), req)
	if err != nil {
		b.Fatal(err)
	}
	started, err := e.Start(b.Context(), engine.StartRequest{Name: e.Requests()[0].Name})
	if err != nil {
		b.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	ref := engine.FileRef{Root: work, Path: work + "/f", Access: guestBeneath[0]}
	b.Run("layer", func(b *testing.B) {
		b.SetBytes(2 << 20)
		for b.Loop() {
			if err := acquired.Session.WriteFile(b.Context(), "f", bytes.NewReader(content), 1<<20); err != nil {
				b.Fatal(err)
			}
			r, _, err := acquired.Session.Open(b.Context(), "f", 1<<20)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				b.Fatal(err)
			}
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("engine", func(b *testing.B) {
		b.SetBytes(2 << 20)
		for b.Loop() {
			if err := started.Guest.Write(b.Context(), ref, bytes.NewReader(content), 1<<20); err != nil {
				b.Fatal(err)
			}
			r, _, err := started.Guest.Open(b.Context(), ref)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				b.Fatal(err)
			}
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
