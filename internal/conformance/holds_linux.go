package conformance

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// MachineHolds lists, for [Subject].Left, what this machine holds under a mark that
// a backend puts into the names of what it makes: processes by their zeroth
// argument, control groups with the processes in them, and mounts.
func MachineHolds(mark string) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		var found []string
		groups := func(path string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // gone while it was looked at
			case err != nil || ctx.Err() != nil:
				return errors.Join(err, ctx.Err())
			case entry.IsDir() && strings.Contains(path, mark):
				found = append(found, "group "+path)
				members, _ := os.ReadFile(filepath.Join(path, "cgroup.procs")) // gone with the group
				for _, pid := range strings.Fields(string(members)) {
					found = append(found, "process "+pid+" in "+path)
				}
			}
			return nil
		}
		if err := filepath.WalkDir("/sys/fs/cgroup", groups); err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return nil, err
		}
		for _, path := range lines {
			command, _ := os.ReadFile(path) // gone while it was looked at
			if bytes.HasPrefix(command, []byte(mark)) {
				found = append(found, "process "+filepath.Base(filepath.Dir(path)))
			}
		}
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		for line := range strings.Lines(string(mounts)) {
			if strings.Contains(line, mark) {
				found = append(found, "mount "+strings.TrimSpace(line))
			}
		}
		return found, err
	}
}
