package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober/visit"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// egressOpened are requests inside TLS, where rules ask for methods or paths.
func egressOpened() Suite {
	both := shows(sandbox.GuaranteeMethodConfined, sandbox.GuaranteePathConfined)
	return Suite{Name: "EGRESS_OPENED", Gate: sandbox.CapabilityExec, Probes: confined([]Probe{
		{Name: "requests-inside-tls-are-judged", Shows: both, Rules: openedRules(), Run: insideTLS},
		{Name: "the-second-request-inside-tls-is-judged", Shows: both, Rules: openedRules(), Run: secondInside},
		{Name: "streams-of-http2-are-judged", Shows: both, Rules: openedRules(), Run: streams},
		{Name: "no-tunnel-hides-what-rules-restrict", Shows: both, Rules: openedRules(), Run: func(ctx context.Context, s *Scene) error {
			if err := s.twoSites(ctx); err != nil {
				return err
			}
			hidden := throughTLS(goodHost+":443", goodHost, s.worldRoots(), head("GET /v1 HTTP/1.1", toGood))
			return s.calls(ctx,
				call{what: "TLS that only the server's own certificate satisfies", visit: hidden, code: sandbox.CodeEgressOpeningRefused},
				openedCall("TLS that a program of the guest trusts", goodHost, head("GET /v1 HTTP/1.1", toGood), ""),
			)
		}},
		{Name: "a-server-that-nobody-vouches-for-is-refused", Rules: rules{"all": rule("*.example.com", "80 443", "GET", "*")}, Run: unvouched},
		{Name: "the-authority-speaks-for-the-rules-hosts-alone", Rules: openedRules(), Run: confinedAuthority},
		{Name: "another-sandboxs-authority-is-worth-nothing-here", Rules: openedRules(), Run: ownAuthority},
	})}
}

// openedCall is a request in a tunnel that is opened, by a program that trusts what
// programs of the guest trust.
func openedCall(what, host, request string, code sandbox.Code) call {
	return call{what: what, visit: throughTLS(host+":443", host, "", request), code: code}
}

func insideTLS(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	calls := []call{openedCall("a path of the rule", goodHost, head("GET /v1/x HTTP/1.1", toGood), "")}
	for _, row := range []struct {
		line, host string
		code       sandbox.Code
	}{
		{"GET /v2 HTTP/1.1", toGood, sandbox.CodeEgressDenied},
		{"GET / HTTP/1.1", toGood, sandbox.CodeEgressDenied},
		{"DELETE /v1 HTTP/1.1", toGood, sandbox.CodeEgressDenied},
		{"get /v1 HTTP/1.1", toGood, sandbox.CodeEgressDenied},
		{"GET /v1/%2e%2e/v2 HTTP/1.1", toGood, sandbox.CodeEgressDenied},
		{"GET /v1/a%2fb HTTP/1.1", toGood, sandbox.CodeEgressDenied},
		{"GET /v1 HTTP/1.1", "Host: " + evilHost, sandbox.CodeEgressAuthorityMismatch},
		{"GET /v1 HTTP/1.1", toGood + ":80", sandbox.CodeEgressAuthorityMismatch},
		{"GET https://" + goodHost + "/v1 HTTP/1.1", toGood, sandbox.CodeEgressRequestMalformed},
		{"GET http://" + evilHost + "/v1 HTTP/1.1", toGood, sandbox.CodeEgressRequestMalformed},
		{"CONNECT " + evilHost + ":443 HTTP/1.1", toGood, sandbox.CodeEgressRequestMalformed},
		{"OPTIONS * HTTP/1.1", toGood, sandbox.CodeEgressDenied},
	} {
		calls = append(calls, openedCall(row.line+", "+row.host, goodHost, head(row.line, row.host), row.code))
	}
	calls = append(calls,
		openedCall("a websocket", goodHost, head("GET /v1 HTTP/1.1", toGood, "Upgrade: websocket", "Connection: upgrade"), sandbox.CodeEgressProtocolRefused),
		openedCall("another method by a header", goodHost, head("GET /v1 HTTP/1.1", toGood, "X-HTTP-Method-Override: DELETE"), sandbox.CodeEgressHeaderRefused))
	return s.calls(ctx, calls...)
}

