package egressproxy

import (
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// flight is something under way that new rules may end: a tunnel, an opened
// connection, or a request.
type flight struct {
	request egress.Request
	// opened: it is a connection that was opened, and goes on while its destination
	// is open to some request.
	opened bool
	cut    func(*denial)
}

// flights are all that is under way.
type flights struct {
	mu     sync.Mutex
	all    map[*flight]struct{}
	closed bool
}

// board enters a flight, before it is judged: rules that are replaced from here on
// find it. It returns false where nothing takes off any more.
func (f *flights) board(fl *flight) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	if f.all == nil {
		f.all = make(map[*flight]struct{})
	}
	f.all[fl] = struct{}{}
	return true
}

func (f *flights) land(fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, fl)
}

// close ends everything, and lets nothing take off any more.
func (f *flights) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.end("the proxy is closed", func(*flight) bool { return true })
}

// end ends some of what is under way, and says how many that were.
func (f *flights) end(found string, which func(*flight) bool) int {
	f.mu.Lock()
	var ended []*flight
	for fl := range f.all {
		if which(fl) {
			ended = append(ended, fl)
			delete(f.all, fl)
		}
	}
	f.mu.Unlock()
	for _, fl := range ended {
		fl.cut(&denial{code: sandbox.CodeEgressRulesChanged, status: statusRulesChanged, request: fl.request, found: found})
	}
	return len(ended)
}
