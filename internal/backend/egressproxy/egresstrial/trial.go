package egresstrial

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Trial is an internet and the rules of the sandbox that is tried. Make one with
// [New], and close it.
type Trial struct{ world *world }

// Guest is the sandbox that is tried.
type Guest interface {
	// Dial connects as a program of the guest does; the network is "tcp" or "udp".
	// Where the guest's own kernel does not connect, the error is
	// [ErrNotConnected]: nothing else is taken for a wall.
	Dial(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
}

// ErrNotConnected says that a guest's kernel did not connect.
var ErrNotConnected = errors.New("the guest's kernel did not connect")

// Wall is one thing that was tried.
type Wall struct {
	// Name is what was tried, and Shown what was seen.
	Name, Shown string
	// Proves are the guarantees that rest on it; one that proves none is what an
	// allowlist is.
	Proves []sandbox.Guarantee
	Held   bool
}

// New makes a trial.
func New() (*Trial, error) {
	w, err := newWorld(addresses())
	if err != nil {
		return nil, err
	}
	return &Trial{w}, nil
}

// Close ends the trial's servers.
func (t *Trial) Close() { t.world.close() }

// Egress are the rules that the sandbox has to have.
func (t *Trial) Egress() sandbox.Egress { return rules() }

// LookupNetIP is for the proxy to look names up with.
func (t *Trial) LookupNetIP(ctx context.Context, network, rooted string) ([]netip.Addr, error) {
	return t.world.LookupNetIP(ctx, network, rooted)
}

// Connect is for the proxy to reach servers with.
func (t *Trial) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return t.world.Connect(ctx, to)
}

// RootsPEM is what servers are verified with.
func (t *Trial) RootsPEM() []byte { return t.world.authority.CertificatePEM() }

// atOnce is how many walls are tried at once, each with hosts of its own.
const atOnce = 4

// Run tries every wall from inside the guest, whose proxy is at an address of its
// own, and which is told to trust what is in trust, PEM. What ctx's end leaves
// untried has not held.
func (t *Trial) Run(ctx context.Context, guest Guest, proxy netip.AddrPort, trust []byte) []Wall {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trust)
	c := client{guest: guest, proxy: proxy, roots: roots, world: t.world}
	all := walls()
	results := make([]Wall, len(all))
	room := make(chan struct{}, atOnce)
	var tried sync.WaitGroup
	for i, w := range all {
		room <- struct{}{}
		tried.Go(func() {
			defer func() { <-room }()
			results[i] = Wall{Name: w.name, Shown: w.shows, Proves: slices.Clone(w.proves), Held: true}
			if err := w.try(ctx, c); err != nil {
				results[i].Held, results[i].Shown = false, err.Error()
			}
		})
	}
	tried.Wait()
	return results
}

// Enforced reports whether an allowlist is enforced at all: every wall held that
// proves no more than that.
func Enforced(walls []Wall) bool {
	for _, w := range walls {
		if len(w.Proves) == 0 && !w.Held {
			return false
		}
	}
	return len(walls) > 0
}

// Proof is what was seen of a guarantee, and whether every wall of it held. A
// guarantee without a wall is not given.
func Proof(walls []Wall, of sandbox.Guarantee) (shown []string, held bool) {
	held = true
	for _, w := range walls {
		if slices.Contains(w.Proves, of) {
			shown = append(shown, w.Name+" ("+w.Shown+")")
			held = held && w.Held
		}
	}
	return shown, held && len(shown) > 0
}
