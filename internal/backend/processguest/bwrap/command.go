// Package bwrap writes command lines for bubblewrap, the one program that builds
// the namespaces, and reads what it says of itself. It runs nothing.
//
// Read [Command] first.
package bwrap

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
)

// Command is one sandbox to be. Every zero value refuses or shares nothing.
type Command struct {
	// View is the file system.
	View view.View
	// Program is where process 1 stands in the sandbox and all of its command
	// line; ProgramFD holds its content, which is copied, or with Options that can
	// is a file to mount. Dir is its working directory.
	Program   string
	ProgramFD uintptr
	Dir       string
	// Options is what the installed bubblewrap has.
	Options Options
	// Filter is the descriptor of the seccomp filter, Info the one that bubblewrap
	// says on which processes it made.
	Filter, Info uintptr
	// Content and Open open a descriptor for a new file's content, or for a file
	// of the host, and answer its number in the child.
	Content func(content []byte) (uintptr, error)
	Open    func(path string) (uintptr, error)
	// Root gives the guest a root of its own; nil leaves it one user without any
	// capability.
	Root *Root
}

// Arguments are the whole command line after the program's name. It holds paths
// and numbers, and nothing secret: other users of the machine can read it.
func (c Command) Arguments() ([]string, error) {
	if c.Program == "" || c.ProgramFD == 0 || c.Content == nil || c.Open == nil || c.Filter == 0 || len(c.View) == 0 {
		return nil, errors.New("a sandbox without a program, a view or a seccomp filter is not started")
	}
	identity, err := c.identity()
	if err != nil {
		return nil, err
	}
	args := append([]string{
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup",
		"--hostname", view.Hostname,
		"--as-pid-1", "--new-session", "--die-with-parent", "--cap-drop", "ALL", "--clearenv",
	}, identity...)
	var seal []string
	for _, e := range c.View {
		more, err := c.entry(e)
		if err != nil {
			return nil, err
		}
		args = append(args, more...)
		if e.Sealed {
			seal = append(seal, "--remount-ro", e.Path)
		}
	}
	args = append(args, seal...)
	if c.Options.BindDescriptors {
		args = append(args, "--ro-bind-fd", fd(c.ProgramFD), c.Program)
	} else {
		args = append(args, file(0o555, c.ProgramFD, c.Program)...)
	}
	if c.Root == nil {
		args = append(args, "--remount-ro", "/")
	}
	args = append(args, "--chdir", c.Dir, "--seccomp", fd(c.Filter))
	if c.Info != 0 {
		args = append(args, "--info-fd", fd(c.Info))
	}
	return append(args, "--", c.Program), nil
}

// entry puts one thing in its place.
func (c Command) entry(e view.Entry) ([]string, error) {
	switch e.Kind {
	case view.Show, view.ShowSocket:
		return []string{"--ro-bind", e.Source, e.Path}, nil
	case view.ShowDevice:
		return []string{"--dev-bind", e.Source, e.Path}, nil
	case view.Link:
		return []string{"--symlink", e.Source, e.Path}, nil
	case view.Directory:
		return []string{"--perms", "0755", "--dir", e.Path}, nil
	case view.Processes:
		return []string{"--proc", e.Path}, nil
	case view.File:
		n, err := c.Content(e.Content)
		if err != nil {
			return nil, fmt.Errorf("hand over a new file of the sandbox: %w", err)
		}
		return file(e.Mode, n, e.Path), nil
	case view.Copy:
		n, err := c.Open(e.Source)
		if err != nil {
			return nil, fmt.Errorf("hand over a file of the host: %w", err)
		}
		return file(e.Mode, n, e.Path), nil
	case view.Memory:
		if e.Bytes <= 0 {
			return nil, errors.New("a file system in memory without bounds is not made")
		}
		perms := "0700"
		switch {
		case e.Sealed:
			perms = "0555"
		case e.Shared:
			perms = "1777"
		}
		return []string{"--perms", perms, "--size", strconv.FormatInt(e.Bytes, 10), "--tmpfs", e.Path}, nil
	}
	return nil, errors.New("an entry of no known kind in a sandbox's view")
}

// file makes a new file in the sandbox's root, which nobody can write to once it
// is sealed: a mount of its own would cost ten times as much.
func file(mode uint32, content uintptr, path string) []string {
	return []string{"--perms", fmt.Sprintf("%04o", mode), "--file", fd(content), path}
}

func fd(n uintptr) string { return strconv.FormatUint(uint64(n), 10) }

// Lookup answers the descriptor's own path, through which a process that
// inherits it reads from the start.
func Lookup(f *os.File) string { return "/proc/self/fd/" + fd(f.Fd()) }
