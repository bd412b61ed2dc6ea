package egressproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/parts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/stubdns"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// maxTried is how many addresses of a name are tried.
const maxTried = 4

// connector opens a connection to an address that was judged.
type connector func(ctx context.Context, to netip.AddrPort) (net.Conn, error)

// dialler reaches destinations that the rules admit: it looks a name up once,
// judges every address of it, and dials the judged addresses, never the name.
type dialler struct {
	names    func(ctx context.Context, network, rooted string) ([]netip.Addr, error)
	own      func() ([]netip.Addr, error)
	connect  connector // unless there is an upstream
	upstream *upstream // nil where servers are reached without one
	checks   *parts.Checks
	limits   *Limits
	gates    *gates
}

// dial opens a connection. Its error is a [*denial].
func (d *dialler) dial(ctx context.Context, to destination) (net.Conn, error) {
	t, err := enter(ctx, &d.gates.dials, d.limits.DialTimeout, "servers are being dialled")
	if err != nil {
		return nil, err
	}
	defer t.leave()
	addrs, via, err := d.addresses(ctx, to)
	if err != nil {
		return nil, err
	}
	connect := d.connect
	if d.upstream != nil {
		connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) { return d.throughUpstream(ctx, via, to) }
	}
	conn, err := d.first(ctx, connect, addrs, to.port)
	if err == nil {
		return conn, nil
	}
	if refused, ok := errors.AsType[*denial](err); ok {
		return nil, refused
	}
	return nil, deny(sandbox.CodeEgressUpstreamFailed, http.StatusBadGateway, "the server "+failure(err))
}

// first connects to the first address that answers. What time is left is divided,
// so that one that is silent leaves some for the others.
func (d *dialler) first(ctx context.Context, connect connector, addrs []netip.Addr, port uint16) (conn net.Conn, err error) {
	deadline := time.Now().Add(d.limits.DialTimeout)
	for i, addr := range addrs {
		each, done := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(addrs)-i))
		conn, err = connect(each, netip.AddrPortFrom(addr, port))
		done()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return conn, err
}

// failure says what became of a connection, without an address of this machine.
func failure(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused the connection"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "is not reachable from here"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "did not answer in time"
	default:
		return "could not be connected to"
	}
}

// addresses are the judged addresses of a destination, and those of the upstream that
// they were held against. IPv4 comes first, since where IPv6 does not work its silence
// would cost the time of both.
func (d *dialler) addresses(ctx context.Context, to destination) (addrs, via []netip.Addr, err error) {
	own, err := d.own()
	if err != nil {
		return nil, nil, deny(sandbox.CodeEgressAddressRefused, http.StatusForbidden, "the host's own addresses are not known")
	}
	if to.addr.IsValid() {
		// A rule that names an address opens a private one, and no other special one:
		// those were refused before the rules were asked.
		if isOneOf(own, to.addr) {
			return nil, nil, deny(sandbox.CodeEgressAddressRefused, http.StatusForbidden, "it is the host's own address")
		}
		addrs = []netip.Addr{to.addr}
		via, err = d.besideUpstream(ctx, addrs)
		return addrs, via, err
	}
	if addrs, err = d.lookup(ctx, to.name); err != nil {
		return nil, nil, err
	}
	if why := d.checks.Answers(addrs, own); why != "" {
		return nil, nil, deny(sandbox.CodeEgressAddressRefused, http.StatusForbidden, "an address of the name is "+why)
	}
	if via, err = d.besideUpstream(ctx, addrs); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return addrs[:min(len(addrs), maxTried)], via, nil
}

// isOneOf reports whether an address is one of these, or leads to one of them by way of
// a translation.
func isOneOf(these []netip.Addr, addr netip.Addr) bool {
	inner, carries := egress.CarriedAddress(addr)
	return slices.Contains(these, addr) || carries && slices.Contains(these, inner)
}

