package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Empty waits until nothing runs in the group, killing whatever does.
func (g *Group) Empty(ctx context.Context) error {
	for _, part := range g.parts {
		if err := empty(ctx, part.path); err != nil {
			return err
		}
	}
	return nil
}

// Remove ends everything in the group and removes it. A group that is gone
// already is success.
func (g *Group) Remove(ctx context.Context) error {
	var errs []error
	for _, part := range g.parts {
		errs = append(errs, remove(ctx, part.path))
	}
	return errors.Join(errs...)
}

// Members are the processes in the group.
func (g *Group) Members() ([]int, error) {
	if len(g.parts) == 0 {
		return nil, nil
	}
	return members(g.parts[0].path)
}

// Events counts how often the kernel enforced a limit on the group.
type Events struct {
	// MemoryKills are processes that were killed for memory, ForksRefused are
	// processes and threads that were not made.
	MemoryKills, ForksRefused int64
	// MemoryBytes and Processes are what is counted to the group now.
	MemoryBytes, Processes int64
}

// Events reads what the kernel has counted. A count that it does not offer is 0.
func (g *Group) Events() Events {
	var e Events
	for _, part := range g.parts {
		e.MemoryKills += count(part.path, "memory.events", "oom_kill") + count(part.path, "memory.oom_control", "oom_kill")
		e.ForksRefused += count(part.path, "pids.events", "max")
		e.MemoryBytes += count(part.path, "memory.current", "") + count(part.path, "memory.usage_in_bytes", "")
		e.Processes += count(part.path, "pids.current", "")
	}
	return e
}

// Limit changes the number of processes that the group may have.
func (g *Group) Limit(processes int64) error {
	for _, part := range g.parts {
		err := write(part.path, "pids.max", strconv.FormatInt(processes, 10))
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.New("the group has no pids controller")
}

// count is a number in one of a group's files: all of it, or the one after a word.
func count(dir, file, word string) int64 {
	fields, err := words(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	if word == "" && len(fields) == 1 {
		n, _ := strconv.ParseInt(fields[0], 10, 64) // what is no number counts as none
		return n
	}
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == word {
			n, _ := strconv.ParseInt(fields[i+1], 10, 64) // as above
			return n
		}
	}
	return 0
}

// Reap ends everything in the directories of a host that is gone, and below them,
// and removes them. A directory that this package would not have made is refused.
func Reap(ctx context.Context, directories []string) error {
	var there []string
	for _, dir := range directories {
		own := filepath.IsAbs(dir) && filepath.Clean(dir) == dir && strings.HasPrefix(filepath.Base(dir), prefix)
		if _, err := os.Lstat(dir); own && errors.Is(err, fs.ErrNotExist) {
			continue // never made, or gone with a restart of the machine
		}
		if !own || !isCgroup(filepath.Dir(dir)) {
			return errors.New("remove a host's cgroup: what is noted is not one")
		}
		there = append(there, dir)
	}
	var errs []error
	for _, dir := range there {
		children, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("list a host's cgroup: %w", err))
		}
		for _, child := range children {
			if child.IsDir() {
				errs = append(errs, remove(ctx, filepath.Join(dir, child.Name())))
			}
		}
		errs = append(errs, remove(ctx, dir))
	}
	return errors.Join(errs...)
}

func isCgroup(dir string) bool {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return false
	}
	return s.Type == unix.CGROUP_SUPER_MAGIC || s.Type == unix.CGROUP2_SUPER_MAGIC
}

// remove empties a directory and removes it. The kernel may call it busy for a
// moment after its last process has ended.
func remove(ctx context.Context, dir string) error {
	if err := empty(ctx, dir); err != nil {
		return err
	}
	err := retry(ctx, func() (bool, error) {
		err := os.Remove(dir)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return !errors.Is(err, unix.EBUSY), err
	})
	if err != nil {
		return fmt.Errorf("remove a cgroup: %w", err)
	}
	return nil
}

// empty kills until nothing is left. New processes are not made meanwhile where
// the kernel can be told so.
func empty(ctx context.Context, dir string) error {
	first := true
	err := retry(ctx, func() (bool, error) {
		pids, err := members(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || err == nil && len(pids) == 0 {
			return true, nil
		}
		if err != nil {
			return true, err
		}
		if first {
			first = false
			// Each is an improvement where it exists and nothing where not.
			_ = write(dir, "pids.max", "0")
			_ = write(dir, "cgroup.kill", "1")
		}
		return false, kill(dir, pids)
	})
	if err != nil {
		return fmt.Errorf("end what runs in a cgroup: %w", err)
	}
	return nil
}

// kill ends the processes that are still in the group once they are held by a
// descriptor, so that no reused number is hit.
func kill(dir string, pids []int) error {
	held := map[int]int{}
	defer func() {
		for _, fd := range held {
			_ = unix.Close(fd)
		}
	}()
	for _, pid := range pids {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			held[pid] = fd
		}
	}
	still, err := members(dir)
	if err != nil {
		return nil // the next look says what became of the group
	}
	var errs []error
	for _, pid := range still {
		fd, ok := held[pid]
		if !ok {
			continue
		}
		if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func members(dir string) ([]int, error) {
	fields, err := words(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(fields))
	for _, field := range fields {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("list the processes of a cgroup: %w", err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// retry calls again, after ever longer pauses, until done.
func retry(ctx context.Context, try func() (done bool, err error)) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for wait := 200 * time.Microsecond; ; wait = min(2*wait, 50*time.Millisecond) {
		done, err := try()
		if done {
			return err
		}
		pause.Reset(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
