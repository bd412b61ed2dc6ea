//go:build linux

package egressproxy

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// loadAverage is how busy the machine is.
func loadAverage(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	must(tb, err)
	average, _, _ := strings.Cut(string(text), " ")
	return average
}

const loadPage = `# What one sandbox that attacks costs the others

Written by ` + "`make load-egress`" + `; do not edit. All numbers are of one run.

%[1]d sandboxes have an egress proxy each, all in one process. The programs of %[2]d are a
second process: each asks five times a second without TLS, in a tunnel, in an opened
tunnel and by a stream of HTTP/2, opens a new tunnel each second, and every seventh
downloads 4 MiB each second. The programs of the last sandbox are a third process, with
nice %[3]d: for a sixth of the time it tries to hold %[4]d slow connections, and else
asks for what it may not have, as fast as it is refused, %[5]d times.
Between attacks there is quiet, so that what else the machine does is in all rows alike.

* Machine: %[6]d cores, %[7]s/%[8]s, %[9]s, load average %[10]s when the run began and %[11]s at its end, %[12]s.
* A window is %[13]v long. No request of the others failed in any.

## What the others saw

The median of all windows' medians and 99th percentiles, and the least and the greatest
99th percentile of a window. The spread of the windows without an attack is the noise:
it is what the rest of the machine does to requests that nobody attacks. Where it is
wide, the least of each kind say more: they are of moments in which little else ran.

%[14]s
%[15]s
## What it took

Processors that were busy on average, and the most that the process of the proxies had:
memory without garbage, goroutines and descriptors.

%[19]s
## What the attacker came to

%[16]s
## What is left

The process of the proxies %[18]s.

%[17]s
`

// page is what was measured, for people.
func (l *load) page(left string) string {
	if len(l.windows) == 0 {
		return "nothing was measured"
	}
	measures := []struct {
		name string
		of   func(loadWindow) measured
	}{
		{"kept connections", func(w loadWindow) measured { return w.kept }},
		{"new tunnels", func(w loadWindow) measured { return w.fresh }},
	}
	var rows, found strings.Builder
	rows.WriteString("| requests on | windows with | windows | requests | median | p99 | least p99 | greatest p99 |\n" +
		"|---|---|--:|--:|--:|--:|--:|--:|\n")
	for _, m := range measures {
		quiet := spreadOf(l.of(kindQuiet), m.of)
		for _, kind := range []string{kindQuiet, attackSlow, attackDenied} {
			s := spreadOf(l.of(kind), m.of)
			if len(s.p99) == 0 {
				continue
			}
			fmt.Fprintf(&rows, "| %s | %s | %d | %d | %s | %s | %s | %s |\n", m.name, kind, len(s.p99), s.requests, shownTime(middle(s.p50)),
				shownTime(middle(s.p99)), shownTime(s.p99[0]), shownTime(s.p99[len(s.p99)-1]))
			if kind != kindQuiet {
				fmt.Fprintf(&found, "* %s, %s: %s.\n", m.name, kind, s.beside(quiet))
			}
		}
	}
	var attacks strings.Builder
	for _, a := range l.attacks {
		fmt.Fprintf(&attacks, "* %s: %s.\n", a.kind, a.said)
	}
	return fmt.Sprintf(loadPage, loadSandboxes, loadSandboxes-1, attackerNice, l.slow, l.denials(),
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), l.began, l.ended, time.Now().UTC().Format("2 January 2006"),
		l.window(), rows.String(), found.String(), attacks.String(), l.told, left, l.costs())
}

// costs is the table of what the processes took.
func (l *load) costs() string {
	var rows strings.Builder
	rows.WriteString("| windows with | processors, proxies | processors, attacker | memory | goroutines | descriptors |\n|---|--:|--:|--:|--:|--:|\n")
	proxies := make(map[string]float64)
	for _, kind := range []string{kindQuiet, attackSlow, attackDenied} {
		windows := l.of(kind)
		if len(windows) == 0 {
			continue
		}
		var spent busy
		var most stock
		for _, w := range windows {
			spent.proxies, spent.attacker = spent.proxies+w.spent.proxies, spent.attacker+w.spent.attacker
			most = stock{max(most.memory, w.stock.memory), max(most.goroutines, w.stock.goroutines), max(most.descriptors, w.stock.descriptors)}
		}
		all := float64(len(windows)) * l.window().Seconds()
		proxies[kind] = spent.proxies.Seconds() / all
		fmt.Fprintf(&rows, "| %s | %.2f | %.2f | %d MiB | %d | %d |\n", kind, proxies[kind], spent.attacker.Seconds()/all,
			most.memory>>20, most.goroutines, most.descriptors)
	}
	fmt.Fprintf(&rows, "\nTo refuse what the attacker asked for took %.2f of a processor.\n", proxies[attackDenied]-proxies[kindQuiet])
	return rows.String()
}

// spread is what windows of a kind have in common, in ascending order.
type spread struct {
	p50, p99 []time.Duration
	requests int
}

func spreadOf(windows []loadWindow, of func(loadWindow) measured) (s spread) {
	for _, w := range windows {
		m := of(w)
		s.requests, s.p50, s.p99 = s.requests+m.requests, append(s.p50, m.p50), append(s.p99, m.p99)
	}
	slices.Sort(s.p50)
	slices.Sort(s.p99)
	return s
}

// beside says whether windows are within the noise of quiet ones.
func (s spread) beside(quiet spread) string {
	least, greatest := quiet.p99[0], quiet.p99[len(quiet.p99)-1]
	beyond := 0
	for _, p := range s.p99 {
		if p > greatest {
			beyond++
		}
	}
	verdict := "within"
	if m := middle(s.p99); m > greatest {
		verdict = "above"
	} else if m < least {
		verdict = "below"
	}
	return fmt.Sprintf("the median p99, %s, is %s the noise, which is from %s to %s; %d of %d windows are above it. The least p99 is %s, and %s without an attack",
		shownTime(middle(s.p99)), verdict, shownTime(least), shownTime(greatest), beyond, len(s.p99), shownTime(s.p99[0]), shownTime(least))
}

func middle(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }

func shownTime(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000)
}
