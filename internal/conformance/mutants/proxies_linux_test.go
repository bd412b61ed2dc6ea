package mutants_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressflaws"
)

// shown is the probe of a guarantee.
func shown(guarantee string) string {
	return "EGRESS_GUARANTEES/" + guarantee + "-is-declared-and-shown"
}

// flawNotices are which probes have to notice each flaw of a proxy: the first by
// name, the others too. What a running sandbox's rules become is not here: no
// backend changes them.
var flawNotices = map[string][]string{
	"the port is not compared":                                  {"EGRESS_HOSTS/another-port-is-refused", "EGRESS_NAMES/an-allowed-host-is-no-name-server", shown("port-confined")},
	"a host is compared by its end":                             {"EGRESS_HOSTS/a-denied-host-is-refused"},
	"a host is compared by its beginning":                       {"EGRESS_HOSTS/a-denied-host-is-refused"},
	"a host in capitals is no host":                             {"EGRESS_HOSTS/one-host-in-other-spellings"},
	"an address is as good as the name that leads there":        {"EGRESS_ADDRESSES/an-address-that-no-rule-names-is-refused", shown("ip-literal-denied")},
	"an address is as good as the one before it":                {"EGRESS_ADDRESSES/an-address-rule-admits-its-addresses-alone"},
	"names are looked up before they are decided":               {"EGRESS_NAMES/only-names-that-a-rule-admits-are-looked-up", shown("dns-confined")},
	"names are not rooted":                                      {"EGRESS_NAMES/only-names-that-a-rule-admits-are-looked-up"},
	"names are looked up twice, once to judge and once to dial": {"EGRESS_ADDRESSES/a-name-that-changes-its-address-is-judged-again"},
	"only the first answer is judged":                           {"EGRESS_ADDRESSES/one-special-answer-among-good-ones-refuses-all"},
	"only private and loopback answers are refused":             {"EGRESS_ADDRESSES/a-name-that-leads-to-a-special-address-is-refused"},
	"answers are not judged":                                    {"EGRESS_ADDRESSES/a-name-that-leads-to-a-special-address-is-refused", "EGRESS_ADDRESSES/a-name-that-changes-its-address-is-judged-again", "EGRESS_ADDRESSES/metadata-is-refused-whatever-the-rules-say"},
	"the host's own addresses are not known":                    {"EGRESS_ADDRESSES/the-hosts-own-addresses-are-refused"},
	"rules open metadata and loopback":                          {"EGRESS_ADDRESSES/metadata-is-refused-whatever-the-rules-say", shown("metadata-denied")},

	"the server name is not compared":                           {"EGRESS_TLS/a-server-name-other-than-the-tunnels-is-refused", "EGRESS_TLS/no-server-name-is-refused", "EGRESS_TLS/an-encrypted-name-is-judged-by-its-outer-one", "EGRESS_TLS/a-tunnel-to-an-address-has-no-server-name", shown("sni-bound")},
	"a missing server name is good":                             {"EGRESS_TLS/no-server-name-is-refused"},
	"the server name is held against the rules, not the tunnel": {"EGRESS_TLS/a-server-name-other-than-the-tunnels-is-refused", "EGRESS_TLS/an-encrypted-name-is-judged-by-its-outer-one"},
	"a tunnel is passed through where rules restrict requests":  {"EGRESS_OPENED/no-tunnel-hides-what-rules-restrict"},
	"servers of opened connections are not verified":            {"EGRESS_OPENED/a-server-that-nobody-vouches-for-is-refused"},
	"the authority may speak for everybody":                     {"EGRESS_OPENED/the-authority-speaks-for-the-rules-hosts-alone"},

	"heads are not judged":                         {"EGRESS_REQUESTS/requests-that-two-readers-take-for-two-are-refused"},
	"line ends are not judged":                     {"EGRESS_REQUESTS/requests-that-two-readers-take-for-two-are-refused"},
	"the Host header is not compared":              {"EGRESS_REQUESTS/a-host-header-other-than-the-targets-is-refused", "EGRESS_OPENED/requests-inside-tls-are-judged", "EGRESS_OPENED/streams-of-http2-are-judged"},
	"the Host header is compared without its port": {"EGRESS_REQUESTS/a-host-header-other-than-the-targets-is-refused"},
	"only the first request is judged":             {"EGRESS_REQUESTS/the-second-request-of-a-connection-is-judged", "EGRESS_OPENED/the-second-request-inside-tls-is-judged"},
	"paths are decoded before they are compared":   {"EGRESS_REQUESTS/other-paths-are-refused-however-they-are-written"},
	"paths are cleaned before they are compared":   {"EGRESS_REQUESTS/other-paths-are-refused-however-they-are-written"},
	"methods are compared without case":            {"EGRESS_REQUESTS/other-methods-are-refused"},
	"methods are not compared":                     {"EGRESS_REQUESTS/other-methods-are-refused", shown("method-confined")},
	"paths are not compared":                       {"EGRESS_REQUESTS/other-paths-are-refused-however-they-are-written", "EGRESS_OPENED/requests-inside-tls-are-judged", shown("path-confined")},
	"upgrades go through":                          {"EGRESS_REQUESTS/websockets-h2c-and-nested-tunnels-are-refused"},
	"overriding headers go through":                {"EGRESS_REQUESTS/headers-that-override-are-refused"},
	"overriding headers are known by one name":     {"EGRESS_REQUESTS/headers-that-override-are-refused"},
}

