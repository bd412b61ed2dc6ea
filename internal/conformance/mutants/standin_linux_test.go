package mutants_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// standIn begins the name of a copy of this program that stands in for bubblewrap:
// what follows names how it changes the command line before it hands it on.
const standIn = "bwrap-"

// armed is the file beside a stand-in from whose making on it changes anything.
const armed = "armed"

// isStandIn reports whether this process was started to be bubblewrap. Its zeroth
// argument is the host's mark; its file's name tells.
func isStandIn() bool {
	path, err := os.Executable()
	return err == nil && strings.HasPrefix(filepath.Base(path), standIn)
}

// bubblewraps change a command line of bubblewrap, each in one way.
var bubblewraps = map[string]func(args []string) []string{
	"shared-network":   func(a []string) []string { return without(a, 0, "--unshare-net") },
	"shared-processes": func(a []string) []string { return without(without(a, 0, "--unshare-pid"), 0, "--as-pid-1") },
	"no-seccomp":       func(a []string) []string { return without(a, 1, "--seccomp") },
	"not-pid-1":        func(a []string) []string { return without(a, 0, "--as-pid-1") },
	"user-namespaces": func(a []string) []string {
		return without(without(without(a, 1, "--seccomp"), 0, "--disable-userns"), 0, "--assert-userns-disabled")
	},
	"whole-system": func(a []string) []string {
		return before(a, "--remount-ro", "--ro-bind", "/opt", "/opt", "--ro-bind", "/var", "/var")
	},
	"writable-dev": func(a []string) []string {
		a = dropPair(a, "--remount-ro", "/dev")
		for i := range len(a) - 5 {
			if a[i] == "--perms" && a[i+4] == "--tmpfs" && a[i+5] == "/dev" {
				a[i+1] = "0777"
			}
		}
		return a
	},
	"writable-root": func(a []string) []string { return dropPair(a, "--remount-ro", "/") },
	"shared-tmp":    func(a []string) []string { return before(a, "--remount-ro", "--bind", "/tmp", "/tmp") },
	"device": func(a []string) []string {
		return before(a, "--remount-ro", "--dev-bind", beside("extra"), "/dev/extra")
	},
	"shared-socket": func(a []string) []string {
		for i := range a {
			if i > 0 && a[i] == "/run/egress/proxy.sock" {
				a = slices.Clone(a)
				a[i-1] = string(firstOf("socket", []byte(a[i-1])))
			}
		}
		return a
	},
	"shared-trust": func(a []string) []string {
		for i := range a {
			if i > 0 && a[i] == "/run/egress/ca.pem" {
				a = slices.Clone(a)
				a[i-1] = handOver(firstOf("trust", taken(a[i-1])))
			}
		}
		return a
	},
	"capabilities": func(a []string) []string {
		return before(without(a, 1, "--cap-drop"), "--remount-ro", "--cap-add", "ALL")
	},
}

// beside is the path of a file in the stand-in's own directory.
func beside(name string) string {
	path, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(path), name)
}

// firstOf answers what the first sandbox was given of this kind.
func firstOf(kind string, given []byte) []byte {
	f, err := os.OpenFile(beside(kind), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err == nil {
		_, err = f.Write(given)
		_ = f.Close()
		if err == nil {
			return given
		}
	}
	if kept, err := os.ReadFile(beside(kind)); err == nil {
		return kept
	}
	return given
}

// taken is what a descriptor of this process holds.
func taken(descriptor string) []byte {
	fd, err := strconv.Atoi(descriptor)
	if err != nil {
		return nil
	}
	content, _ := io.ReadAll(os.NewFile(uintptr(fd), "given"))
	return content
}

// handOver makes a descriptor that holds content, for the program that this process
// becomes.
func handOver(content []byte) string {
	fd, err := unix.MemfdCreate("given", 0)
	if err != nil {
		return ""
	}
	_, _ = unix.Write(fd, content)
	_, _ = unix.Seek(fd, 0, io.SeekStart)
	return strconv.Itoa(fd)
}

// without takes an option and its values out.
func without(args []string, values int, option string) []string {
	if at := slices.Index(args, option); at >= 0 {
		return slices.Delete(slices.Clone(args), at, at+1+values)
	}
	return args
}

// dropPair takes an option with this value out.
func dropPair(args []string, option, value string) []string {
	for i := range len(args) - 1 {
		if args[i] == option && args[i+1] == value {
			return slices.Delete(slices.Clone(args), i, i+2)
		}
	}
	return args
}

// before puts options in front of another.
func before(args []string, option string, more ...string) []string {
	at := slices.Index(args, option)
	return slices.Insert(slices.Clone(args), max(at, 0), more...)
}

// actAsBubblewrap becomes bubblewrap with a changed command line.
func actAsBubblewrap() int {
	path, err := os.Executable()
	if err != nil {
		return 1
	}
	change := bubblewraps[strings.TrimPrefix(filepath.Base(path), standIn)]
	args := os.Args[1:]
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), armed)); err == nil && change != nil {
		args = change(args)
	}
	real, err := exec.LookPath("/usr/bin/bwrap")
	if err == nil {
		err = unix.Exec(real, append([]string{os.Args[0]}, args...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, strconv.Quote(fmt.Sprint(err)))
	return 1
}
