package egressproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// villain are the programs of the sandbox that attacks.
type villain struct{ *scene }

func (v villain) attack(ctx context.Context, d loadDemand) (a loadAnswer) {
	var err error
	switch d.What {
	case attackSlow:
		a.Said, err = v.slowly(ctx, d.For, d.Times)
	case attackDenied:
		a.Said, err = v.denied(ctx, d.Times)
	default:
		err = fmt.Errorf("no such attack: %q", d.What)
	}
	if err != nil {
		a.Failed = err.Error()
	}
	return a
}

// slowly keeps as many slow connections as there are attackers: each sends half a
// head, waits until it is given up, and begins anew.
func (v villain) slowly(ctx context.Context, stage time.Duration, attackers int) (string, error) {
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
	return fmt.Sprintf("%d tried, %d at once, %d given up, %d times no place", attackers, most.Load(), ended.Load(), full.Load()), errors.Join(errs...)
}

// slow holds one connection, to its end or the stage's.
func (v villain) slow(ctx context.Context, open, most *atomic.Int64) error {
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

// denied asks so many times for what it may not have, as fast as it is refused: on
// new connections, without TLS and by CONNECT, and by streams of one opened tunnel.
func (v villain) denied(ctx context.Context, times int) (string, error) {
	streams := loadStreams(v.scene)
	defer streams.CloseIdleConnections()
	ways := []func(context.Context) error{
		func(context.Context) error { return v.rawRefused(absolute(evilHost, "/"), sandbox.CodeEgressDenied) },
		func(context.Context) error { return v.tunnelRefused(evilHost+":443", sandbox.CodeEgressDenied) },
		func(ctx context.Context) error { return streamRefused(ctx, streams) },
	}
	began := time.Now()
	var asked, late atomic.Int64
	var attacking sync.WaitGroup
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	const attackers = 64
	for range attackers {
		attacking.Go(func() {
			for n := int(asked.Add(1)); n <= times && ctx.Err() == nil; n = int(asked.Add(1)) {
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
	attacking.Wait()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	took := time.Since(began)
	return fmt.Sprintf("%d refused in %v, %.0f a second, %d more too late", times, took.Round(time.Second), float64(times)/took.Seconds(), late.Load()), nil
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