func secondInside(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	v := throughTLS(goodHost+":443", goodHost, "", head("GET /v1/a HTTP/1.1", toGood))
	for _, path := range []string{"/v1/b", "/v2"} {
		v.Steps = append(v.Steps, visit.Step{Say: []byte(head("GET "+path+" HTTP/1.1", toGood))}, visit.Step{Hear: visit.OneReply})
	}
	return s.calls(ctx, call{what: "two good ones and another path", visit: v, asks: 2, judge: func(o visit.Outcome) error {
		if n := bytes.Count(o.Heard, []byte(reached)); n != 2 || !bytes.Contains(o.Heard, []byte("HTTP/1.1 403 ")) {
			return fmt.Errorf("%d were answered, and the first two alone should be: %s", n, heard(o))
		}
		return nil
	}})
}

// streams asks for several things in one connection of HTTP/2.
func streams(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	asks := []stream{
		{"GET", goodHost, "/v1/x", "200"},
		{"GET", goodHost, "/v2", "403"},
		{"PUT", goodHost, "/v1", "403"},
		{"GET", evilHost, "/v1", "403"},
		{"POST", goodHost, "/v1", "200"},
		{"GET", goodHost, "/v1/%2e%2e/v2", "403"},
	}
	said, err := asStreams(asks)
	if err != nil {
		return notShown("writing streams: %v", err)
	}
	v := visit.Visit{Steps: []visit.Step{
		{Tunnel: goodHost + ":443"}, {TLS: &visit.TLS{Name: goodHost, Protocols: []string{"h2"}}}, {Say: said}, {Hear: visit.ToTheEnd},
	}}
	return s.calls(ctx, call{what: "streams", visit: v, asks: 2, judge: func(o visit.Outcome) error {
		got := statuses(o.Heard)
		if len(got) == 0 {
			return fmt.Errorf("no stream was answered: %s", heard(o))
		}
		var errs []error
		for i, ask := range asks {
			if status := got[uint32(2*i+1)]; status != ask.status {
				errs = append(errs, fmt.Errorf("%s %s of %s got status %q instead of %s", ask.method, ask.path, ask.host, status, ask.status))
			}
		}
		return errors.Join(errs...)
	}})
}

// stream is a request, and the status that it has to get.
type stream struct{ method, host, path, status string }

// asStreams writes what a client of HTTP/2 says that asks for all of it and then
// says goodbye, so that the connection ends behind the answers.
func asStreams(asks []stream) ([]byte, error) {
	var said, block bytes.Buffer
	said.WriteString(http2.ClientPreface)
	framer, encoder := http2.NewFramer(&said, nil), hpack.NewEncoder(&block)
	errs := []error{framer.WriteSettings()}
	for i, ask := range asks {
		block.Reset()
		for _, field := range [][2]string{{":method", ask.method}, {":scheme", "https"}, {":authority", ask.host}, {":path", ask.path}} {
			errs = append(errs, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
		}
		errs = append(errs, framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true,
		}))
	}
	errs = append(errs, framer.WriteGoAway(0, http2.ErrCodeNo, nil))
	return said.Bytes(), errors.Join(errs...)
}

// statuses reads what a server of HTTP/2 said.
func statuses(heard []byte) map[uint32]string {
	framer := http2.NewFramer(nil, bytes.NewReader(heard))
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	got := map[uint32]string{}
	for {
		frame, err := framer.ReadFrame()
		if err != nil { // as the connection's end is one
			break
		}
		if headers, ok := frame.(*http2.MetaHeadersFrame); ok && headers.PseudoValue("status") != "" {
			got[headers.StreamID] = headers.PseudoValue("status")
		}
	}
	return got
}

