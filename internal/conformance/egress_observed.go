package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Observed keeps what observers of egress are told, each of one sandbox. The zero
// value is ready.
type Observed struct {
	mu    sync.Mutex
	told  map[string][]egress.Event // by the sandbox's instance id
	heard chan struct{}             // closed at the next one
}

// Of is the observer of one sandbox.
func (o *Observed) Of(instanceID string) egress.Observer { return observer{o, instanceID} }

type observer struct {
	all *Observed
	id  string
}

func (o observer) Observe(e egress.Event) { o.all.keep(o.id, e) }

func (o *Observed) keep(id string, e egress.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told == nil {
		o.told = map[string][]egress.Event{}
	}
	o.told[id] = append(o.told[id], e)
	if o.heard != nil {
		close(o.heard)
		o.heard = nil
	}
}

// tellBound is how long an event may be on its way.
const tellBound = 10 * time.Second

// wait returns once what was told of a sandbox is enough.
func (o *Observed) wait(ctx context.Context, id string, enough func([]egress.Event) bool) error {
	ctx, cancel := context.WithTimeout(ctx, tellBound)
	defer cancel()
	for {
		told, next := o.soFar(id)
		if enough(told) {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return fmt.Errorf("the sandbox's observer was told %+v alone", told)
		}
	}
}

func (o *Observed) soFar(id string) (told []egress.Event, next <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.heard == nil {
		o.heard = make(chan struct{})
	}
	return slices.Clone(o.told[id]), o.heard
}
