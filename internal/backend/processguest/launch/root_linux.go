package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/bwrap"
)

// Root is a guest's own root, and the users there are beside it.
type Root struct {
	// Bytes bounds its root file system.
	Bytes int64
	// Users and Groups are all that the guest has, each by its number there and on
	// the host; its root is among them. With none, the one that the sandbox is
	// started as is its root, and there is nobody else.
	Users, Groups []ID
}

// ID is one user or group, in the guest and on the host.
type ID struct{ Guest, Host uint32 }

// gate holds bubblewrap back until the users of its namespace are mapped.
type gate struct {
	open   *os.File
	number uintptr // of the other end, in the child
}

// gate is nil for a guest whose only user bubblewrap maps.
func (r *Root) gate(child *descriptors) (*gate, error) {
	if r == nil || len(r.Users) == 0 {
		return nil, nil //nolint:nilnil // nothing to wait for
	}
	wait, open, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the pipe to hold bubblewrap: %w", err)
	}
	return &gate{open, child.add(wait)}, nil
}

func (g *gate) close() {
	if g != nil {
		_ = g.open.Close()
	}
}

func (r *Root) command(g *gate) *bwrap.Root {
	if r == nil {
		return nil
	}
	root := &bwrap.Root{Bytes: r.Bytes}
	if g != nil {
		root.Mapped = g.number
	}
	return root
}

// begin takes hold of process 1, and lets it go on once its users are mapped.
func (s *Sandbox) begin(ctx context.Context, info *os.File, root *Root, g *gate) error {
	if err := s.attach(ctx, info); err != nil || g == nil {
		return err
	}
	// The process is held and waits, so that its number is its own.
	for name, ids := range map[string][]ID{"uid_map": root.Users, "gid_map": root.Groups} {
		if err := os.WriteFile("/proc/"+strconv.Itoa(s.PID)+"/"+name, []byte(lines(ids)), 0); err != nil {
			return errors.Join(fmt.Errorf("map the users of a sandbox: %w", err), kill(s.pidfd))
		}
	}
	if _, err := g.open.Write([]byte{1}); err != nil {
		return errors.Join(fmt.Errorf("let a sandbox begin: %w", err), kill(s.pidfd))
	}
	return nil
}

// lines are ids as the kernel reads them: each a range of one.
func lines(ids []ID) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "%d %d 1\n", id.Guest, id.Host)
	}
	return b.String()
}