// unvouched has servers whose certificates are their own, somebody else's, and one
// that wants to know who asks.
func unvouched(ctx context.Context, s *Scene) error {
	net := s.subject.internet
	self, err := egressworld.SelfSigned("self.example.com")
	if err != nil {
		return notShown("%v", err)
	}
	place := func(name, address, certificate string, change func(*tls.Config)) error {
		at := netip.MustParseAddrPort(address)
		net.Name(name, at.Addr())
		return net.secure(at, change, certificate)
	}
	err = errors.Join(s.twoSites(ctx),
		place("self.example.com", "11.0.205.1:443", "self.example.com", func(c *tls.Config) { c.Certificates = []tls.Certificate{*self} }),
		place("other.example.com", "11.0.205.2:443", evilHost, nil),
		place("mutual.example.com", "11.0.205.3:443", "mutual.example.com", func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }))
	if err != nil {
		return err
	}
	calls := []call{openedCall("a server that is vouched for", goodHost, head("GET / HTTP/1.1", toGood), "")}
	for _, name := range []string{"self.example.com", "other.example.com", "mutual.example.com"} {
		calls = append(calls, openedCall(name, name, head("GET / HTTP/1.1", "Host: "+name), sandbox.CodeEgressUpstreamFailed))
	}
	return s.calls(ctx, calls...)
}

// authority is the leaf that a sandbox is shown for the good host, and the roots
// that its programs find.
func (s *Scene) authority(ctx context.Context) (leaf *x509.Certificate, roots []*x509.Certificate, err error) {
	show := openedCall("TLS", goodHost, head("GET /v1 HTTP/1.1", toGood), "")
	outcomes, err := s.visits(ctx, []call{show})
	if err != nil {
		return nil, nil, err
	}
	if err := show.verdict(outcomes[0]); err != nil {
		return nil, nil, err
	}
	if len(outcomes[0].Chain) == 0 {
		return nil, nil, notShown("no certificate was shown")
	}
	if leaf, err = x509.ParseCertificate(outcomes[0].Chain[0]); err != nil {
		return nil, nil, err
	}
	out, err := s.do(ctx, "env")
	if err != nil {
		return nil, nil, err
	}
	path := variable(string(out), "SSL_CERT_FILE")
	if path == "" {
		return nil, nil, notShown("no variable names the certificates that programs trust")
	}
	bundle, err := s.do(ctx, "read", path)
	if err != nil {
		return nil, nil, err
	}
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if root, err := x509.ParseCertificate(block.Bytes); err == nil {
			roots = append(roots, root)
		}
	}
	return leaf, roots, nil
}

// variable finds a variable in lines, or elements, of NAME=VALUE.
func variable(text, name string) string {
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == 0 }) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}

// vouches answers the root of those that stands behind a leaf for the good host.
func vouches(leaf *x509.Certificate, roots []*x509.Certificate) (*x509.Certificate, error) {
	pool := x509.NewCertPool()
	for _, root := range roots {
		pool.AddCert(root)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: goodHost})
	if err != nil {
		return nil, err
	}
	return chains[0][len(chains[0])-1], nil
}

func confinedAuthority(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	leaf, roots, err := s.authority(ctx)
	if err != nil {
		return err
	}
	root, err := vouches(leaf, roots)
	switch {
	case err != nil:
		return fmt.Errorf("what a program finds does not vouch for the good host: %w", err)
	case !root.PermittedDNSDomainsCritical || len(root.PermittedDNSDomains) != 1 || root.PermittedDNSDomains[0] != goodHost:
		return fmt.Errorf("the authority may speak for %q", root.PermittedDNSDomains)
	case len(root.PermittedIPRanges) == 0 && len(root.ExcludedIPRanges) < 2:
		return errors.New("the authority may speak for any address")
	case !root.MaxPathLenZero:
		return errors.New("the authority may make others")
	case leaf.IsCA:
		return errors.New("what it makes may make others")
	}
	return nil
}

// ownAuthority compares what two sandboxes under the same rules trust.
func ownAuthority(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	other, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) { r.Key.Thread += "/other" })
	if err != nil {
		return err
	}
	leaf, roots, err := s.authority(ctx)
	if err != nil {
		return err
	}
	otherLeaf, otherRoots, err := other.authority(ctx)
	if err != nil {
		return err
	}
	if _, err := vouches(leaf, roots); err != nil {
		return fmt.Errorf("its own authority does not vouch for it: %w", err)
	}
	if _, err := vouches(otherLeaf, otherRoots); err != nil {
		return fmt.Errorf("the other's own authority does not vouch for it: %w", err)
	}
	if _, err := vouches(leaf, otherRoots); err == nil {
		return errors.New("another sandbox trusts this one's certificates")
	}
	if _, err := vouches(otherLeaf, roots); err == nil {
		return errors.New("this sandbox trusts another one's certificates")
	}
	return nil
}
