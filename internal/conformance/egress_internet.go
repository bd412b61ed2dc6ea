package conformance

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
)

// internet is the world of a run, with the servers that the probes put there.
type internet struct {
	*egressworld.World

	asked atomic.Int64 // requests that reached any server

	mu    sync.Mutex
	there map[string]bool // what was put there already
}

// reached begins the answer of every server, so that a guest that shows it has
// been there.
const reached = "the world was reached"

// directBound is how long a premise may take.
const directBound = 10 * time.Second

func newInternet(e *Egress) *internet {
	if e == nil || e.World == nil {
		return nil
	}
	return &internet{World: e.World, there: map[string]bool{}}
}

// ServeHTTP says what was asked.
func (n *internet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	size, _ := io.Copy(io.Discard, r.Body) // a body that breaks off is the guest's
	n.asked.Add(1)
	fmt.Fprintf(w, "%s: %s %s %s, %d bytes", reached, r.Method, r.Host, r.RequestURI, size) //nolint:gosec // it answers no browser
}

func (n *internet) requests() int { return int(n.asked.Load()) }

// once puts something there, unless it is.
func (n *internet) once(what string, put func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.there[what] {
		return nil
	}
	if err := put(); err != nil {
		return notShown("putting %s into the world: %v", what, err)
	}
	n.there[what] = true
	return nil
}

// sites have servers at ports 80 and 443, each at an address of its own.
func (n *internet) sites(names ...string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, n.once("the site "+name, func() error {
			_, err := n.Site(name, n)
			return err
		}))
	}
	return errors.Join(errs...)
}

// everywhere has a server at port 80 of each address.
func (n *internet) everywhere(addrs ...netip.Addr) error {
	var errs []error
	for _, addr := range addrs {
		errs = append(errs, n.once("a server at "+addr.String(), func() error {
			return n.HTTP(netip.AddrPortFrom(addr, 80), n)
		}))
	}
	return errors.Join(errs...)
}

// another has a server at another port of an address.
func (n *internet) another(addr netip.Addr, port uint16) error {
	at := netip.AddrPortFrom(addr, port)
	return n.once("a server at "+at.String(), func() error { return n.HTTP(at, n) })
}

// secure has a server for names at one address and port, over TLS.
func (n *internet) secure(at netip.AddrPort, change func(*tls.Config), names ...string) error {
	return n.once("a server with TLS at "+at.String(), func() error { return n.HTTPS(at, n, change, names...) })
}

// answers checks that whoever is not confined is answered at an address and port:
// what a refusal is worth.
func (n *internet) answers(ctx context.Context, authorities ...string) error {
	for _, authority := range authorities {
		if err := n.once("an answer of "+authority, func() error { return n.direct(ctx, authority) }); err != nil {
			return err
		}
	}
	return nil
}

func (n *internet) direct(ctx context.Context, authority string) error {
	ctx, cancel := context.WithTimeout(ctx, directBound)
	defer cancel()
	conn, err := n.dial(ctx, authority)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+authority+"/", http.NoBody)
	if err != nil {
		return err
	}
	if err := request.Write(conn); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}

// dial connects as somebody whom nothing confines.
func (n *internet) dial(ctx context.Context, authority string) (net.Conn, error) {
	if at, err := netip.ParseAddrPort(authority); err == nil {
		return n.Connect(ctx, at)
	}
	host, port, err := net.SplitHostPort(authority)
	if err != nil {
		return nil, err
	}
	addrs, err := n.LookupNetIP(ctx, "ip", host+".")
	if err != nil {
		return nil, err
	}
	at, err := netip.ParseAddrPort(net.JoinHostPort(addrs[0].String(), port))
	if err != nil {
		return nil, err
	}
	return n.Connect(ctx, at)
}
