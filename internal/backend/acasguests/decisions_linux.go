package acasguests

import (
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// keptDecisions is how many of each kind the service shows.
const keptDecisions = 50

// decisions is the log of what a sandbox's requests were answered.
type decisions struct {
	mu              sync.Mutex
	allowed, denied []wire.DecisionEntry
}

// Observe adds one. The service's log has no place for what was missed.
func (d *decisions) Observe(e egress.Event) {
	if e.Lost {
		return
	}
	entry := wire.DecisionEntry{
		Timestamp: e.Time.UTC().Format(time.RFC3339Nano), Host: e.Host, Method: e.Method, Path: e.Path, Scheme: schemeOf(e),
	}
	if e.Layer == egress.LayerConnection && e.Method == "" {
		entry.Method = "CONNECT"
	}
	if e.Rule != "" {
		entry.MatchedRule = jsontext.Value(strconv.Quote(e.Rule))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.Allowed {
		d.allowed = lastOf(append(d.allowed, entry))
	} else {
		d.denied = lastOf(append(d.denied, entry))
	}
}

func schemeOf(e egress.Event) string {
	if e.Layer == egress.LayerRequest {
		return "http"
	}
	return "https"
}

func lastOf(entries []wire.DecisionEntry) []wire.DecisionEntry {
	return entries[max(0, len(entries)-keptDecisions):]
}

func (d *decisions) read() wire.DecisionLog {
	d.mu.Lock()
	defer d.mu.Unlock()
	return wire.DecisionLog{
		Allowed: append([]wire.DecisionEntry{}, d.allowed...), Denied: append([]wire.DecisionEntry{}, d.denied...),
	}
}
