package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// process is one contender that runs.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
}

func startProcess(ctx context.Context, name, dir string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: exec.CommandContext(ctx, self, "-serve", name, "-dir", dir)}
	p.cmd.Stderr = os.Stderr
	// What verifies servers where a contender cannot be told; and no proxy's proxy.
	p.cmd.Env = []string{"SSL_CERT_FILE=" + filepath.Join(dir, rootsFile), "PATH=" + os.Getenv("PATH")}
	p.cmd.WaitDelay = 5 * time.Second
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not serve: it said %q", name, line), p.stop())
	}
	return p, nil
}

// stop ends the process, and waits for it.
func (p *process) stop() error {
	p.stdin.Close()
	timer := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// resident is the process's memory in bytes, descriptors how many it has open.
func (p *process) resident() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, fmt.Errorf("read statm: %w", err)
	}
	return resident * int64(os.Getpagesize()), nil
}

func (p *process) descriptors() (int, error) {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	return len(open), err
}

// spent is the processor time that the process has used, in steps of a hundredth of a
// second.
func (p *process) spent() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The command's name stands in parentheses and may have spaces; user and system
	// time are the 12th and 13th field behind it.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	var user, system int64
	if _, err := fmt.Sscan(string(fields[11])+" "+string(fields[12]), &user, &system); err != nil {
		return 0, fmt.Errorf("read stat: %w", err)
	}
	return time.Duration(user+system) * (time.Second / 100), nil
}
