package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// purgeIn scripts what a backend answers when it is asked to dispose.
type purgeIn struct {
	Count   int
	Raises  string
	Failure string
	Foreign string
	BareInt bool `json:"bare_int"`
}

type scopeOut struct {
	Error      string
	Disposed   int
	Asked      []int
	Undisposed *string
	Mentions   []string `json:"detail_mentions"`
}

type purgeOut struct {
	DisposeScope scopeOut `json:"dispose_scope"`
	Dispose      *struct {
		Asked []int
	}
	ScopeBlock *struct{ Inside, Disposed int } `json:"scope_block"`
}

// disposing is a backend that answers by its script and notes that it was asked.
type disposing struct {
	in    backendIn
	decl  sandbox.Declarations
	place int
	asked *[]int
}

func (b *disposing) Name() string                       { return b.in.Name }
func (b *disposing) Declarations() sandbox.Declarations { return b.decl }

func (b *disposing) Acquire(context.Context, sandbox.AcquireRequest) (sandbox.Acquired, error) {
	return sandbox.Acquired{}, errors.New("this backend only disposes")
}

func (b *disposing) Dispose(context.Context, sandbox.DisposeRequest) *sandbox.DisposalFailure {
	*b.asked = append(*b.asked, b.place)
	return b.failure()
}

func (b *disposing) DisposeScope(context.Context, string, string, string) sandbox.ScopeDisposal {
	*b.asked = append(*b.asked, b.place)
	if b.in.Purge.Raises != "" {
		return sandbox.ScopeDisposal{Undisposed: b.failure()}
	}
	return sandbox.ScopeDisposal{Disposed: b.in.Purge.Count, Undisposed: b.failure()}
}

// failure is the scripted one. What raises in Python is in Go a failure without
// a code.
func (b *disposing) failure() *sandbox.DisposalFailure {
	switch p := b.in.Purge; {
	case p.Raises != "":
		return &sandbox.DisposalFailure{Detail: p.Raises, Err: errors.New(p.Raises)}
	case p.Failure != "":
		return &sandbox.DisposalFailure{Code: disposalCode(p.Failure), Detail: p.Failure}
	default:
		return nil
	}
}

// purged is the comparable outcome of one question to all backends.
type purged struct {
	Disposed   int
	Asked      []int
	Undisposed string
	Block      int
	DisposedBy []int // asked by dispose
}

// judgePurge disposes a scope, then a key, through a router over the scripted
// backends. Ours asks them in the order of their names, the reference in that of
// their registration; that each is asked once is what is compared.
func judgePurge(in *selectionIn, out *selectionOut) (answer, error) {
	ctx := context.Background()
	var asked []int
	r, err := purgingRouter(ctx, in, &asked)
	if err != nil {
		return answer{}, err
	}
	ours := purged{}
	total, err := r.DisposeScope(ctx, "scope", "thread")
	ours.Disposed, ours.Asked = total.Disposed, sorted(&asked)
	if total.Undisposed != nil {
		ours.Undisposed = total.Undisposed.Code.String()
		for _, name := range out.DisposeScope.Mentions {
			if !strings.Contains(total.Undisposed.Detail, name) {
				ours.Undisposed += " without naming " + name
			}
		}
	}
	if (err == nil) != (total.Undisposed == nil) {
		return answer{}, fmt.Errorf("outcome (%w) and error (%w) disagree", total.Undisposed, err)
	}

	theirs := purged{Disposed: out.DisposeScope.Disposed, Asked: out.DisposeScope.Asked, Undisposed: out.DisposeScope.Error}
	if out.DisposeScope.Undisposed != nil {
		theirs.Undisposed = *out.DisposeScope.Undisposed
	}
	if out.ScopeBlock != nil {
		again, _ := r.DisposeScope(ctx, "scope", "thread")
		ours.Block, theirs.Block = again.Disposed, out.ScopeBlock.Disposed
		asked = nil
	}
	if out.Dispose != nil {
		_ = r.Dispose(ctx, sandbox.Key{Scope: "scope", Thread: "thread", Agent: "agent"})
		ours.DisposedBy, theirs.DisposedBy = sorted(&asked), out.Dispose.Asked
	}
	return answer{ours: asText(ours), theirs: asText(theirs)}, nil
}

// sorted takes the list and empties it.
func sorted(list *[]int) []int {
	taken := *list
	*list = nil
	slices.Sort(taken)
	return taken
}

func purgingRouter(ctx context.Context, in *selectionIn, asked *[]int) (*router.Router, error) {
	opts := router.Options{Owner: "vectors"}
	for i, b := range in.Backends {
		d, err := b.declarations()
		if err != nil {
			return nil, err
		}
		opts.Backends = append(opts.Backends, &disposing{in: b, decl: d, place: i, asked: asked})
	}
	m := manifest.Manifest{Workloads: map[string]sandbox.Spec{
		probedKind: {Kind: probedKind, Backend: in.Backends[0].Name},
	}}
	var err error
	if opts.Manifest, err = m.Encode(); err != nil {
		return nil, err
	}
	opts.Accept = []manifest.Digest{manifest.DigestOf(opts.Manifest)}
	return router.Open(ctx, opts)
}
