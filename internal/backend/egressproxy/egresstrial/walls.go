package egresstrial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const plainPort = 80

// The hosts. Each wall has its own, so that what the internet heard of one says
// nothing about another.
const (
	open       = "open.example.com"
	shut       = "shut.example.com"
	ported     = "ported.example.com"
	bound      = "bound.example.com"
	methods    = "methods.example.com"
	paths      = "paths.example.com"
	forwarding = "forwarding.example.com" // leads to a metadata service
)

var (
	ruledAddress   = netip.AddrFrom4([4]byte{11, 0, 0, 8})
	unruledAddress = netip.AddrFrom4([4]byte{11, 0, 0, 9})
	nameServer     = netip.AddrFrom4([4]byte{11, 0, 0, 53})
	distant        = netip.AddrFrom16([16]byte{0: 0x26, 1: 0x20, 15: 1}) // in IPv6
	metadata       = netip.AddrFrom4([4]byte{169, 254, 169, 254})
	loopback       = netip.AddrFrom4([4]byte{127, 0, 0, 1})
)

// addresses are where names lead: public ones, since a proxy dials no other.
func addresses() map[string]netip.Addr {
	names := []string{open, shut, ported, bound, methods, paths}
	all := map[string]netip.Addr{
		forwarding: metadata, "ruled.example.com": ruledAddress, "unruled.example.com": unruledAddress,
	}
	for i, name := range names {
		all[name] = netip.AddrFrom4([4]byte{11, 0, 0, byte(i + 1)})
	}
	return all
}

// rules admit the allowed neighbour of each wall.
func rules() sandbox.Egress {
	all := []string{"*"}
	rule := func(host, port string) sandbox.EgressRule {
		return sandbox.EgressRule{Host: host, Ports: []string{port}, Methods: all, Paths: all}
	}
	get, below := rule(methods, "443"), rule(paths, "443")
	get.Methods, below.Paths = []string{http.MethodGet}, []string{"/v1"}
	return sandbox.Egress{
		Mode:  sandbox.EgressAllowlist,
		Hosts: []string{open, bound},
		Rules: map[string]sandbox.EgressRule{
			"plain": rule(open, "80"), "port": rule(ported, "8443"), "method": get, "path": below,
			"address": rule(ruledAddress.String(), "443"), "forwarding": rule(forwarding, "80"),
		},
	}
}

// wall is one thing to try. What it shows is said when it held.
type wall struct {
	name, shows string
	proves      []sandbox.Guarantee
	try         func(ctx context.Context, c client) error
}

func walls() []wall {
	return []wall{
		{"allowed hosts", "answered, over TLS and without", nil, tryAllowed},
		{"other hosts", "refused", nil, tryOtherHosts},
		{"without the proxy", "no route, in IPv4 and IPv6", nil, tryDirect},
		{"names", "none looked up but allowed ones, no name server in reach", []sandbox.Guarantee{sandbox.GuaranteeDNSConfined}, tryNames},
		{"addresses", "refused without a rule for them", []sandbox.Guarantee{sandbox.GuaranteeIPLiteralDenied}, tryAddresses},
		{"ports", "refused without a rule for them", []sandbox.Guarantee{sandbox.GuaranteePortConfined}, tryPorts},
		{"server names", "no other than the tunnel's", []sandbox.Guarantee{sandbox.GuaranteeSNIBound}, tryServerNames},
		{"methods", "each request judged", []sandbox.Guarantee{sandbox.GuaranteeMethodConfined}, tryMethods},
		{"paths", "each request judged", []sandbox.Guarantee{sandbox.GuaranteePathConfined}, tryPaths},
		{"metadata services", "refused, by address and by name", []sandbox.Guarantee{sandbox.GuaranteeMetadataDenied}, tryMetadata},
		{"datagrams", "no route", []sandbox.Guarantee{sandbox.GuaranteeUDPDenied}, tryDatagrams},
	}
}

// answered expects an answer of the internet.
func answered(r reply, err error) error {
	if err != nil {
		return fmt.Errorf("the allowed neighbour: %w", err)
	}
	if r.status != http.StatusOK || r.code != "" {
		return fmt.Errorf("the allowed neighbour: answered %d %s", r.status, string(r.code))
	}
	return nil
}

// refused expects a refusal of the proxy, with one of its codes.
func refused(r reply, err error, codes ...sandbox.Code) error {
	if err != nil {
		return fmt.Errorf("not refused but broken: %w", err)
	}
	for _, code := range codes {
		if r.code == code && r.status >= http.StatusBadRequest {
			return nil
		}
	}
	return fmt.Errorf("let through, or refused otherwise: %d %s", r.status, string(r.code))
}

