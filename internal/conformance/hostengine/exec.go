//go:build linux

package hostengine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// leaveStreams is how long children that hold a program's streams hold the call.
const leaveStreams = 300 * time.Millisecond

var _ engine.Execer = (*guest)(nil)

// Exec starts a process of this machine, in a group of its own that is killed when
// the call ends.
func (g *guest) Exec(ctx context.Context, req engine.ExecRequest) (exitCode int, err error) {
	if err := g.gone(); err != nil {
		return 0, err
	}
	g.b.runs.Add(1)
	defer g.b.runs.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.b.ctx, cancel)() //nolint:contextcheck // it ends with its sandbox, too

	args := append(slices.Clone(g.e.options.Through), req.Args...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), req.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = req.Stdin, req.Stdout, req.Stderr
	cmd.Dir = req.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = leaveStreams
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left of its group
	}
	return g.outcome(ctx, cmd, err)
}

func (g *guest) outcome(ctx context.Context, cmd *exec.Cmd, err error) (int, error) {
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, errors.Join(ctx.Err(), g.gone())
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return cmd.ProcessState.ExitCode(), nil
	case errors.As(err, &ended):
		if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal()), nil
		}
		return ended.ExitCode(), nil
	case cmd.ProcessState == nil: // it did not start
		if errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), "exec format error") {
			return 126, nil
		}
		return 127, nil
	}
	return 0, err
}
