package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"time"
)

// bench is one run.
type bench struct {
	client    *client
	processes []*process
	options   options
}

// row is what one contender took for one piece of work.
type row struct {
	work, who   string
	median, p99 time.Duration
	bytes       int           // moved each time; 0 where the time is what counts
	spent       time.Duration // processor time of the contender, each time
	// against is the median and p99 of the row it is held against.
	against, againstP99 time.Duration
}

func measureAll(ctx context.Context, o options) (p *page, err error) {
	dir, err := os.MkdirTemp("", "eb")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := startServers(dir)
	if s != nil {
		defer s.stop()
	}
	if err != nil {
		return nil, err
	}
	b := &bench{options: o}
	if b.client, err = newClient(dir, s); err != nil {
		return nil, err
	}
	p = newPage(o)
	defer func() {
		for _, process := range b.processes {
			err = errors.Join(err, process.stop())
		}
	}()
	for _, name := range []string{relayName, oursName, goproxyName, smokeName} {
		process, err := startProcess(ctx, name, dir)
		if err != nil {
			return nil, err
		}
		b.processes = append(b.processes, process)
	}
	if err := b.agree(ctx); err != nil {
		return nil, err
	}
	for _, measure := range []func(context.Context, *page) error{b.transfers, b.asks, b.opens, b.holds} {
		if err := measure(ctx, p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// agree holds the proxies to the rules before anything is timed.
func (b *bench) agree(ctx context.Context) error {
	for _, p := range b.processes[1:] {
		for _, host := range []string{plainHost, throughHost, openedHost} {
			a, err := b.client.asker(ctx, p.name, host, 2)
			if err == nil {
				err = a.ask()
				a.conn.Close()
			}
			if err != nil {
				return fmt.Errorf("%s does not reach %s: %w", p.name, host, err)
			}
		}
		conn, err := net.Dial("unix", socketOf(b.client.dir, p.name, ""))
		if err != nil {
			return err
		}
		status, err := newAsker(conn, p.name, shutHost, http.MethodGet, 2).status()
		conn.Close()
		if err != nil || status == http.StatusOK {
			return fmt.Errorf("%s does not refuse a host without a rule: %d, %w", p.name, status, err)
		}
		if conn, err = net.Dial("unix", socketOf(b.client.dir, p.name, "")); err != nil {
			return err
		}
		status, err = connect(conn, shutHost+":443")
		conn.Close()
		if err == nil && status == http.StatusOK {
			return fmt.Errorf("%s does not refuse a tunnel without a rule", p.name)
		}
	}
	return nil
}

// turn is what one contender does once.
type turn struct {
	who     string
	do      func() error
	process *process // whose processor time counts; nil where it is not looked at
}

// inTurns lets everybody take turns, so that a busy moment of the machine does not
// fall on one of them alone. The first tenth warms up.
func inTurns(ctx context.Context, name string, times, bytes int, turns []turn) ([]row, error) {
	fmt.Fprintln(os.Stderr, name)
	taken, spent := make([][]time.Duration, len(turns)), make([]time.Duration, len(turns))
	warm := (times + 9) / 10
	for i := range times + warm {
		for j, t := range turns {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			took, used, err := t.once()
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", name, t.who, err)
			}
			if i >= warm {
				taken[j] = append(taken[j], took)
				spent[j] += used
			}
		}
	}
	rows := make([]row, len(turns))
	for j, t := range turns {
		slices.Sort(taken[j])
		rows[j] = row{work: name, who: t.who, bytes: bytes, median: quantile(taken[j], 0.5), p99: quantile(taken[j], 0.99)}
		rows[j].spent = spent[j] / time.Duration(times)
		rows[j].against, rows[j].againstP99 = rows[0].median, rows[0].p99
	}
	return rows, nil
}

func (t turn) once() (took, spent time.Duration, err error) {
	var before time.Duration
	if t.process != nil {
		if before, err = t.process.spent(); err != nil {
			return 0, 0, err
		}
	}
	began := time.Now()
	if err = t.do(); err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	if t.process != nil {
		spent, err = t.process.spent()
	}
	return took, spent - before, err
}

// quantile is of sorted durations.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(float64(len(sorted))*q), len(sorted)-1)]
}

func (b *bench) names() []string {
	var names []string
	for _, p := range b.processes {
		names = append(names, p.name)
	}
	return names
}

// transfers times large bodies, on connections that are there.
func (b *bench) transfers(ctx context.Context, p *page) error {
	size := b.options.megabytes << 20
	for _, w := range []struct {
		name, host string
		what       byte
	}{
		{"down a tunnel", pouringHost, workDown},
		{"up a tunnel", pouringHost, workUp},
		{"down without TLS", plainHost, 0},
		{"down an opened tunnel", openedHost, 0},
	} {
		var turns []turn
		var conns []net.Conn
		for _, process := range b.processes {
			who := process.name
			conn, err := b.client.open(ctx, who, w.host)
			if err != nil {
				return err
			}
			conns = append(conns, conn)
			t := turn{who: who, process: process}
			if w.host == pouringHost {
				buf := make([]byte, 256<<10)
				t.do = func() error { return moved(conn, w.what, size, buf) }
			} else {
				t.do = newAsker(conn, who, w.host, http.MethodGet, size).ask
			}
			turns = append(turns, t)
		}
		rows, err := inTurns(ctx, w.name, b.options.rounds, size, turns)
		for _, conn := range conns {
			conn.Close()
		}
		if err != nil {
			return err
		}
		p.transfers = append(p.transfers, rows...)
	}
	return nil
}

// asks times small requests on connections that are kept alive.
func (b *bench) asks(ctx context.Context, p *page) error {
	for _, w := range []struct{ name, host string }{
		{"a request without TLS", plainHost}, {"a request in a tunnel", throughHost}, {"a request in an opened tunnel", openedHost},
	} {
		var turns []turn
		for _, who := range append([]string{nobody}, b.names()...) {
			a, err := b.client.asker(ctx, who, w.host, 2)
			if err != nil {
				return err
			}
			defer a.conn.Close()
			turns = append(turns, turn{who: who, do: a.ask})
		}
		rows, err := inTurns(ctx, w.name, b.options.asks, 0, turns)
		if err != nil {
			return err
		}
		p.asks = append(p.asks, rows...)
	}
	return nil
}

// opens times new connections, with one small request in each.
func (b *bench) opens(ctx context.Context, p *page) error {
	for _, w := range []struct{ name, host string }{
		{"a connection without TLS", plainHost}, {"a tunnel", throughHost}, {"an opened tunnel", openedHost},
	} {
		var turns []turn
		for _, who := range append([]string{nobody}, b.names()...) {
			turns = append(turns, turn{who: who, do: func() error {
				a, err := b.client.asker(ctx, who, w.host, 2)
				if err != nil {
					return err
				}
				defer a.conn.Close()
				return a.ask()
			}})
		}
		rows, err := inTurns(ctx, w.name, max(b.options.asks/10, 10), 0, turns)
		if err != nil {
			return err
		}
		p.opens = append(p.opens, rows...)
	}
	return nil
}
