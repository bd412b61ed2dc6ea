//go:build linux

package egressproxy

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// kindQuiet is a window in which nobody attacks; the others have an attack's name.
const kindQuiet = "no attack"

// loadQuiets is how many there are each time.
const loadQuiets = 3

// loadWindow is what the others saw for a while, and what the process of the proxies
// had at its end.
type loadWindow struct {
	kind        string
	kept, fresh measured
	stock       stock
	spent       busy
}

// measured are the requests of a window. Their times are not kept: memory that the
// load itself takes is not to be taken for what is left of it.
type measured struct {
	requests int
	p50, p99 time.Duration
}

func measure(took []time.Duration) measured {
	return measured{len(took), percentile(took, 0.5), percentile(took, 0.99)}
}

// busy is processor time, of the processes of the proxies and of the attacker.
type busy struct{ proxies, attacker time.Duration }

// loadAttack is what came of one.
type loadAttack struct{ kind, said string }

func (l *load) quiet(t *testing.T) {
	t.Helper()
	l.fresh(t)
	for range loadQuiets {
		must(t, pause(t.Context(), l.window()))
		l.close(t, kindQuiet)
	}
}

// during lets the attacker attack, and measures windows until it is through. The last
// one is left out where it is short.
func (l *load) during(t *testing.T, d loadDemand) {
	t.Helper()
	type outcome struct {
		answer loadAnswer
		err    error
	}
	done := make(chan outcome, 1)
	l.fresh(t)
	go func() {
		answer, err := l.villain.demand(d)
		done <- outcome{answer, err}
	}()
	for {
		window, began := time.NewTimer(l.window()), time.Now()
		select {
		case <-window.C:
			l.close(t, d.What)
		case o := <-done:
			window.Stop()
			if o.err != nil {
				t.Fatalf("%s: %v", d.What, o.err)
			}
			if time.Since(began) > l.window()/2 {
				l.close(t, d.What)
			}
			l.attacks = append(l.attacks, loadAttack{d.What, o.answer.Said})
			return
		}
	}
}

// denied is an attack by requests that are refused. Each is counted; one of the slow
// connections before may be late, and counted with them.
func (l *load) denied(t *testing.T, times int) {
	t.Helper()
	before := l.villain.stats().Denied
	l.during(t, loadDemand{What: attackDenied, Times: times})
	if got := int(l.villain.stats().Denied - before); got < times || got > times+loadSlow {
		t.Errorf("%d denials were counted of %d", got, times)
	}
}

// fresh forgets what was measured since the last window.
func (l *load) fresh(t *testing.T) {
	t.Helper()
	if _, err := l.crowd.demand(loadDemand{}); err != nil {
		t.Fatal(err)
	}
	l.spent = l.busy(t)
}

// busy is what was spent so far.
func (l *load) busy(t *testing.T) (b busy) {
	t.Helper()
	var own syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	b.proxies = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", l.villain.cmd.Process.Pid))
	must(t, err)
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from the third on, see proc_pid_stat(5)
	for _, field := range fields[11:13] {                                     // utime and stime
		ticks, err := strconv.Atoi(field)
		must(t, err)
		b.attacker += time.Duration(ticks) * 10 * time.Millisecond // of which Linux has a hundred a second
	}
	return b
}

// close ends a window. To take stock stops the proxies, so that what is measured
// meanwhile is of no window.
func (l *load) close(t *testing.T, kind string) {
	t.Helper()
	a, err := l.crowd.demand(loadDemand{})
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	if len(a.Kept) == 0 || len(a.Fresh) == 0 {
		t.Fatalf("%s: nobody got an answer in %v", kind, l.window())
	}
	now := l.busy(t)
	spent := busy{now.proxies - l.spent.proxies, now.attacker - l.spent.attacker}
	l.windows = append(l.windows, loadWindow{kind, measure(a.Kept), measure(a.Fresh), takeStock(t), spent})
	l.fresh(t)
}

// flat wants memory that does not grow with denials. What is under way comes and
// goes: what stays is the least of several looks.
func (l *load) flat(t *testing.T) {
	t.Helper()
	windows := l.of(attackDenied)
	if len(windows) < 2 {
		return
	}
	least := func(some []loadWindow) int64 {
		n := some[0].stock.memory
		for _, w := range some {
			n = min(n, w.stock.memory)
		}
		return n
	}
	half := len(windows) / 2
	if first, second := least(windows[:half]), least(windows[half:]); second-first > 16<<20 {
		t.Errorf("memory grows with denials: from %d MiB to %d MiB", first>>20, second>>20)
	}
}

func (l *load) of(kind string) (some []loadWindow) {
	for _, w := range l.windows {
		if w.kind == kind {
			some = append(some, w)
		}
	}
	return some
}
