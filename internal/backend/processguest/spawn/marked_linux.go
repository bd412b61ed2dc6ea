package spawn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// maxUnsure bounds how often is looked again because a process had no arguments.
const maxUnsure = 10

// EndMarked ends every process whose zeroth argument is the mark, and returns
// once there is none. It is for what a host that died may have left between a
// fork and the request to be ended with its parent. A guest that gives itself
// the mark of a dead host ends itself.
//
// A process has no arguments for a moment in the middle of an exec, so that is
// looked at again, a few times, since some have none for good.
func EndMarked(ctx context.Context, mark string) error {
	if mark == "" {
		return errors.New("end what a host left behind: it noted no mark, and processes without arguments are not its own")
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	looks := 0
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		left, unsure, err := killMarked(mark)
		if looks++; err != nil || left == 0 && (unsure == 0 || looks > maxUnsure) {
			return err
		}
		pause.Reset(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("end what a host left behind: %w", context.Cause(ctx))
		}
	}
}

func killMarked(mark string) (left, unsure int, err error) {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, 0, fmt.Errorf("list processes: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if !carries(pid, mark) {
			if carries(pid, "") && runsProgram(pid) {
				unsure++
			}
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended
		}
		if carries(pid, mark) {
			left++
			if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				errs = append(errs, fmt.Errorf("end what a host left behind: %w", err))
			}
		}
		_ = unix.Close(fd)
	}
	return left, unsure, errors.Join(errs...)
}

// carries reports whether a process has the mark. One that has ended, reaped or
// not, has no arguments.
func carries(pid int, mark string) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	zeroth, _, _ := bytes.Cut(line, []byte{0})
	return err == nil && string(zeroth) == mark
}

// runsProgram tells a program from a thread of the kernel's and from what has ended.
func runsProgram(pid int) bool {
	_, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return err == nil
}
