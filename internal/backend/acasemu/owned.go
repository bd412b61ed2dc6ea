package acasemu

import (
	"context"
	"maps"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// owned remembers where in the state the sandboxes are whose guests this process
// started: another process may delete such a sandbox, and cannot end its guest.
type owned struct {
	mu   sync.Mutex
	keys map[string]store.Key
}

func (o *owned) add(id string, key store.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.keys == nil {
		o.keys = map[string]store.Key{}
	}
	o.keys[id] = key
}

func (o *owned) drop(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.keys, id)
}

func (o *owned) all() map[string]store.Key {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.keys)
}

// endOrphans ends the guests of this process whose sandboxes are gone.
func (e *Emulator) endOrphans(ctx context.Context) error {
	mine := e.owned.all()
	if len(mine) == 0 {
		return nil
	}
	var orphans []string
	err := e.store.View(ctx, func(tx *store.Tx) error {
		orphans = nil
		for id, key := range mine {
			s, exists, err := store.Get[sandboxRecord](tx, kindSandbox, key)
			if err != nil {
				return err
			}
			if !exists || s.Deleted {
				orphans = append(orphans, id)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range orphans {
		e.endGuest(ctx, id)
	}
	return nil
}
