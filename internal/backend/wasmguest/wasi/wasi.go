// Package wasi is the whole outside world of a wasm guest: WASI preview 1 as far
// as interpreters use it, over an in-memory file system, and nothing of the
// host's. There is no network, no environment, no process but its own, and no
// call that waits without watching its context.
//
// It exists because the engine's own WASI layer cannot be interrupted in a sleep
// or a read, knows no full disk, and copies paths of any length.
//
// Read [Process] for what a guest is given and [Instantiate] for the functions.
// A run is: put a process into the context with [Process.Bind], call _start,
// then [Process.Close].
//
// Names and numbers are those of
// https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md.
package wasi

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
)

// Process is what one run of a guest is given. All fields but Stdin are
// required. A process is used for one run and not shared.
type Process struct {
	// Args is the program's name and its arguments, none with a NUL.
	Args []string
	// Source is what the sandbox module's source function answers.
	Source []byte
	// MemoryLimit is what the sandbox module's memory_limit function answers, in
	// bytes.
	MemoryLimit uint32
	// Mounts are the directories that the guest finds, first one first.
	Mounts []Mount
	// Stdin may be nil for an empty input. A read that is still under way when
	// the run ends is not waited for: it ends when the reader returns.
	Stdin io.Reader
	// Stdout and Stderr take what the guest prints. One that fails ends the run.
	Stdout, Stderr io.Writer
	// Now is the wall clock, Rand the source of randomness.
	Now  func() time.Time
	Rand io.Reader

	started time.Time
	input   *input
	fds     []*descriptor
	failure error
}

// Mount is a directory under the name that the guest sees.
type Mount struct {
	Name string
	Dir  memfs.Dir
}

// exitInterrupted is the status a run is ended with from the host's side. Why is
// answered by [Process.Err], never by a status, which a guest can forge.
const exitInterrupted = 0xfffffffe

type processKey struct{}

// Bind prepares the process and gives the context to call the guest with.
func (p *Process) Bind(ctx context.Context) context.Context {
	p.started = time.Now()
	p.input = &input{from: p.Stdin}
	p.fds = []*descriptor{
		{stream: streamIn}, {stream: streamOut, to: p.Stdout}, {stream: streamErr, to: p.Stderr},
	}
	for _, m := range p.Mounts {
		p.fds = append(p.fds, &descriptor{dir: m.Dir, isDir: true, mount: m.Name})
	}
	return context.WithValue(ctx, processKey{}, p)
}

// Err is why the host ended the run: the context's error, or that of a writer or
// of the random source. It is nil when the guest ended by itself.
func (p *Process) Err() error { return p.failure }

// Close closes every file that the guest left open.
func (p *Process) Close() error {
	var errs []error
	for _, d := range p.fds {
		if d != nil && d.file != nil {
			errs = append(errs, d.file.Close())
		}
	}
	p.fds = nil
	p.input.close()
	return errors.Join(errs...)
}

// end stops the guest from inside a host call. The engine's contract for that is
// a panic with an exit error, which it recovers itself.
func (p *Process) end(reason error) {
	if p.failure == nil {
		p.failure = reason
	}
	panic(sys.NewExitError(exitInterrupted)) //nolint:forbidigo // how a host function ends its guest; the engine recovers it
}

// check ends the guest if its time is up.
func (p *Process) check(ctx context.Context) {
	if ctx.Err() != nil {
		p.end(context.Cause(ctx))
	}
}

// wait pauses the guest for d, or ends it with its context.
func (p *Process) wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		p.check(ctx)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		p.end(context.Cause(ctx))
	}
}