// besideUpstream refuses the addresses of the upstream proxy, which may be in a
// range that a rule opens: whoever speaks to it directly is admitted by its rules. It
// gives them, so that those are dialled that were looked at, and no later answer.
func (d *dialler) besideUpstream(ctx context.Context, addrs []netip.Addr) (via []netip.Addr, err error) {
	if d.upstream == nil {
		return nil, nil
	}
	if via, err = d.upstream.own(ctx); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(addrs, func(a netip.Addr) bool { return isOneOf(via, a) }) {
		return nil, deny(sandbox.CodeEgressAddressRefused, http.StatusForbidden, "it is the upstream proxy's own address")
	}
	return via, nil
}

func (d *dialler) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	t, err := enter(ctx, &d.gates.lookups, d.limits.LookupTimeout, "names are being looked up")
	if err != nil {
		return nil, err
	}
	defer t.leave()
	ctx, cancel := context.WithTimeout(ctx, d.limits.LookupTimeout)
	defer cancel()
	addrs, err := d.names(ctx, "ip", name+".")
	var dns *net.DNSError
	switch {
	case errors.Is(err, stubdns.ErrNoAddress), errors.As(err, &dns) && dns.IsNotFound, err == nil && len(addrs) == 0:
		return nil, deny(sandbox.CodeEgressUnresolved, http.StatusBadGateway, "the name has no address")
	case err != nil:
		return nil, deny(sandbox.CodeEgressUnresolved, http.StatusGatewayTimeout, "the name servers did not answer")
	}
	return slices.Clone(addrs), nil
}

// enter waits at a gate for as long as the thing itself may take.
func enter(ctx context.Context, g *gate, most time.Duration, what string) (ticket, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	t, err := g.enter(ctx)
	if err != nil {
		return ticket{}, deny(sandbox.CodeEgressProxyLimit, http.StatusServiceUnavailable, "too many "+what+" at once")
	}
	return t, nil
}

// onNetwork connects over the machine's network. The address is judged as the
// system is about to dial it, and the connection once it stands: an address that
// is routed to the machine itself without being an interface's shows by being its
// own source.
func (d *dialler) onNetwork(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	network := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error { return d.control(to, address) }}
	conn, err := network.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, fmt.Errorf("connect to a judged address: %w", err)
	}
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil || local.Addr().Unmap() == to.Addr() {
		conn.Close()
		return nil, deny(sandbox.CodeEgressAddressRefused, http.StatusForbidden, "it is the host's own address")
	}
	return conn, nil
}

// throughUpstream connects by way of the upstream proxy at one of its addresses. The
// address is judged as it is asked for.
func (d *dialler) throughUpstream(ctx context.Context, via []netip.Addr, to netip.AddrPort) (net.Conn, error) {
	if err := d.control(to, to.String()); err != nil {
		return nil, err
	}
	return d.upstream.connect(ctx, via, to)
}

// control judges what the system is about to dial.
func (d *dialler) control(judged netip.AddrPort, dialled string) error {
	if !d.checks.Stays(judged, dialled) {
		return deny(sandbox.CodeEgressAddressRefused, http.StatusForbidden, "another address than the one that was judged")
	}
	if why := d.checks.Blocked(egress.Request{Addr: judged.Addr(), Port: judged.Port()}); why != "" {
		return deny(sandbox.CodeEgressAddressRefused, http.StatusForbidden, "it is "+why)
	}
	return nil
}

// interfaceAddresses are the addresses of the machine's interfaces.
func interfaceAddresses() ([]netip.Addr, error) {
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("read the addresses of the machine's interfaces: %w", err)
	}
	addrs := make([]netip.Addr, 0, len(nets))
	for _, n := range nets {
		if prefix, err := netip.ParsePrefix(n.String()); err == nil {
			addrs = append(addrs, prefix.Addr().Unmap().WithZone(""))
		}
	}
	return addrs, nil
}
