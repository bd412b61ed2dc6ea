//go:build linux

package agent

import (
	"bytes"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// stops remembers which programs had stopped by themselves before all were.
type stops struct {
	mu    sync.Mutex
	held  bool
	apart map[int]bool
}

// hold stops every program but the agent, in one step of the kernel: one that
// forks meanwhile is stopped before its child is there. Release lets those go on
// that it stopped.
//
// Only the first process of a namespace may: anybody else's "every process" would
// be its user's, of all that run on the machine.
func (s *stops) hold(release bool) error {
	if os.Getpid() != 1 {
		return errInvalid
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != release {
		return nil // it is so already
	}
	if !release {
		s.apart = stopped()
		s.held = true
		return nobody(unix.Kill(-1, unix.SIGSTOP))
	}
	s.held = false
	if len(s.apart) == 0 {
		return nobody(unix.Kill(-1, unix.SIGCONT))
	}
	for pid := range processes() {
		if !s.apart[pid] {
			_ = unix.Kill(pid, unix.SIGCONT) // one that has ended needs none
		}
	}
	s.apart = nil
	return nil
}

// nobody is no error: there is no program.
func nobody(err error) error {
	if err == unix.ESRCH { //nolint:errorlint // straight from the call
		return nil
	}
	return err
}

// stopped are the processes that stand still.
func stopped() map[int]bool {
	found := map[int]bool{}
	for pid, state := range processes() {
		if state == 'T' {
			found[pid] = true
		}
	}
	return found
}

// processes is the state of every process but the agent.
func processes() map[int]byte {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	found := map[int]byte{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		content, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		// The state follows the name, which is in parentheses and may hold anything.
		if at := bytes.LastIndexByte(content, ')'); err == nil && at >= 0 && at+2 < len(content) {
			found[pid] = content[at+2]
		}
	}
	return found
}
