package egressproxy

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// recorder keeps what it is told.
type recorder struct {
	mu     sync.Mutex
	events []egress.Event
	told   chan struct{} // a token for each
}

func newRecorder() *recorder { return &recorder{told: make(chan struct{}, 1<<16)} }

func (r *recorder) Observe(e egress.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	select {
	case r.told <- struct{}{}:
	default:
	}
}

func (r *recorder) all() []egress.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// await waits for an event.
func (r *recorder) await(match func(egress.Event) bool) error {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		if slices.ContainsFunc(r.all(), match) {
			return nil
		}
		select {
		case <-r.told:
		case <-timeout.C:
			return fmt.Errorf("no such event among %+v", r.all())
		}
	}
}

func (r *recorder) code(code sandbox.Code) error {
	return r.await(func(e egress.Event) bool { return e.Code == code })
}
