package backend

import (
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// instances remembers the sandboxes that this process has seen alive and not seen
// gone, so that they are found even when the engine cannot list.
type instances struct {
	mu   sync.Mutex
	byID map[string]*instance
}

// instance is one live sandbox, shared by all its sessions.
type instance struct {
	id   string
	name string
	who  identity
	gate freezeGate
	spec *sandbox.Spec // it was made for, nil when another process made it
	user toldUser
}

// note answers the record of the guest, making it on first sight.
func (r *instances) note(guest engine.Guest, name string, who identity) *instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := guest.ID()
	if known := r.byID[id]; known != nil {
		return known
	}
	if r.byID == nil {
		r.byID = map[string]*instance{}
	}
	made := &instance{id: id, name: name, who: who}
	r.byID[id] = made
	return made
}

// madeFor remembers the spec that an instance of this process was made for.
func (r *instances) madeFor(inst *instance, spec *sandbox.Spec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	inst.spec = spec
}

func (r *instances) specOf(inst *instance) *sandbox.Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	return inst.spec
}

func (r *instances) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, id)
}

// knows reports whether there is an instance of that name.
func (r *instances) knows(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range r.byID {
		if i.name == name {
			return true
		}
	}
	return false
}

func (r *instances) matching(match func(identity) bool) []*instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*instance
	for _, i := range r.byID {
		if match(i.who) {
			found = append(found, i)
		}
	}
	return found
}
