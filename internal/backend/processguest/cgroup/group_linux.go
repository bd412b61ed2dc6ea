package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Host is the group of one host, in which its sandboxes have theirs.
type Host struct {
	place Place
	name  string
}

// Host names a host's own group; nothing is made before [Host.Make], so that its
// directories can be noted first.
func (p Place) Host(id string) *Host { return &Host{p, prefix + id} }

// prefix begins the name of every directory that this package makes for a host;
// Reap removes nothing else.
const prefix = "sandbox-host-"

// Directories are the host's, whether or not they are there.
func (h *Host) Directories() []string {
	var dirs []string
	for _, d := range h.place.directories() {
		dirs = append(dirs, filepath.Join(d.path, h.name))
	}
	return dirs
}

// Make makes the host's group.
func (h *Host) Make() error {
	for _, dir := range h.Directories() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("make the host's cgroup: %w", err)
		}
	}
	if h.place.Unified != "" {
		return enable(filepath.Join(h.place.Unified, h.name))
	}
	return nil
}

// Remove ends everything in the host's group and removes it.
func (h *Host) Remove(ctx context.Context) error { return Reap(ctx, h.Directories()) }

// directory is one hierarchy's part of a place; controllers is empty for
// version 2.
type directory struct {
	path        string
	controllers []string
}

// directories lists each directory once, however many controllers it has.
func (p Place) directories() []directory {
	if p.Unified != "" {
		return []directory{{path: p.Unified}}
	}
	var dirs []directory
next:
	for _, controller := range []string{memory, pids, cpu} {
		path, ok := p.Legacy[controller]
		if !ok {
			continue
		}
		for i := range dirs {
			if dirs[i].path == path {
				dirs[i].controllers = append(dirs[i].controllers, controller)
				continue next
			}
		}
		dirs = append(dirs, directory{path, []string{controller}})
	}
	return dirs
}

// Group is the group of one sandbox.
type Group struct {
	parts []directory
}

// New makes a sandbox's group with its limits. On an error nothing is left of it.
func (h *Host) New(ctx context.Context, name string, limits Limits) (*Group, error) {
	g := &Group{}
	for _, d := range h.place.directories() {
		d.path = filepath.Join(d.path, h.name, name)
		err := os.Mkdir(d.path, 0o755)
		if err == nil {
			g.parts = append(g.parts, d)
			err = limits.set(d)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make a sandbox's cgroup: %w", err), g.Remove(ctx))
		}
	}
	return g, nil
}

// period is the time in microseconds over which processor time is counted.
const period = 100_000

func (l Limits) set(d directory) error {
	quota := l.CPUPercent * period / 100
	if len(d.controllers) == 0 {
		return l.setUnified(d.path, quota)
	}
	for _, controller := range d.controllers {
		var err error
		switch controller {
		case memory:
			err = l.setLegacyMemory(d.path)
		case pids:
			err = write(d.path, "pids.max", strconv.FormatInt(l.Processes, 10))
		case cpu:
			if quota > 0 {
				err = errors.Join(write(d.path, "cpu.cfs_period_us", strconv.Itoa(period)),
					write(d.path, "cpu.cfs_quota_us", strconv.FormatInt(quota, 10)))
			}
		}
		if err != nil {
			return fmt.Errorf("limit %s: %w", controller, err)
		}
	}
	return nil
}

// setLegacyMemory also bounds memory and swap together, or where the kernel does
// not count swap keeps the group out of it.
func (l Limits) setLegacyMemory(dir string) error {
	bytes := strconv.FormatInt(l.MemoryBytes, 10)
	if err := write(dir, "memory.limit_in_bytes", bytes); err != nil {
		return err
	}
	err := write(dir, "memory.memsw.limit_in_bytes", bytes)
	if errors.Is(err, fs.ErrNotExist) {
		err = write(dir, "memory.swappiness", "0")
	}
	return errors.Join(err, l.setLegacySockets(dir))
}

// socketShare is how much of its memory a sandbox may have once more in what waits
// in its sockets.
const socketShare = 8

// setLegacySockets bounds what waits in the sockets of the group, of any protocol
// despite the name. Without it the kernel counts that to nobody but the machine,
// which has a few gigabytes for all; under version 2 it is memory like any other.
func (l Limits) setLegacySockets(dir string) error {
	err := write(dir, "memory.kmem.tcp.limit_in_bytes", strconv.FormatInt(l.MemoryBytes/socketShare, 10))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a kernel without sockets to count
	}
	return err
}

func (l Limits) setUnified(dir string, quota int64) error {
	err := errors.Join(
		write(dir, "memory.max", strconv.FormatInt(l.MemoryBytes, 10)),
		write(dir, "pids.max", strconv.FormatInt(l.Processes, 10)))
	if swap := write(dir, "memory.swap.max", "0"); !errors.Is(swap, fs.ErrNotExist) {
		err = errors.Join(err, swap)
	}
	if quota > 0 {
		if c := write(dir, "cpu.max", fmt.Sprintf("%d %d", quota, period)); !errors.Is(c, fs.ErrNotExist) {
			err = errors.Join(err, c)
		}
	}
	return err
}

// Birth makes what start starts a member of the group from its first
// instruction. start is called on the calling thread, which must be locked to
// its goroutine, and forks exactly one process with attr.
//
// Under version 2 the kernel makes the process in the group. Under version 1 a
// process is born where its parent's thread is, so the thread itself goes there
// and comes back; memory is counted by process, so that nothing of this process
// is counted to the group. When the way back fails, start's process is there all
// the same, and the error says that the thread must not be used again.
func (g *Group) Birth(attr *syscall.SysProcAttr, start func() error) error {
	if len(g.parts) == 1 && len(g.parts[0].controllers) == 0 {
		dir, err := os.Open(g.parts[0].path)
		if err != nil {
			return fmt.Errorf("open the sandbox's cgroup: %w", err)
		}
		defer dir.Close()
		attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
		return start()
	}
	home, err := ownGroups("/proc/thread-self/cgroup")
	if err != nil {
		return err
	}
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	back := homeDirectories(mounts, home, g.parts)
	if slices.Contains(back, "") {
		return errors.New("enter the sandbox's cgroup: there would be no way back to this thread's own")
	}
	for i, part := range g.parts {
		if err := write(part.path, "tasks", "0"); err != nil {
			return errors.Join(fmt.Errorf("enter the sandbox's cgroup: %w", err), goBack(back[:i]))
		}
	}
	return errors.Join(start(), goBack(back))
}

// StrayedError says that a thread could not leave a sandbox's group.
type StrayedError struct{ Err error }

// Error says so.
func (e *StrayedError) Error() string { return "leave the sandbox's cgroup: " + e.Err.Error() }

// Unwrap is what the kernel said.
func (e *StrayedError) Unwrap() error { return e.Err }

func goBack(home []string) error {
	for _, dir := range home {
		if err := write(dir, "tasks", "0"); err != nil {
			return &StrayedError{err}
		}
	}
	return nil
}

// homeDirectories are where a thread in the groups home has to go back to, one
// for each part.
func homeDirectories(mounts []mount, home map[string]string, parts []directory) []string {
	dirs := make([]string, len(parts))
	for i, part := range parts {
		for _, m := range mounts {
			for _, controller := range m.controllers {
				if controller == part.controllers[0] && strings.HasPrefix(part.path, m.point+"/") {
					dirs[i] = m.dir(home[controller])
				}
			}
		}
	}
	return dirs
}
