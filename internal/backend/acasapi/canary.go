package acasapi

import (
	"cmp"
	"regexp"
	"slices"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// maxUnfamiliar bounds how many fields are kept, so that a hostile answer can fill
// neither the memory nor a metric's labels.
const maxUnfamiliar = 256

// canary counts the fields of answers that this client does not know. When the
// service renames one, it sings here before something breaks elsewhere.
type canary struct {
	tell func(op wire.Op, field string)

	mu   sync.Mutex
	seen map[Unfamiliar]int
}

// Unfamiliar is a field of an operation's answers that this client does not know,
// with list indices left out: "ports[].cors".
type Unfamiliar struct {
	Op    wire.Op
	Field string
}

// UnfamiliarCount is such a field and how often it was met.
type UnfamiliarCount struct {
	Unfamiliar
	Count int
}

func newCanary(tell func(wire.Op, string)) *canary {
	return &canary{tell: tell, seen: map[Unfamiliar]int{}}
}

var listIndex = regexp.MustCompile(`\[\d+\]`)

func (c *canary) note(op wire.Op, document any) {
	for _, path := range wire.Unknown(document) {
		c.met(Unfamiliar{op, fieldWord(listIndex.ReplaceAllString(path, "[]"))})
	}
}

func (c *canary) met(u Unfamiliar) {
	c.mu.Lock()
	n := c.seen[u]
	if n == 0 && len(c.seen) == maxUnfamiliar {
		c.mu.Unlock()
		return
	}
	c.seen[u] = n + 1
	c.mu.Unlock()
	if n == 0 && c.tell != nil {
		c.tell(u.Op, u.Field)
	}
}

// Unfamiliar lists the fields of answers, since the client was made, that it does
// not know.
func (c *Client) Unfamiliar() []UnfamiliarCount {
	c.canary.mu.Lock()
	defer c.canary.mu.Unlock()
	counts := make([]UnfamiliarCount, 0, len(c.canary.seen))
	for u, n := range c.canary.seen {
		counts = append(counts, UnfamiliarCount{u, n})
	}
	slices.SortFunc(counts, func(a, b UnfamiliarCount) int {
		return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Field, b.Field))
	})
	return counts
}
