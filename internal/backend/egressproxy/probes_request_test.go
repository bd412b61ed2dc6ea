package egressproxy

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

// head writes a request head to the good host, of lines as they are given.
func head(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

const (
	first  = "POST http://" + goodHost + "/ HTTP/1.1"
	toGood = "Host: " + goodHost
)

// smuggled are requests that two readers take for two different ones, each with a
// neighbour that all take for one.
var smuggled = []struct{ name, bad, good string }{
	{"a length beside chunks", head(first, toGood, "Content-Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n", head(first, toGood, "Transfer-Encoding: chunked") + "0\r\n\r\n"},
	{"chunks beside a length", head(first, toGood, "Transfer-Encoding: chunked", "Content-Length: 0") + "0\r\n\r\n", head(first, toGood, "Content-Length: 0")},
	{"two lengths", head(first, toGood, "Content-Length: 1", "Content-Length: 2") + "ab", head(first, toGood, "Content-Length: 2") + "ab"},
	{"the same length twice", head(first, toGood, "Content-Length: 2", "Content-Length: 2") + "ab", head(first, toGood, "Content-Length: 2") + "ab"},
	{"a list of lengths", head(first, toGood, "Content-Length: 2, 2") + "ab", head(first, toGood, "Content-Length: 2") + "ab"},
	{"a signed length", head(first, toGood, "Content-Length: +2") + "ab", head(first, toGood, "Content-Length:  2 ") + "ab"},
	{"a hexadecimal length", head(first, toGood, "Content-Length: 0x2") + "ab", head(first, toGood, "Content-Length: 02") + "ab"},
	{"no length", head(first, toGood, "Content-Length:"), head(first, toGood)},
	{"a huge length", head(first, toGood, "Content-Length: 18446744073709551617") + "a", head(first, toGood, "Content-Length: 1") + "a"},
	{"another spelling of length", head(first, toGood, "Content_Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n", head(first, toGood, "Content-Lengths: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n"},
	{"two encodings", head(first, toGood, "Transfer-Encoding: chunked", "Transfer-Encoding: identity") + "0\r\n\r\n", head(first, toGood, "Transfer-Encoding: CHUNKED") + "0\r\n\r\n"},
	{"a list of encodings", head(first, toGood, "Transfer-Encoding: identity, chunked") + "0\r\n\r\n", head(first, toGood, "Transfer-Encoding: chunked") + "0\r\n\r\n"},
	{"an unknown encoding", head(first, toGood, "Transfer-Encoding: xchunked") + "0\r\n\r\n", head(first, toGood, "Transfer-Encodings: xchunked")},
	{"a tab before an encoding", head(first, toGood, "Transfer-Encoding:\x0bchunked") + "0\r\n\r\n", head(first, toGood, "Transfer-Encoding:\tchunked") + "0\r\n\r\n"},
	{"chunks in HTTP/1.0", head("POST http://"+goodHost+"/ HTTP/1.0", toGood, "Transfer-Encoding: chunked") + "0\r\n\r\n", head("POST http://"+goodHost+"/ HTTP/1.0", toGood)},
	{"a folded header", head(first, toGood, "X-A: b", " c: d"), head(first, toGood, "X-A: b", "c: d")},
	{"a folded length", head(first, toGood, "Content-Length:", " 2") + "ab", head(first, toGood, "Content-Length: 2") + "ab"},
	{"a bare line feed", first + "\n" + toGood + "\n\n", head(first, toGood)},
	{"a bare line feed in a value", head(first, toGood, "X-A: b\nX-B: c"), head(first, toGood, "X-A: b", "X-B: c")},
	{"a bare carriage return", head(first, toGood, "X-A: b\rX-B: c"), head(first, toGood, "X-A: b X-B: c")},
	{"a NUL", head(first, toGood, "X-A: b\x00"), head(first, toGood, "X-A: b")},
	{"a space before the colon", head(first, toGood, "Content-Length : 0"), head(first, toGood, "Content-Length: 0")},
	{"a line without a colon", head(first, toGood, "X-A"), head(first, toGood, "X-A:")},
	{"an empty name", head(first, toGood, ": a"), head(first, toGood, "a: a")},
	{"a line before the request", "\r\n" + head(first, toGood), head(first, toGood)},
	{"two spaces in the request line", head("POST  http://"+goodHost+"/ HTTP/1.1", toGood), head(first, toGood)},
	{"a space in the target", head("POST http://"+goodHost+"/ a HTTP/1.1", toGood), head("POST http://"+goodHost+"/%20a HTTP/1.1", toGood)},
	{"a tab in the request line", head("POST\thttp://"+goodHost+"/ HTTP/1.1", toGood), head(first, toGood)},
	{"no version", head("POST http://"+goodHost+"/", toGood), head(first, toGood)},
	{"another version", head("POST http://"+goodHost+"/ HTTP/1.2", toGood), head(first, toGood)},
	{"HTTP/2 by its preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", head(first, toGood)},
	{"two hosts", head(first, toGood, "Host: "+evilHost), head(first, toGood)},
	{"the same host twice", head(first, toGood, toGood), head(first, toGood)},
	{"no host", head(first, "X-A: b"), head(first, toGood, "X-A: b")},
	{"a target that is a path", head("GET / HTTP/1.1", toGood), head("GET http://"+goodHost+"/ HTTP/1.1", toGood)},
	{"a target over TLS without a tunnel", head("GET https://"+goodHost+"/ HTTP/1.1", toGood), head("GET HTTP://"+goodHost+" HTTP/1.1", toGood)},
	{"a target of another scheme", head("GET ftp://"+goodHost+"/ HTTP/1.1", toGood), head("GET http://"+goodHost+"?a HTTP/1.1", toGood)},
	{"bytes outside ASCII in the target", head("GET http://"+goodHost+"/\xc3\xa9 HTTP/1.1", toGood), head("GET http://"+goodHost+"/%C3%A9 HTTP/1.1", toGood)},
	{"an escape that is none", head("GET http://"+goodHost+"/%zz HTTP/1.1", toGood), head("GET http://"+goodHost+"/%25zz HTTP/1.1", toGood)},
	{"a CONNECT with a body", head("CONNECT "+goodHost+":443 HTTP/1.1", toGood, "Content-Length: 1") + "a", head(first, toGood)},
}

func requestProbes() []probe {
	return []probe{
		{name: "requests that two readers take for two", rules: plainRules(), world: twoSites, run: func(s *scene) error {
			var errs []error
			for _, row := range smuggled {
				if err := steps(s.rawRefused(row.bad, sandbox.CodeEgressRequestMalformed), s.rawAllowed(row.good)); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", row.name, err))
				}
			}
			return steps(errs...)
		}},
		{name: "a Host header that is not the target's", rules: map[string]sandbox.EgressRule{
			"api": rule(goodHost, "80 443", "*", "*"), "evil": rule(evilHost, "80", "*", "*"),
		}, world: twoSites, run: func(s *scene) error {
			return steps(
				s.rawAllowed(head("GET http://"+goodHost+"/ HTTP/1.1", toGood+":80")),
				s.rawAllowed(head("GET http://"+goodHost+":80/ HTTP/1.1", "host: API.EXAMPLE.COM.")),
				s.rawRefused(head("GET http://"+goodHost+"/ HTTP/1.1", "Host: "+evilHost), sandbox.CodeEgressAuthorityMismatch),
				s.rawRefused(head("GET http://"+goodHost+"/ HTTP/1.1", toGood+":8080"), sandbox.CodeEgressAuthorityMismatch),
				s.rawRefused(head("GET http://"+goodHost+"/ HTTP/1.1", "Host: user@"+goodHost), sandbox.CodeEgressAuthorityMismatch),
				s.rawRefused(head("GET http://"+goodHost+"/ HTTP/1.1", "Host:"), sandbox.CodeEgressAuthorityMismatch),
				s.rawRefused(head("CONNECT "+goodHost+":443 HTTP/1.1", "Host: "+evilHost+":443"), sandbox.CodeEgressAuthorityMismatch),
				s.rawRefused(head("CONNECT "+goodHost+":443 HTTP/1.1", toGood+":80"), sandbox.CodeEgressAuthorityMismatch),
			)
		}},
		{name: "a second request on a kept connection", rules: plainRules(), world: twoSites, run: func(s *scene) error {
			ok := absolute(goodHost, "/")
			var errs []error
			for _, second := range []string{absolute(evilHost, "/"), absolute(goodHost+":8080", "/")} {
				r, rest, err := s.raw(ok + second + ok)
				errs = append(errs, allowed("the first of three", r, err))
				if !strings.Contains(rest, "403 Forbidden") || strings.Contains(rest, "200 OK") {
					errs = append(errs, fmt.Errorf("behind the first came %q", rest))
				}
			}
			r, rest, err := s.raw(ok + ok + ok)
			errs = append(errs, allowed("the first of three", r, err))
			if strings.Count(rest, "200 OK") != 2 {
				errs = append(errs, fmt.Errorf("behind the first of three good ones came %q", rest))
			}
			return steps(errs...)
		}},
		{name: "what leaves HTTP as it is judged", rules: plainRules(), world: twoSites, run: func(s *scene) error {
			return steps(
				s.rawAllowed(absolute(goodHost, "/", "Connection: keep-alive")),
				s.rawRefused(absolute(goodHost, "/", "Connection: Upgrade", "Upgrade: websocket"), sandbox.CodeEgressProtocolRefused),
				s.rawRefused(absolute(goodHost, "/", "Upgrade: websocket"), sandbox.CodeEgressProtocolRefused),
				s.rawRefused(absolute(goodHost, "/", "Connection: keep-alive, upgrade"), sandbox.CodeEgressProtocolRefused),
				s.rawRefused(absolute(goodHost, "/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"), sandbox.CodeEgressProtocolRefused),
				s.rawRefused(absolute(goodHost, "/", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"), sandbox.CodeEgressProtocolRefused),
				s.rawRefused(absolute(goodHost, "/", "HTTP2_Settings: AAMAAABkAARAAAAAAAIAAAAA"), sandbox.CodeEgressProtocolRefused),
				s.rawRefused(head("TRACE http://"+goodHost+"/ HTTP/1.1", toGood), sandbox.CodeEgressDenied),
				s.rawAllowed(head("OPTIONS http://"+goodHost+"/ HTTP/1.1", toGood)),
			)
		}},
		{name: "TRACE where a rule names it", rules: map[string]sandbox.EgressRule{"api": rule(goodHost, "80", "TRACE GET", "*")}, world: twoSites, run: func(s *scene) error {
			return steps(
				s.rawAllowed(head("TRACE http://"+goodHost+"/ HTTP/1.1", toGood)),
				s.rawRefused(head("DELETE http://"+goodHost+"/ HTTP/1.1", toGood), sandbox.CodeEgressDenied),
			)
		}},
		{name: "a path that readers take for another", rules: openedRules(), world: twoSites, run: func(s *scene) error {
			var errs []error
			for _, path := range []string{"/v1", "/v1/", "/v1/x", "/v1/x%20y", "/v1/.x", "/v1/...", "/v1?x=/../", "/v1/x?a;b"} {
				errs = append(errs, s.rawAllowed(absolute(goodHost, path)))
			}
			for _, path := range []string{
				"/", "/v2", "/v10", "/V1", "/v1/../v2", "/v1/./x", "/v1/..", "/v1/%2e%2e/v2", "/v1/.%2E/v2", "/v1/%2E", "/v1/a%2fb", "/v1/a%2Fb",
				"/v1/a%5cb", "/v1/a\\b", "/v1//x", "//v1", "/v1;x", "/v1/a;b/c", "/v1/a%3bb", "/v1/%252e%252e/v2", "/%76%31", "/v%31", "/v1/%00", "/v1/%c0%ae%c0%ae/v2",
				"", "?/v1", "/v1#x",
			} {
				errs = append(errs, s.rawRefused(absolute(goodHost, path), sandbox.CodeEgressDenied))
			}
			return steps(errs...)
		}},
		{name: "another method than the rule's", rules: openedRules(), world: twoSites, run: func(s *scene) error {
			errs := []error{s.rawAllowed(head("POST http://"+goodHost+"/v1 HTTP/1.1", toGood))}
			for _, method := range []string{"DELETE", "PUT", "get", "Get", "OPTIONS", "GETX"} {
				errs = append(errs, s.rawRefused(head(method+" http://"+goodHost+"/v1 HTTP/1.1", toGood), sandbox.CodeEgressDenied))
			}
			return steps(errs...)
		}},
		{name: "a header that overrides method or path", rules: map[string]sandbox.EgressRule{
			"api": rule(goodHost, "80", "GET POST", "/v1"), "evil": rule(evilHost, "80", "*", "*"),
		}, world: twoSites, run: func(s *scene) error {
			errs := []error{s.rawAllowed(absolute(goodHost, "/v1", "X-Http: DELETE", "X-Forwarded-For: 192.0.2.1", "X-Methods: a"))}
			for _, name := range []string{
				"X-HTTP-Method-Override", "x-http-method", "X-Method-Override", "X_HTTP_Method_Override", "X-Original-URL", "X-Rewrite-URL",
				"X.HTTP.Method.Override", "X~Original!URL", "X-Method", "X-Forwarded-Method", "X-Forwarded-Uri", "X-Override-URL", "X-Http-Path-Override",
			} {
				errs = append(errs,
					s.rawRefused(absolute(goodHost, "/v1", name+": DELETE"), sandbox.CodeEgressHeaderRefused),
					s.rawAllowed(absolute(evilHost, "/v1", name+": DELETE")), // where nothing is restricted, nothing is overridden
				)
			}
			return steps(errs...)
		}},
	}
}

func TestServersGetWhatWasJudgedAndNothingThatWasNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := make(chan *http.Request, 1)
	_, err := w.Site(goodHost, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("X-Kept", "yes")
	}))
	must(t, err)
	s := newScene(t, w, setting{rules: plainRules()})
	r, _, err := s.raw(absolute(goodHost, "/a%20b/c|d?e=%2F&f", "Connection: X-Hop", "X-Hop: a", "Proxy-Authorization: Basic c2VjcmV0", "Proxy-Connection: keep-alive", "Keep-Alive: 5", "TE: trailers, deflate", "Proxy.Authorization: a", "Keep_Alive: 5", "X-End: b"))
	must(t, allowed("a request", r, err))
	got := <-seen
	if got.RequestURI != "/a%20b/c%7Cd?e=%2F&f" || got.Host != goodHost {
		t.Errorf("asked for %s of %s", got.RequestURI, got.Host)
	}
	var names []string
	for name := range got.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"Te", "X-End"}) || got.Header.Get("Te") != "trailers" {
		t.Errorf("the server got %v", got.Header)
	}
	if r.header.Get("Keep-Alive") != "" || r.header.Get("X-Kept") != "yes" {
		t.Errorf("the guest got %v", r.header)
	}
}
