package acasguests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/stubdns"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// world is the internet with a few names that lead to this machine. They have
// public addresses on the way, as every name must that a proxy admits, of a block
// that nobody on the internet answers from.
type world struct {
	names    map[string]netip.Addr
	places   map[netip.Addr]string
	internet resolver
}

// resolver looks up all other names.
type resolver interface {
	LookupNetIP(ctx context.Context, network, rooted string) ([]netip.Addr, error)
}

// firstPlace begins the block 11.0.0.0/8, which is public and announced by nobody.
var firstPlace = netip.AddrFrom4([4]byte{11, 0, 0, 1})

// newWorld is nil where no name leads anywhere but where the internet says.
func newWorld(resolve map[string]string) (*world, error) {
	if len(resolve) == 0 {
		return nil, nil //nolint:nilnil // the internet as it is
	}
	w := &world{names: map[string]netip.Addr{}, places: map[netip.Addr]string{}}
	next := firstPlace
	for _, name := range slices.Sorted(maps.Keys(resolve)) {
		host, err := egress.NormalizeHost(name)
		if err != nil {
			return nil, fmt.Errorf("the name %s: %w", sandbox.Echo(name), err)
		}
		if _, _, err := net.SplitHostPort(resolve[name]); err != nil {
			return nil, fmt.Errorf("the address of %s: %w", sandbox.Echo(name), err)
		}
		w.names[host], w.places[next] = next, resolve[name]
		next = next.Next()
	}
	if servers, err := stubdns.SystemServers(); err == nil {
		w.internet = &stubdns.Resolver{Servers: servers}
	}
	return w, nil
}

var errNoSuchName = errors.New("this machine has no servers to look names up at")

// LookupNetIP gives the addresses of a rooted name.
func (w *world) LookupNetIP(ctx context.Context, network, rooted string) ([]netip.Addr, error) {
	if addr, ok := w.names[strings.TrimSuffix(rooted, ".")]; ok {
		return []netip.Addr{addr}, nil
	}
	if w.internet == nil {
		return nil, errNoSuchName
	}
	return w.internet.LookupNetIP(ctx, network, rooted)
}

// connect opens a connection to an address that was judged.
func (w *world) connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	if place, ok := w.places[to.Addr()]; ok {
		return d.DialContext(ctx, "tcp", place)
	}
	return d.DialContext(ctx, "tcp", to.String())
}
