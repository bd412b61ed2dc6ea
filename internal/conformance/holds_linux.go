package conformance

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MachineHolds lists, for [Subject].Left, what this machine holds under a mark with
// which a backend begins the names of what it makes: control groups with the
// processes in them, processes by their zeroth argument, and mounts. Others on this
// machine may be using the same backend: what is listed is of those names alone
// under which a process has been seen that descends from this one.
func MachineHolds(mark string) func(context.Context) ([]string, error) {
	h := holdings{mark: mark, own: map[string]bool{}}
	return h.list
}

type holdings struct {
	mark string
	own  map[string]bool // names that were seen to be this process's
}

// thing is one found; name is the one in it that begins with the mark.
type thing struct{ what, name string }

func (h *holdings) list(ctx context.Context) ([]string, error) {
	things, err := h.groups(ctx)
	if err != nil {
		return nil, err
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	for _, path := range lines {
		command, _ := os.ReadFile(path) // gone while it was looked at
		if first, _, _ := strings.Cut(string(command), "\x00"); strings.HasPrefix(first, h.mark) {
			pid := filepath.Base(filepath.Dir(path))
			h.claim(first, pid)
			things = append(things, thing{"process " + pid, first})
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if name := h.named(line); name != "" {
			things = append(things, thing{"mount " + strings.TrimSpace(line), name})
		}
	}
	var found []string
	for _, t := range things {
		if h.own[t.name] {
			found = append(found, t.what)
		}
	}
	return found, err
}

func (h *holdings) groups(ctx context.Context) ([]thing, error) {
	var things []thing
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		name := h.named(path)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil // gone while it was looked at, or somebody else's
		case err != nil || ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case !entry.IsDir() || name == "":
			return nil
		}
		things = append(things, thing{"group " + path, name})
		members, _ := os.ReadFile(filepath.Join(path, "cgroup.procs")) //nolint:gosec // a path of the kernel's; gone with the group
		for pid := range strings.FieldsSeq(string(members)) {
			h.claim(name, pid)
			things = append(things, thing{"process " + pid + " in " + path, name})
		}
		return nil
	})
	return things, err
}

// named is the first part of a path or a line that begins with the mark.
func (h *holdings) named(text string) string {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == ' ' }) {
		if strings.HasPrefix(part, h.mark) {
			return part
		}
	}
	return ""
}

// claim remembers a name as this process's own if the process descends from it.
func (h *holdings) claim(name, pid string) {
	for range 64 { // deeper than any sandbox
		if pid == strconv.Itoa(os.Getpid()) {
			h.own[name] = true
			return
		}
		status, err := os.ReadFile("/proc/" + pid + "/status")
		_, rest, ok := strings.Cut(string(status), "\nPPid:\t")
		if err != nil || !ok {
			return
		}
		pid, _, _ = strings.Cut(rest, "\n")
	}
}
