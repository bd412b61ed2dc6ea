package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// The commands beside the sandboxes run as nobody; sandboxes as users of a range
// that no machine has.
const (
	unprivileged = 65534
	firstUser    = 1_900_000_000
	users        = 1024
)

func asNobody(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged, NoSetGroups: true}}
	cmd.Dir = "/"
	return cmd
}

// plain starts a program and waits for it, with no sandbox at all.
func plain() contender {
	return contender{name: "fork and exec, no sandbox", do: func(ctx context.Context, _ int) error {
		return command(asNobody(exec.CommandContext(ctx, "/bin/true")))
	}}
}

// bareBubblewrap is the command with the same namespaces and mounts, and without
// seccomp, cgroup or anybody to talk to.
func bareBubblewrap() contender {
	args := []string{
		"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
		"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
	}
	if _, err := os.Stat("/usr/lib64"); err == nil {
		args = append(args, "--symlink", "usr/lib64", "/lib64")
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--size", "134217728", "--tmpfs", "/tmp",
		"--size", "268435456", "--tmpfs", "/work", "--chdir", "/work", "/bin/true")
	return contender{name: "the bwrap command", do: func(ctx context.Context, _ int) error {
		return command(asNobody(exec.CommandContext(ctx, "bwrap", args...)))
	}}
}

// bareRunsc is gVisor's command over a bundle that shows it the same files.
func bareRunsc(runsc, dir string) (contender, error) {
	bundle := filepath.Join(dir, "bundle")
	root := filepath.Join(bundle, "rootfs")
	if err := os.MkdirAll(filepath.Join(root, "usr"), 0o755); err != nil {
		return contender{}, err
	}
	for _, link := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+link, filepath.Join(root, link)); err != nil {
			return contender{}, err
		}
	}
	config, err := json.Marshal(map[string]any{
		"ociVersion": "1.0.2",
		"root":       map[string]any{"path": "rootfs", "readonly": true},
		"process":    map[string]any{"args": []string{"/bin/true"}, "cwd": "/", "user": map[string]any{"uid": unprivileged, "gid": unprivileged}, "noNewPrivileges": true},
		"mounts": []map[string]any{
			{"destination": "/usr", "type": "bind", "source": "/usr", "options": []string{"ro", "rbind"}},
			{"destination": "/proc", "type": "proc", "source": "proc"},
			{"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
		},
		"linux": map[string]any{"namespaces": []map[string]any{{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "network"}}},
	})
	if err != nil {
		return contender{}, err
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), config, 0o644); err != nil {
		return contender{}, err
	}
	return contender{name: "the runsc command", do: func(ctx context.Context, n int) error {
		return command(exec.CommandContext(ctx, runsc, "--root", filepath.Join(dir, "state"), "--platform=systrap",
			"--network=none", "--ignore-cgroups", "run", "--bundle", bundle, "bare-"+strconv.Itoa(n)))
	}}, nil
}

func command(cmd *exec.Cmd) error {
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, bytes.TrimSpace(out))
	}
	return nil
}

// copied writes and reads a plain file in memory, which is what a transfer costs
// at least.
func copied(dir string, size int64, read bool) contender {
	path := filepath.Join(dir, "copied-"+strconv.FormatInt(size, 10))
	c := contender{name: "a file in memory, no sandbox", do: func(context.Context, int) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if _, err := io.CopyBuffer(struct{ io.Writer }{f}, io.LimitReader(zeros{}, size), make([]byte, 1<<20)); err != nil {
			return err
		}
		return f.Close()
	}}
	if read {
		c.prepare = c.do
		c.do = func(context.Context, int) error {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 1<<20)); err != nil {
				return err
			}
			return f.Close()
		}
	}
	return c
}