func tryAllowed(ctx context.Context, c client) error {
	return errors.Join(
		answered(c.secure(ctx, open+":443", open, "GET /", "POST /")),
		answered(c.plain(ctx, "http://"+open+"/")),
	)
}

func tryOtherHosts(ctx context.Context, c client) error {
	tunnel, err := c.tunnel(ctx, shut+":443")
	err = refused(tunnel, err, sandbox.CodeEgressDenied)
	plain, failed := c.plain(ctx, "http://"+shut+"/")
	return errors.Join(err, refused(plain, failed, sandbox.CodeEgressDenied), c.unheard(shut))
}

func tryDirect(ctx context.Context, c client) error {
	if err := c.connects(ctx, "tcp", c.proxy); err != nil {
		return err
	}
	return errors.Join(
		c.unroutable(ctx, "tcp", netip.AddrPortFrom(addresses()[open], 443)),
		c.unroutable(ctx, "tcp", netip.AddrPortFrom(distant, 443)),
	)
}

func tryNames(ctx context.Context, c client) error {
	if err := c.connects(ctx, "udp", netip.AddrPortFrom(loopback, 53)); err != nil {
		return err
	}
	const other = "other.example.com" // which no other wall asks for
	r, err := c.tunnel(ctx, other+":443")
	err = errors.Join(refused(r, err, sandbox.CodeEgressDenied), c.unheard(other))
	for _, network := range []string{"tcp", "udp"} {
		err = errors.Join(err, c.unroutable(ctx, network, netip.AddrPortFrom(nameServer, 53)))
	}
	return err
}

func tryAddresses(ctx context.Context, c client) error {
	ruled := netip.AddrPortFrom(ruledAddress, 443).String()
	if err := answered(c.secure(ctx, ruled, "", "GET /")); err != nil {
		return err
	}
	r, err := c.tunnel(ctx, netip.AddrPortFrom(unruledAddress, 443).String())
	return errors.Join(refused(r, err, sandbox.CodeEgressDenied), c.undialed(unruledAddress))
}

func tryPorts(ctx context.Context, c client) error {
	if err := answered(c.secure(ctx, ported+":8443", ported, "GET /")); err != nil {
		return err
	}
	before := c.dials(addresses()[ported])
	r, err := c.tunnel(ctx, ported+":443")
	err = refused(r, err, sandbox.CodeEgressDenied)
	if c.dials(addresses()[ported]) != before {
		err = errors.Join(err, errors.New("the server was connected to"))
	}
	return err
}

func tryServerNames(ctx context.Context, c client) error {
	if err := answered(c.secure(ctx, bound+":443", bound, "GET /")); err != nil {
		return err
	}
	const other = "fronted.example.com"
	r, err := c.secure(ctx, bound+":443", other, "GET /")
	if err == nil {
		return fmt.Errorf("another name was let through: %d %s", r.status, string(r.code))
	}
	if c.world.count(func() int { return c.world.greets[other] }) > 0 {
		return errors.New("a greeting by another name was passed on")
	}
	return nil
}

func tryMethods(ctx context.Context, c client) error {
	if err := answered(c.secure(ctx, methods+":443", methods, "GET /")); err != nil {
		return err
	}
	r, err := c.secure(ctx, methods+":443", methods, "GET /", "POST /")
	return errors.Join(refused(r, err, sandbox.CodeEgressDenied), c.unasked("POST "+methods))
}

func tryPaths(ctx context.Context, c client) error {
	if err := answered(c.secure(ctx, paths+":443", paths, "GET /v1/x")); err != nil {
		return err
	}
	r, err := c.secure(ctx, paths+":443", paths, "GET /v1", "GET /v2")
	return errors.Join(refused(r, err, sandbox.CodeEgressDenied), c.unasked("GET "+paths+"/v2"))
}

func tryMetadata(ctx context.Context, c client) error {
	at := "http://" + metadata.String() + "/latest/meta-data/"
	r, err := c.plain(ctx, at)
	err = refused(r, err, sandbox.CodeEgressAlwaysBlocked, sandbox.CodeEgressDenied)
	r, failed := c.plain(ctx, strings.Replace(at, metadata.String(), forwarding, 1))
	return errors.Join(
		err, refused(r, failed, sandbox.CodeEgressAddressRefused, sandbox.CodeEgressAlwaysBlocked),
		c.undialed(metadata), c.unroutable(ctx, "tcp", netip.AddrPortFrom(metadata, plainPort)),
	)
}

func tryDatagrams(ctx context.Context, c client) error {
	if err := c.connects(ctx, "udp", netip.AddrPortFrom(loopback, 443)); err != nil {
		return err
	}
	return errors.Join(
		c.unroutable(ctx, "udp", netip.AddrPortFrom(addresses()[open], 443)),
		c.unroutable(ctx, "udp", netip.AddrPortFrom(distant, 443)),
	)
}
