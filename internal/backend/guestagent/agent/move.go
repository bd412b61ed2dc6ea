//go:build linux

package agent

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/serve"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// Whole file systems move as tar archives. What is in one is taken apart here, in
// the guest and with its own reach, so that a hostile one can do no more than the
// guest could; a host that unpacked it would have to be right about every name.

// sameFileSystem is how paths are resolved in the one file system that moves: no
// other that is mounted in it, /proc and what is shown of the host among them.
const sameFileSystem = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// move packs or unpacks. It can be long, so it has a thread of the removals'.
func (a *Agent) move(c *serve.Call, t wire.Tree) error {
	if a.tree.walks {
		return unix.ENOSYS
	}
	select {
	case a.removals <- struct{}{}:
	case <-c.Cancelled():
		return errCancelled
	}
	defer func() { <-a.removals }()
	if c.Op == wire.OpUnpack {
		if err := c.Accept(); err != nil {
			return err
		}
		return unpack(a.tree.root, &callReader{call: c})
	}
	if err := c.Open(wire.StreamOut, t.Window); err != nil {
		return err
	}
	return pack(a.tree.root, &callWriter{call: c})
}

// callReader reads what the host streams to a call.
type callReader struct {
	call *serve.Call
}

func (r *callReader) Read(p []byte) (int, error) {
	part, err := r.call.Next(r.call.Cancelled())
	switch {
	case errors.Is(err, io.EOF):
		return 0, io.EOF
	case err != nil:
		return 0, errCancelled
	}
	n := copy(p, part)
	return n, r.call.Took(n)
}

// callWriter streams to the host.
type callWriter struct{ call *serve.Call }

func (w *callWriter) Write(p []byte) (int, error) {
	if err := sendAll(w.call, p); err != nil {
		return 0, err
	}
	return len(p), nil
}