// proxyMutants are proxies with one thing wrong, each in front of this machine's own
// programs, which are well-behaved enough to ask it.
func proxyMutants() []mutant {
	var mutants []mutant
	for _, flaw := range egressflaws.Flaws() {
		by := flawNotices[flaw.Name]
		if len(by) == 0 {
			continue
		}
		mutants = append(mutants, mutant{name: flaw.Name, by: by[0], also: by[1:], make: door{flaw: &flaw}.subject})
	}
	return append(mutants, madeWrong()...)
}

// madeWrong are sound proxies that are made of the wrong things, or asked and
// answered by others.
func madeWrong() []mutant {
	wrong := func(name, by string, d door) mutant {
		probes := strings.Fields(by)
		return mutant{name: name, by: probes[0], also: probes[1:], make: d.subject}
	}
	limits := func(change func(*egressproxy.Limits)) func(*egressproxy.Config) {
		return func(c *egressproxy.Config) { change(&c.Limits) }
	}
	return []mutant{
		wrong("nothing is admitted", "EGRESS_HOSTS/an-allowed-host-is-reachable", door{config: func(c *egressproxy.Config) { c.Rules = nil }}),
		wrong("every sandbox has the rules of the first", "EGRESS_HOSTS/what-one-sandbox-may-another-may-not", door{sharesRules: true}),
		wrong("nobody is told of decisions", "EGRESS_HOSTS/every-decision-is-told", door{config: func(c *egressproxy.Config) { c.Observer = nil }}),
		wrong("what stands before a host is dropped", "EGRESS_HOSTS/a-spelling-that-readers-disagree-about-is-refused", door{listen: func(_ *doorEngine, l net.Listener) net.Listener {
			return changedConns{l, func(c net.Conn) net.Conn { return userless{c} }}
		}}),
		wrong("tunnels carry whatever they are given", "EGRESS_TLS/a-tunnel-carries-nothing-but-tls EGRESS_TLS/no-server-name-is-refused EGRESS_REQUESTS/websockets-h2c-and-nested-tunnels-are-refused", door{listen: func(e *doorEngine, l net.Listener) net.Listener {
			return changedConns{l, e.naive}
		}}),
		wrong("a tunnel ends after half a megabyte", "EGRESS_TLS/what-a-tunnel-carries-is-untouched", door{config: toServers(func(c net.Conn) net.Conn { return &bounded{Conn: c, left: 512 << 10} })}),
		wrong("half an end is the end", "EGRESS_LIMITS/half-an-end-leaves-the-other-half", door{config: toServers(func(c net.Conn) net.Conn { return wholly{c} })}),
		wrong("programs trust the authorities of all sandboxes", "EGRESS_OPENED/another-sandboxs-authority-is-worth-nothing-here", door{sharesTrust: true}),
		wrong("slow clients are waited for", "EGRESS_LIMITS/slow-clients-are-cut-and-hold-nobody-up", door{config: limits(func(l *egressproxy.Limits) { l.HeaderTimeout, l.HandshakeTimeout = time.Hour, time.Hour })}),
		wrong("few connections at once", "EGRESS_LIMITS/slow-clients-are-cut-and-hold-nobody-up", door{config: limits(func(l *egressproxy.Limits) { l.Connections = 8 })}),
		wrong("few requests at once", "EGRESS_LIMITS/slow-servers-hold-nobody-up", door{config: limits(func(l *egressproxy.Limits) { l.Requests = 40 })}),
		wrong("heads may be huge", "EGRESS_LIMITS/a-huge-head-is-refused", door{config: limits(func(l *egressproxy.Limits) { l.HeaderBytes = 1 << 20 })}),
		wrong("a server that broke off is waited for", "EGRESS_LIMITS/a-body-that-nobody-reads-ends-with-its-server", door{config: toServers(func(c net.Conn) net.Conn { return patient(c) })}),
		wrong("servers are kept after their guest has gone", "EGRESS_LIMITS/an-endless-answer-ends-with-its-guest", door{config: toServers(func(c net.Conn) net.Conn { return kept{c} })}),
		wrong("programs are told nothing", "EGRESS_WITHOUT/programs-are-told-where-the-proxy-is", door{env: func([]string) []string { return nil }}),
		wrong("programs are told to go past the proxy", "EGRESS_WITHOUT/programs-are-told-where-the-proxy-is", door{env: func(env []string) []string { return append(env, "NO_PROXY=*") }}),
		wrong("what is ended goes on", "EGRESS_WITHOUT/without-the-proxy-nothing-is-reachable", door{stays: true}),
		wrong("the guest's resolver knows a name", "EGRESS_NAMES/the-guests-resolver-knows-no-name", door{args: func(args []string) []string {
			if slices.Contains(args, "lookups") {
				args = append(args, "localhost")
			}
			return args
		}}),
		wrong("what it guarantees is shown to nobody", shown("dns-confined")+" "+shown("ip-literal-denied")+" "+shown("port-confined")+" "+shown("sni-bound")+" "+
			shown("method-confined")+" "+shown("path-confined")+" "+shown("metadata-denied")+" "+shown("udp-denied"), door{unseen: true}),
		wrong("nothing but good manners confines it", "EGRESS_SOCKETS/no-connection-goes-past-the-proxy EGRESS_SOCKETS/no-datagram-leaves EGRESS_SOCKETS/no-other-transport-leaves "+
			"EGRESS_SOCKETS/no-other-family-of-sockets EGRESS_NAMES/no-name-server-is-asked-directly EGRESS_WITHOUT/without-the-variables-nothing-is-reachable "+
			shown("udp-denied")+" "+shown("dns-confined"), door{}),
	}
}

