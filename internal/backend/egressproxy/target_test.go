package egressproxy

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func TestAuthoritiesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a.example": "a.example:80", "A.Example.": "a.example:80", "a.example:443": "a.example:443", "[2606:4700::1]": "[2606:4700::1]:80",
		"[2606:4700::1]:443": "[2606:4700::1]:443", "11.0.0.9:65535": "11.0.0.9:65535", "xn--bcher-kva.example": "xn--bcher-kva.example:80",
		"": "", ":80": "", "a.example:": "", "a.example:0": "", "a.example:080": "", "a.example:65536": "", "a.example:x": "", "2606:4700::1": "",
		"[2606:4700::1": "", "[2606:4700::1]x": "", "[a.example]": "", "u@a.example": "", "a.example/": "", "*.example": "", "11.0.0.0/8": "", "a b": "",
	} {
		to, ok := parseAuthority(text, httpPort)
		if ok != (want != "") || ok && to.String() != want {
			t.Errorf("%q: %s, %v", text, to, ok)
		}
	}
	if _, ok := parseAuthority("a.example", 0); ok {
		t.Error("a port that is required is left out")
	}
}

// FuzzWhatIsSentIsWhatWasJudged reads any bytes as a request, and what is then
// sent as the strictest server would.
func FuzzWhatIsSentIsWhatWasJudged(f *testing.F) {
	f.Add([]byte(absolute(goodHost, "/v1/a%20b|c?x=y&z=%2F")), false)
	f.Add([]byte(absolute("11.0.0.9:8080", "//a/../b;c")), false)
	f.Add([]byte(absolute("[2606:4700::1]", "?")), false)
	f.Add([]byte(head("GET /v1 HTTP/1.1", toGood, "Connection: a, close")), true)
	f.Add([]byte(head("OPTIONS * HTTP/1.1", toGood)), true)
	f.Add([]byte(head(first, toGood, "Content-Length: 1", "Expect: 100-continue")+"a"), false)
	for _, row := range smuggled {
		f.Add([]byte(row.bad), false)
		f.Add([]byte(row.good), false)
	}
	p := &Proxy{checks: allChecks()}
	f.Fuzz(func(t *testing.T, text []byte, opened bool) {
		n := httphead.End(text)
		if n == 0 || p.checks.Head(text[:n]) != httphead.FlawNone {
			return
		}
		var a asked
		var err error
		a.host, a.hasHost = httphead.Host(text[:n])
		if a.Request, err = http.ReadRequest(bufio.NewReader(bytes.NewReader(text))); err != nil {
			return
		}
		in := inbound{layer: egress.LayerRequest}
		if opened {
			in = inbound{layer: egress.LayerOpened, tunnel: destination{name: goodHost, port: httpsPort}}
		}
		to, d := p.target(in, a)
		if d != nil || p.checks.Leaves(a.Request) != "" {
			return
		}
		if opened && to.to != in.tunnel {
			t.Fatalf("a request inside a tunnel goes to %s", to.to)
		}
		w := newWatch(time.Hour, func(error) {})
		defer w.stop()
		out, err := outgoing(context.Background(), a, to, w)
		if err != nil {
			t.Fatal(err)
		}
		out.Body, out.ContentLength = http.NoBody, 0
		var sent bytes.Buffer
		if err := out.Write(&sent); err != nil {
			return // refused by net/http, and so never sent
		}
		wire := sent.Bytes()
		if flaw := httphead.Check(wire); flaw != httphead.FlawNone {
			t.Fatalf("%q is sent, with %s", wire, flaw)
		}
		got, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(wire)))
		if err != nil {
			t.Fatalf("%q is sent: %v", wire, err)
		}
		path, _, _ := strings.Cut(got.RequestURI, "?")
		host, ok := parseAuthority(got.Host, map[string]uint16{"http": httpPort, "https": httpsPort}[to.scheme])
		if path != escaped(to.path) || !ok || host != to.to || got.Method != a.Method {
			t.Errorf("%s %s%s was judged, and %q is sent", a.Method, to.to, to.path, wire)
		}
	})
}
