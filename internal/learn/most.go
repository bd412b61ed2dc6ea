package learn

import (
	"cmp"
	"slices"
	"strings"
)

// Bounds on what is offered. A person reads it, and a hostile log fills it.
const (
	// maxHosts is how many hosts are offered, those that were asked for most.
	maxHosts = 100
	// maxRequests is how many requests rules are made of, so that there are no more
	// rules than that, and maxRequestBytes what their hosts, methods and paths may hold.
	maxRequests     = 1000
	maxRequestBytes = 256 << 10
)

// mostWanted keeps the requests to the hosts that were asked for most, of those that
// were let through before those that were only refused.
func mostWanted(all []*wanted) (kept []*wanted, beyond []declined) {
	totals, through := make(map[string]int64), make(map[string]int)
	for _, w := range all {
		totals[w.host] = saturated(totals[w.host], w.stats.total())
		if w.stats.allowed > 0 {
			through[w.host] = 1
		}
	}
	hosts := make([]string, 0, len(totals))
	for host := range totals {
		hosts = append(hosts, host)
	}
	slices.SortFunc(hosts, func(a, b string) int {
		return cmp.Or(cmp.Compare(through[b], through[a]), cmp.Compare(totals[b], totals[a]), strings.Compare(a, b))
	})
	among := make(map[string]bool)
	for _, host := range hosts[:min(len(hosts), maxHosts)] {
		among[host] = true
	}
	for _, w := range all {
		if among[w.host] {
			kept = append(kept, w)
			continue
		}
		beyond = append(beyond, w.declined("it is beyond the "+itoa(maxHosts)+" hosts that were asked for most"))
	}
	kept, more := bounded(kept)
	return kept, append(beyond, more...)
}

func (w *wanted) declined(why string) declined {
	return declined{w.request, requestText(w.request), why, w.stats}
}

// bounded keeps as many requests as are offered. A tunnel that was refused is only
// learnt whole where nothing is known of what is inside, so it goes with that.
func bounded(all []*wanted) (kept []*wanted, beyond []declined) {
	type place struct {
		host string
		port uint16
	}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b *wanted) int { return cmp.Compare(min(b.stats.allowed, 1), min(a.stats.allowed, 1)) })
	among, cut := make(map[*wanted]bool), make(map[place]bool)
	bytes := 0
	for _, w := range order {
		size := len(w.host) + len(w.method) + len(w.path)
		if len(among) < maxRequests && bytes+size <= maxRequestBytes {
			among[w] = true
			bytes += size
		} else {
			cut[place{w.host, w.request.Port}] = true
		}
	}
	for _, w := range all {
		if among[w] && !(w.open && cut[place{w.host, w.request.Port}]) {
			kept = append(kept, w)
			continue
		}
		beyond = append(beyond, w.declined("it is beyond the "+itoa(maxRequests)+" requests that were asked for most, or what they may hold"))
	}
	return kept, beyond
}
