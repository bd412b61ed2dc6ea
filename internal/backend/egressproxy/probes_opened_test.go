package egressproxy

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func openedProbes() []probe {
	return []probe{
		{name: "requests inside an opened tunnel", rules: openedRules(), world: twoSites, run: func(s *scene) error {
			in := func(line string, lines ...string) (reply, error) {
				return s.inside(head(append([]string{line}, lines...)...))
			}
			var errs []error
			r, err := in("GET /v1/x HTTP/1.1", toGood)
			errs = append(errs, allowed("a path of the rule", r, err))
			for _, row := range []struct {
				line, host string
				code       sandbox.Code
			}{
				{"GET /v2 HTTP/1.1", toGood, sandbox.CodeEgressDenied},
				{"DELETE /v1 HTTP/1.1", toGood, sandbox.CodeEgressDenied},
				{"GET /v1/%2e%2e/v2 HTTP/1.1", toGood, sandbox.CodeEgressDenied},
				{"GET /v1 HTTP/1.1", "Host: " + evilHost, sandbox.CodeEgressAuthorityMismatch},
				{"GET /v1 HTTP/1.1", toGood + ":80", sandbox.CodeEgressAuthorityMismatch},
				{"GET https://" + goodHost + "/v1 HTTP/1.1", toGood, sandbox.CodeEgressRequestMalformed},
				{"GET http://" + evilHost + "/v1 HTTP/1.1", toGood, sandbox.CodeEgressRequestMalformed},
				{"CONNECT " + evilHost + ":443 HTTP/1.1", toGood, sandbox.CodeEgressRequestMalformed},
				{"OPTIONS * HTTP/1.1", toGood, sandbox.CodeEgressDenied},
			} {
				r, err := in(row.line, row.host)
				errs = append(errs, refused(row.line, r, err, row.code))
			}
			r, err = in("GET /v1 HTTP/1.1", toGood, "Upgrade: websocket", "Connection: upgrade")
			errs = append(errs, refused("an upgrade inside", r, err, sandbox.CodeEgressProtocolRefused))
			return steps(errs...)
		}},
		{name: "a second request inside an opened tunnel", rules: openedRules(), world: twoSites, run: func(s *scene) error {
			conn, err := s.tls(goodHost+":443", goodHost, true, "http/1.1")
			if err != nil {
				return err
			}
			defer conn.Close()
			br := newReader(conn)
			for i, c := range []struct{ path, code string }{{"/v1/a", ""}, {"/v1/b", ""}, {"/v2", "denied"}} {
				if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\n%s\r\n\r\n", c.path, toGood); err != nil {
					return err
				}
				r, err := readReply(br, http.MethodGet)
				if c.code == "" {
					err = allowed(fmt.Sprint("request ", i), r, err)
				} else {
					err = refused(fmt.Sprint("request ", i), r, err, sandbox.CodeEgressDenied)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{name: "streams of HTTP/2 inside an opened tunnel", rules: openedRules(), world: twoSites, run: func(s *scene) error {
			streams := s.streams(destination{name: goodHost, port: httpsPort})
			defer streams.CloseIdleConnections()
			ask := func(method, host, path string) (reply, error) {
				req, err := http.NewRequest(method, "https://"+goodHost+path, http.NoBody)
				if err != nil {
					return reply{}, err
				}
				req.Host = host
				resp, err := streams.RoundTrip(req)
				if err != nil {
					return reply{}, err
				}
				return readAll(resp)
			}
			var errs []error
			r, err := ask("GET", goodHost, "/v1/x")
			errs = append(errs, allowed("a stream", r, err))
			for _, row := range []struct {
				method, host, path string
				code               sandbox.Code
			}{
				{"GET", goodHost, "/v2", sandbox.CodeEgressDenied},
				{"PUT", goodHost, "/v1", sandbox.CodeEgressDenied},
				{"GET", evilHost, "/v1", sandbox.CodeEgressAuthorityMismatch},
			} {
				r, err := ask(row.method, row.host, row.path)
				errs = append(errs, refused(row.path, r, err, row.code))
			}
			return steps(errs...)
		}},
		{
			name: "a server that nobody vouches for", rules: map[string]sandbox.EgressRule{"all": rule("*.example.com", "443", "GET", "*")},
			world: func(tb testing.TB, w *egressworld.World) {
				tb.Helper()
				twoSites(tb, w)
				for _, c := range []struct{ name, cert string }{{"self.example.com", "self.example.com"}} {
					cert, err := egressworld.SelfSigned(c.cert)
					must(tb, err)
					addr := w.Address()
					w.Name(c.name, addr)
					must(tb, w.HTTPS(netip.AddrPortFrom(addr, 443), &echo{}, func(config *tls.Config) { config.Certificates = []tls.Certificate{*cert} }, c.name))
				}
				addr := w.Address() // a good certificate, for somebody else
				w.Name("other.example.com", addr)
				must(tb, w.HTTPS(netip.AddrPortFrom(addr, 443), &echo{}, nil, evilHost))
				addr = w.Address() // one that wants to know who asks
				w.Name("mutual.example.com", addr)
				must(tb, w.HTTPS(netip.AddrPortFrom(addr, 443), &echo{}, func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }, "mutual.example.com"))
			}, run: func(s *scene) error {
				client := s.openedClient()
				defer client.CloseIdleConnections()
				r, err := get(client, "https://"+goodHost+"/")
				errs := []error{allowed("a server that is vouched for", r, err)}
				for _, name := range []string{"self", "other", "mutual"} {
					r, err := get(client, "https://"+name+".example.com/")
					errs = append(errs, refused(name, r, err, sandbox.CodeEgressUpstreamFailed))
				}
				return steps(errs...)
			},
		},
		{name: "the sandbox's authority speaks for its hosts only", rules: openedRules(), world: twoSites, run: func(s *scene) error {
			return authorityIsConfined(s)
		}},
		{name: "rules that are narrowed end what they no longer admit", rules: map[string]sandbox.EgressRule{
			"api": rule(goodHost, "443", "*", "*"), "evil": rule(evilHost, "443", "GET", "*"),
		}, world: twoSites, run: narrowed},
	}
}