// userless forgets the user that a target names.
type userless struct{ net.Conn }

func (u userless) Read(p []byte) (int, error) {
	n, err := u.Conn.Read(p)
	return copy(p, bytes.ReplaceAll(p[:n], []byte("user@"), nil)), err
}

// naive answers every CONNECT by itself, and leaves the rest to the proxy behind.
func (e *doorEngine) naive(conn net.Conn) net.Conn {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		defer conn.Close()
		br := bufio.NewReader(conn)
		start, err := br.Peek(len("CONNECT "))
		if err != nil || string(start) != "CONNECT " {
			relay(conn, br, far)
			return
		}
		request, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		host, port, err := net.SplitHostPort(request.Host)
		if err != nil {
			return
		}
		addrs, err := e.world.World.LookupNetIP(context.Background(), "ip", host+".")
		if err != nil {
			return
		}
		at, err := netip.ParseAddrPort(net.JoinHostPort(addrs[0].String(), port))
		if err != nil {
			return
		}
		server, err := e.world.World.Connect(context.Background(), at)
		if err != nil {
			return
		}
		defer server.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		relay(conn, br, server)
	}()
	return near
}

// relay carries bytes both ways, until both have ended.
func relay(guest net.Conn, said io.Reader, server net.Conn) {
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(server, said)
		if half, ok := server.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	})
	_, _ = io.Copy(guest, server)
	_ = guest.Close()
	both.Wait()
}

// bounded ends after so many bytes.
type bounded struct {
	net.Conn
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, net.ErrClosed
	}
	return b.Conn.Write(p)
}

func (b *bounded) CloseWrite() error { return closeWrite(b.Conn) }

func closeWrite(c net.Conn) error {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		return c.Close()
	}
	return half.CloseWrite()
}

// wholly ends both halves with one.
type wholly struct{ net.Conn }

func (w wholly) CloseWrite() error { return w.Close() }

// patient waits, once its server has broken off, until it is closed itself.
func patient(c net.Conn) net.Conn { return &patientConn{Conn: c, closed: make(chan struct{})} }

type patientConn struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (p *patientConn) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if err != nil {
		<-p.closed
	}
	return n, err
}

func (p *patientConn) Write(b []byte) (int, error) {
	n, err := p.Conn.Write(b)
	if err != nil {
		<-p.closed
	}
	return n, err
}

func (p *patientConn) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Conn.Close()
}

func (p *patientConn) CloseWrite() error { return closeWrite(p.Conn) }

// kept stays open for a while after it was closed.
type kept struct{ net.Conn }

func (k kept) Close() error {
	const longer = 15 * time.Second // than anybody waits for it to end
	time.AfterFunc(longer, func() { _ = k.Conn.Close() })
	return nil
}
