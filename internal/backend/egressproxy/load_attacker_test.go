//go:build linux

package egressproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func descriptorLimit(tb testing.TB) int {
	tb.Helper()
	var limit syscall.Rlimit
	must(tb, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)) // Go has raised it to all that it may be
	return int(min(limit.Cur, 1<<20))
}

// tallyman counts events and keeps none.
type tallyman struct{ events, decisions, ends atomic.Int64 }

func (m *tallyman) Observe(e egress.Event) {
	m.events.Add(1)
	m.decisions.Add(int64(e.Count))
	if e.End != nil {
		m.ends.Add(1)
	}
}

// villain is the sandbox that attacks.
type villain struct {
	*scene
	seen *tallyman
}

func newVillain(tb testing.TB, w *egressworld.World, pool *Pool, headers time.Duration) *villain {
	tb.Helper()
	v := &villain{seen: &tallyman{}}
	v.scene = newScene(tb, w, setting{rules: loadRules(), config: func(config *Config) {
		config.Pool, config.Observer, config.Limits.HeaderTimeout = pool, v.seen, headers
	}})
	return v
}

// slowly keeps as many slow connections as there are attackers: each sends half a
// head, waits until it is given up, and begins anew.
func (v *villain) slowly(ctx context.Context, stage time.Duration, attackers int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, stage)
	defer cancel()
	var open, most, ended, full atomic.Int64
	var attacking sync.WaitGroup
	failed := make(chan error, attackers)
	for i := range attackers {
		attacking.Go(func() {
			if pause(ctx, time.Second*time.Duration(i)/time.Duration(attackers)) != nil {
				return
			}
			for ctx.Err() == nil {
				switch err := v.slow(ctx, &open, &most); {
				case errors.Is(err, syscall.EAGAIN): // as many wait to be accepted as the kernel lets
					full.Add(1)
					if pause(ctx, 2*time.Second) != nil {
						return
					}
				case err != nil:
					failed <- err
					return
				default:
					ended.Add(1)
				}
			}
		})
	}
	attacking.Wait()
	close(failed)
	var errs []error
	for err := range failed {
		errs = append(errs, err)
	}
	if ended.Load() == 0 {
		errs = append(errs, errors.New("no slow connection was given up"))
	}
	return fmt.Sprintf("%d at once, %d given up, %d found no place", most.Load(), ended.Load(), full.Load()), errors.Join(errs...)
}

// slow holds one connection, to its end or the stage's.
func (v *villain) slow(ctx context.Context, open, most *atomic.Int64) error {
	conn, err := net.Dial("unix", v.path)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	now := open.Add(1)
	defer open.Add(-1)
	raise(most, now)
	if _, err := io.WriteString(conn, "GET http://"); err == nil {
		io.Copy(io.Discard, conn) //nolint:errcheck // however it ends
	}
	return nil
}

// raise makes n at least now.
func raise(n *atomic.Int64, now int64) {
	for {
		before := n.Load()
		if now <= before || n.CompareAndSwap(before, now) {
			return
		}
	}
}

// denied asks so many times for what it may not have, evenly over the stage: on new
// connections, without TLS and by CONNECT, and by streams of one opened tunnel.
func (v *villain) denied(ctx context.Context, stage time.Duration, times int) (string, error) {
	streams := loadStreams(v.scene)
	defer streams.CloseIdleConnections()
	ways := []func(context.Context) error{
		func(context.Context) error { return v.rawRefused(absolute(evilHost, "/"), sandbox.CodeEgressDenied) },
		func(context.Context) error { return v.tunnelRefused(evilHost+":443", sandbox.CodeEgressDenied) },
		func(ctx context.Context) error { return streamRefused(ctx, streams) },
	}
	before := v.proxy.Stats().Denied
	began := time.Now()
	var late atomic.Int64
	var attacking sync.WaitGroup
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	const attackers = 32
	work := make(chan int, attackers)
	for range attackers {
		attacking.Go(func() {
			for n := range work {
				err := ways[n%len(ways)](ctx)
				// On a busy machine a connection can be given up before it says anything.
				for ; errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET); late.Add(1) {
					err = ways[n%len(ways)](ctx)
				}
				if err != nil {
					stop(err)
				}
			}
		})
	}
	memory, err := v.pace(ctx, stage, times, work)
	close(work)
	attacking.Wait()
	if err != nil {
		return "", err
	}
	if got := int(v.proxy.Stats().Denied - before); got != times {
		return "", fmt.Errorf("%d denials were counted of %d", got, times)
	}
	// What is under way comes and goes: what stays is the least of several looks.
	half := len(memory) / 2
	if slices.Min(memory[half:])-slices.Min(memory[:half]) > 16<<20 {
		return "", fmt.Errorf("memory grows with denials: %d MiB by eighths", inMiB(memory))
	}
	return fmt.Sprintf("%d over the wire in %v, %d more too late; memory by eighths %v MiB", times, time.Since(began).Round(time.Second), late.Load(), inMiB(memory)), nil
}

// pace gives out the work evenly, and looks at memory in each eighth.
func (v *villain) pace(ctx context.Context, stage time.Duration, times int, work chan<- int) (memory []int64, err error) {
	const step = 10 * time.Millisecond
	each := max(int(int64(times)*int64(step)/int64(stage)), 1)
	tick := time.NewTicker(step)
	defer tick.Stop()
	for n := 0; n < times; {
		for range each {
			// The first denials of a kind are told one by one: memory is looked at behind them.
			if n%(times/8) == times/16 {
				memory = append(memory, takeMemory())
			}
			if n == times {
				break
			}
			select {
			case work <- n:
				n++
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return memory, nil
}

func inMiB(bytes []int64) (out []int64) {
	for _, n := range bytes {
		out = append(out, n>>20)
	}
	return out
}

// streamRefused asks with a method that no rule admits.
func streamRefused(ctx context.Context, streams *http.Transport) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, "https://"+loadOpened+"/", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := streams.RoundTrip(request)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusForbidden {
		return fmt.Errorf("answered %d: %w", resp.StatusCode, err)
	}
	return nil
}

// told says what observers were told of all this.
func (v *villain) told(c *crowd) string {
	var others Stats
	for _, s := range c.scenes {
		st := s.proxy.Stats()
		others.Allowed, others.Denied, others.Dropped = others.Allowed+st.Allowed, others.Denied+st.Denied, others.Dropped+st.Dropped
	}
	own := v.proxy.Stats()
	return fmt.Sprintf("the attacker: %d denials told in %d events, %d dropped; the others: %d allowed, %d denied, told in %d events with %d ends of tunnels, %d dropped",
		own.Denied, v.seen.events.Load(), own.Dropped, others.Allowed, others.Denied, c.seen.events.Load(), c.seen.ends.Load(), others.Dropped)
}
