//go:build linux

package egressproxy

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// loadEnv is how long the attack goes on; ten minutes of it have a million denials.
// loadPageEnv is the page to write what was measured to.
const (
	loadEnv     = "EGRESS_LOAD"
	loadPageEnv = "EGRESS_LOAD_PAGE"
)

const (
	loadSandboxes = 50 // the attacker among them
	loadSlow      = 10_000
	loadDenials   = 1_000_000
	loadWhole     = 10 * time.Minute // what loadDenials are for
)

// TestFiftySandboxesOfWhichOneAttacks runs fifty proxies of one pool. Forty-nine
// have programs that ask small and large things by all ways there are; the last one
// by turns holds as many slow connections as it can, and asks for what it may not
// have, as fast as it is refused. Nobody else's request may fail, memory may not grow
// with denials, and nothing may be left. Times are shown and not judged: see
// `make load-egress`.
func TestFiftySandboxesOfWhichOneAttacks(t *testing.T) { //nolint:paralleltest // it measures
	if testing.Short() || raced {
		t.Skip("half a minute of load is not short")
	}
	l := load{whole: 20 * time.Second, slow: loadSlow}
	text, asked := os.LookupEnv(loadEnv)
	if asked {
		var err error
		if l.whole, err = time.ParseDuration(text); err != nil || l.whole < 10*time.Second {
			t.Fatalf("%s=%q is not a duration of at least ten seconds: %v", loadEnv, text, err)
		}
	}
	if room := descriptorLimit(t) - loadReserve; room < l.slow {
		if asked {
			t.Fatalf("%d slow connections need %d descriptors: raise the limit, ulimit -n %d", l.slow, l.slow+loadReserve, l.slow+loadReserve)
		}
		t.Logf("only %d of %d slow connections: ulimit -n %d is needed for all", room, l.slow, l.slow+loadReserve)
		l.slow = room
	}
	before := takeStock(t)
	t.Run("load", l.run)
	page := l.page(nothingLeft(t, before))
	t.Log("\n" + page)
	if path := os.Getenv(loadPageEnv); path != "" && !t.Failed() {
		must(t, os.WriteFile(path, []byte(page), 0o644))
	}
}

// loadReserve is how many descriptors the attacker takes beside slow connections.
const loadReserve = 100

func descriptorLimit(tb testing.TB) int {
	tb.Helper()
	var limit syscall.Rlimit
	must(tb, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)) // Go has raised it to all that it may be
	return int(min(limit.Cur, 1<<20))
}

// load is one run, and what was seen in it.
type load struct {
	whole   time.Duration
	slow    int
	began   string // how busy the machine was, and at the end
	ended   string
	spent   busy // before the window that is open
	windows []loadWindow
	attacks []loadAttack
	told    string

	crowd, villain *loadSide
}

// rounds is how often the attacks take turns with quiet.
func (l *load) rounds() int {
	if l.whole < 4*time.Minute {
		return 1
	}
	return 5
}

// window is how long each lasts that is measured by itself; as long as it, the proxy
// waits for a slow head.
func (l *load) window() time.Duration { return max(l.whole/60, time.Second) }

func (l *load) denials() int { return int(int64(loadDenials) * int64(l.whole) / int64(loadWhole)) }

// run runs everything, and closes it.
func (l *load) run(t *testing.T) {
	l.began = loadAverage(t)
	w := newWorld(t)
	defer w.Close()
	loadSites(t, w)
	pool, err := NewPool(PoolLimits{})
	must(t, err)
	l.crowd = newLoadSide(t, w, pool, loadSandboxes-1, func(*Limits) {})
	l.villain = newLoadSide(t, w, pool, 1, func(limits *Limits) { limits.HeaderTimeout = l.window() })
	l.crowd.start(t, w, roleCrowd, 0)
	l.villain.start(t, w, roleAttacker, attackerNice)
	must(t, pause(t.Context(), l.window())) // to warm up
	for range l.rounds() {
		l.quiet(t)
		l.during(t, loadDemand{What: attackSlow, For: l.whole / time.Duration(6*l.rounds()), Times: l.slow})
		l.denied(t, l.denials()/l.rounds())
	}
	l.quiet(t)
	l.ended = loadAverage(t)
	l.flat(t)
	l.villain.end(t)
	l.crowd.end(t)
	own, others := l.villain.stats(), l.crowd.stats()
	l.told = fmt.Sprintf("Observers of the attacker were told of %d denials in %d events, and missed %d. Those of the others were told of %d admitted and %d denied requests in %d events, among them the ends of %d tunnels, and missed %d.",
		own.Denied, l.villain.seen.events.Load(), own.Dropped, others.Allowed, others.Denied, l.crowd.seen.events.Load(), l.crowd.seen.ends.Load(), others.Dropped)
	for _, s := range append(l.crowd.scenes, l.villain.scenes...) {
		closing, done := context.WithTimeout(context.Background(), patience)
		must(t, s.proxy.Close(closing))
		done()
	}
	l.crowd, l.villain = nil, nil // so that what they hold is not taken for what is left
	if held := pool.held(); held != "" {
		t.Errorf("the pool still counts %s", held)
	}
}

// held is what the pool still counts.
func (p *Pool) held() string {
	var held []string
	for name, room := range map[string]chan struct{}{
		"connections": p.connections, "requests": p.requests, "handshakes": p.handshakes, "lookups": p.lookups, "dials": p.dials,
	} {
		if len(room) > 0 {
			held = append(held, fmt.Sprint(len(room), " ", name))
		}
	}
	return strings.Join(held, ", ")
}
