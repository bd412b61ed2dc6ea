package output

import (
	"context"
	"io"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Sink is where outputs land. It owns the question of what its places mean and
// whether a name could lead out of them.
type Sink interface {
	// Begin opens one delivery. It is asked once for a collection that has
	// something to land, after every file was looked at.
	Begin(ctx context.Context, from Origin) (Delivery, error)
}

// Delivery is all that one collection lands: staged piece by piece, made visible
// at once.
type Delivery interface {
	// Stage takes one artifact, of exactly the size it says, and keeps it out of
	// sight. Content that ends in an error was not taken.
	Stage(ctx context.Context, artifact Artifact, content io.Reader) (Landed, error)
	// Commit makes everything staged visible, or nothing.
	Commit(ctx context.Context) error
	// Abort drops what was staged and not committed. It is called once at the end,
	// also after a Commit: it tidies up then, and can no longer fail.
	Abort() error
}

// Planner is a [Delivery] that is told, once and before anything is staged, all that
// is going to be: it can refuse then, before a byte is read.
type Planner interface {
	Plan(ctx context.Context, artifacts []Artifact) error
}

// Origin says whose outputs are landed. Sinks keep origins apart.
type Origin struct {
	// Owner, Key and Kind are the session's.
	Owner string
	Key   sandbox.Key
	Kind  string
	// Call names the tool call; it is Key.Call unless [ForCall] said otherwise.
	Call string
}

// Artifact is one output on its way.
type Artifact struct {
	// Name is the name it lands under, judged and in the delivered spelling.
	Name string
	// Kind is the workload's kind; MediaType is declared, never sniffed.
	Kind      string
	MediaType string
	// Size is in bytes.
	Size int64
}

// Landed is one output that arrived.
type Landed struct {
	Name string
	// Display is the only line about it that a model may see, by default that of
	// [DisplayOf].
	Display string
	// Handle is for the host, such as a path; it is never shown to a model.
	Handle string
	// Size is in bytes, as received.
	Size int64
}

// maxDisplay is how many bytes of a name are shown.
const maxDisplay = 200

// DisplayOf is an artifact as a model may see it: its name, quoted as soon as
// anything in it could pass for something else, and its size.
func DisplayOf(a Artifact) string {
	name := sandbox.Echo(a.Name)
	if name == `"`+a.Name+`"` && len(a.Name) <= maxDisplay {
		name = a.Name
	}
	return name + " (" + strconv.FormatInt(a.Size, 10) + " bytes)"
}
