// Package view says what a sandbox sees of a file system: an allowlist of what
// is shown of the host, and what is made new for it. It looks at the host to
// learn what is there; it mounts nothing and promises nothing about what a
// launcher makes of it.
//
// What is not named here does not exist in the sandbox: no home, no /run, no
// /var, no /tmp of the host, no /sys, no /opt. Read [View] first, then host.go
// for the allowlist.
package view

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// View is what a sandbox sees, in the order in which it is put together.
type View []Entry

// Entry is one thing at one place. Exactly what its Kind needs is set.
type Entry struct {
	Kind Kind
	// Path is where it stands in the sandbox, absolute and clean.
	Path string
	// Source is what is shown of the host, for Show, Copy, ShowDevice and ShowSocket;
	// for Link it is what the link says.
	Source string
	// Content and Mode are a new read-only file's; Copy has its mode alone.
	Content []byte
	Mode    uint32
	// Bytes bounds a new file system, which is of the sandbox's user alone. Sealed
	// makes it read-only once everything stands in it.
	Bytes  int64
	Sealed bool
	// Shared lets every user of the guest write to it, as to /tmp.
	Shared bool
}

// Kind is what an [Entry] is. The zero value is nothing and is refused by
// launchers.
type Kind uint8

const (
	// Show: a file or directory of the host, read-only.
	Show Kind = iota + 1
	// Copy: a file of the host, copied as the sandbox is made.
	Copy
	// ShowDevice: a device of the host.
	ShowDevice
	// ShowSocket: the one Unix socket through which a sandbox may speak to its
	// proxy.
	ShowSocket
	// Link: a symbolic link.
	Link
	// File: a new read-only file with this content.
	File
	// Memory: a new file system in memory, writable unless sealed.
	Memory
	// Processes: the sandbox's own /proc.
	Processes
	// Directory: a new directory, for everybody to enter.
	Directory
)

// The sandbox's only user, as its programs see it.
const (
	UID  = 1000
	GID  = 1000
	User = "sandbox"
)

// Agent is where process 1 is started from.
const Agent = "/run/agent"

// Hostname is what every sandbox calls itself.
const Hostname = "sandbox"

// Sizes are the bounds of what a sandbox may write.
type Sizes struct {
	// WorkBytes, TmpBytes and SharedBytes bound the work directory, /tmp and
	// /dev/shm. How many files are in them is bounded by the sandbox's memory, to
	// which the kernel counts each.
	WorkBytes, TmpBytes, SharedBytes int64
}

// Total is the most that can be written to all of them.
func (s Sizes) Total() int64 { return s.WorkBytes + s.TmpBytes + s.SharedBytes }

// Make puts a view together: base, which is what is shown of the host or of a
// root file system, then what every sandbox has new. A work directory that would
// cover or enter something of it is a [*sandbox.Refusal].
func Make(base View, workDir string, sizes Sizes) (View, error) {
	v := slices.Clone(base)
	v = append(v, account(workDir)...)
	v = append(v, Entry{Kind: Processes, Path: "/proc"})
	v = append(v, maskedProc()...)
	v = append(v, devices()...)
	v = append(v,
		Entry{Kind: Memory, Path: "/dev/shm", Bytes: sizes.SharedBytes},
		Entry{Kind: Memory, Path: "/tmp", Bytes: sizes.TmpBytes},
	)
	if err := v.admits(workDir); err != nil {
		return nil, err
	}
	return append(v, Entry{Kind: Memory, Path: workDir, Bytes: sizes.WorkBytes}), nil
}

// admits refuses a work directory at, above or in anything but /tmp.
func (v View) admits(workDir string) error {
	ok := path.IsAbs(workDir) && path.Clean(workDir) == workDir && workDir != "/"
	for _, e := range append(slices.Clone(v), Entry{Path: Agent}) {
		inTmp := e.Path == "/tmp" && strings.HasPrefix(workDir, "/tmp/")
		ok = ok && (inTmp || !Within(workDir, e.Path) && !Within(e.Path, workDir))
	}
	if ok {
		return nil
	}
	return sandbox.Finding{
		Code: sandbox.CodePathInvalid, Path: sandbox.Path("work_dir"), Found: sandbox.Echo(workDir),
		Required: "an absolute directory that the sandbox does not have yet",
		Remedy:   "leave work_dir out, or name one such as /work",
	}.Refusal(nil)
}

// Within reports whether an absolute clean path is dir or lies below it.
func Within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// account are the files that name the sandbox's user.
func account(workDir string) View {
	id := strconv.Itoa(UID) + ":" + strconv.Itoa(GID)
	file := func(path, content string) Entry {
		return Entry{Kind: File, Path: path, Content: []byte(content), Mode: 0o444}
	}
	return View{
		file("/etc/passwd", User+":x:"+id+"::"+workDir+":/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n"),
		file("/etc/group", User+":x:"+strconv.Itoa(GID)+":\nnogroup:x:65534:\n"),
		file("/etc/hosts", "127.0.0.1 localhost "+Hostname+"\n::1 localhost\n"),
		file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
	}
}

// devices are all that a sandbox has: nothing that stores or that people type at.
// There are no pseudo-terminals, whose number is one for all sandboxes of a
// machine.
func devices() View {
	v := View{{Kind: Memory, Path: "/dev", Bytes: 64 << 10, Sealed: true}}
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		v = append(v, Entry{Kind: ShowDevice, Path: "/dev/" + name, Source: "/dev/" + name})
	}
	return append(v,
		Entry{Kind: Link, Path: "/dev/fd", Source: "/proc/self/fd"},
		Entry{Kind: Link, Path: "/dev/stdin", Source: "/proc/self/fd/0"},
		Entry{Kind: Link, Path: "/dev/stdout", Source: "/proc/self/fd/1"},
		Entry{Kind: Link, Path: "/dev/stderr", Source: "/proc/self/fd/2"})
}
