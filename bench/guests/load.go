package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	loadSandboxes = 500
	loadWorkers   = 16
)

// load is what making, using and disposing of many sandboxes did to this process.
type load struct {
	name        string
	took        time.Duration
	memory      [2]int64 // resident bytes after a tenth, and after all
	descriptors [2]int
}

// measureLoad makes 500 sandboxes with 16 workers, runs a program and moves a file
// in each, and disposes of it. Nothing may be left of them.
func measureLoad(ctx context.Context, s *subject) (load, error) {
	l := load{name: s.name}
	began := time.Now()
	for i, upTo := range []int{loadSandboxes / 10, loadSandboxes} {
		first := i * loadSandboxes / 10
		if err := s.useMany(ctx, first, upTo); err != nil {
			return load{}, err
		}
		runtime.GC()
		var err error
		if l.memory[i], l.descriptors[i], err = self(); err != nil {
			return load{}, err
		}
	}
	l.took = time.Since(began)
	left := s.backend.DisposeScope(ctx, owner, "load", "")
	if left.Undisposed != nil {
		return load{}, fmt.Errorf("after the load: %w", left.Undisposed)
	}
	if left.Disposed > 0 {
		return load{}, fmt.Errorf("after the load: %d sandboxes were left", left.Disposed)
	}
	return l, nil
}

func (s *subject) useMany(ctx context.Context, first, end int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(loadWorkers)
	for n := first; n < end; n++ {
		group.Go(func() error {
			session, err := s.acquire(ctx, "load-"+strconv.Itoa(n))
			if err != nil {
				return fmt.Errorf("acquire sandbox %d: %w", n, err)
			}
			text := strings.Repeat("x", 64<<10)
			err = session.WriteFile(ctx, "in", strings.NewReader(text), int64(len(text)))
			if err == nil {
				err = runTrue(ctx, session)
			}
			if err == nil {
				_, err = session.ReadFile(ctx, "in", 1<<20)
			}
			return errors.Join(err, s.dispose(ctx, "load-"+strconv.Itoa(n)))
		})
	}
	return group.Wait()
}

// self is this process's resident memory and its open descriptors.
func self() (bytes int64, descriptors int, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, 0, fmt.Errorf("read statm: %w", err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	return resident * int64(os.Getpagesize()), len(open), err
}

// neighbour is how long a program took in one sandbox while another was attacking.
type neighbour struct {
	name, attack string
	median, p99  time.Duration
	ended        string // what became of the attacker's program
}

// attacks are programs for the guest's own shell.
var attacks = []struct{ name, script string }{
	{"nothing", "sleep 60"},
	{"a fork bomb", "bomb() { bomb | bomb & }; bomb; wait"},
	{"a memory bomb of six processes", "for i in 1 2 3 4 5 6; do tail /dev/zero & done; wait"},
	{"an inode bomb", "i=0; while :; do : > /tmp/$i; i=$((i+1)); done"},
	{"a full disk", "for d in /tmp /dev/shm .; do cat /dev/zero > $d/full; done; while :; do cat /dev/zero > /tmp/full; done"},
}

// measureNeighbours runs each attack in a sandbox of its own and times a program in
// the kept one meanwhile.
func measureNeighbours(ctx context.Context, s *subject) ([]neighbour, error) {
	var all []neighbour
	for i, attack := range attacks {
		n := neighbour{name: s.name, attack: attack.name}
		thread := "attacker-" + strconv.Itoa(i)
		session, err := s.acquire(ctx, thread)
		if err != nil {
			return nil, err
		}
		ended := make(chan string, 1)
		attacking, stop := context.WithCancel(ctx)
		go func() {
			result, err := session.Exec(attacking, sandbox.Command{Args: []string{"/bin/sh", "-c", attack.script}})
			ended <- fate(result, err)
		}()
		var taken []time.Duration
		for until := time.Now().Add(4 * time.Second); time.Now().Before(until); {
			began := time.Now()
			if err = runTrue(ctx, s.kept); err != nil {
				break
			}
			taken = append(taken, time.Since(began))
		}
		stop()
		n.ended = <-ended
		n.median, n.p99 = quantile(taken, 0.5), quantile(taken, 0.99)
		if err = errors.Join(err, s.dispose(ctx, thread)); err != nil {
			return nil, fmt.Errorf("beside %s: %w", attack.name, err)
		}
		all = append(all, n)
	}
	return all, nil
}

func fate(result sandbox.ExecResult, err error) string {
	switch refusal := sandbox.RefusalOf(err); {
	case errors.Is(err, context.Canceled):
		return "ran until it was stopped"
	case refusal != nil:
		return "refused, " + string(refusal.Code)
	case err != nil:
		return "ended with an error"
	default:
		return fmt.Sprintf("ended with %d", result.ExitCode)
	}
}
