package imageregistry

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// guard is the transport of one lookup: every request to anybody passes it.
type guard struct {
	name     string // as the configuration names the registry
	registry string // its host, with a port unless it is the scheme's own
	access   *Access
	limits   Limits
	proxies  proxies
	inner    *http.Transport
	requests atomic.Int64
}

// newGuard guards a lookup at the registry of that name, which is asked at host.
func newGuard(name, host string, access *Access, cfg *Config) *guard {
	g := &guard{name: name, access: access, limits: cfg.Limits, proxies: proxies{find: cfg.Proxy}}
	g.registry = withoutDefaultPort(&url.URL{Scheme: g.scheme(), Host: host})
	g.inner = &http.Transport{
		Proxy:                  g.proxies.forRequest,
		DialContext:            g.dial,
		TLSClientConfig:        cfg.TLS.Clone(),
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  cfg.Limits.Time,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
	}
	return g
}

// close ends what the lookup left open.
func (g *guard) close() { g.inner.CloseIdleConnections() }

// RoundTrip sends a request that may be sent, and bounds its answer.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if g.requests.Add(1) > g.limits.Requests {
		return nil, answerInvalid("more than "+strconv.FormatInt(g.limits.Requests, 10)+" requests for one image",
			"an answer in fewer requests")
	}
	req, err := g.admit(req)
	if err != nil {
		return nil, err
	}
	resp, err := g.inner.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.ContentLength > g.limits.Bytes && req.Method != http.MethodHead {
		resp.Body.Close()
		return nil, g.tooLarge(req)
	}
	resp.Body = &bounded{ReadCloser: resp.Body, left: g.limits.Bytes, over: g.tooLarge(req)}
	return resp, nil
}

func (g *guard) scheme() string {
	if g.access.PlainHTTP {
		return "http"
	}
	return "https"
}

// admit returns the request as it may be sent.
func (g *guard) admit(req *http.Request) (*http.Request, error) {
	if redirects(req) > g.limits.Redirects {
		return nil, answerInvalid("more than "+strconv.Itoa(g.limits.Redirects)+" redirects in a row", "an answer in fewer redirects")
	}
	req = req.Clone(req.Context())
	// The library chooses plain HTTP for addresses that look private.
	if withoutDefaultPort(&url.URL{Scheme: g.scheme(), Host: req.URL.Host}) == g.registry {
		req.URL.Scheme = g.scheme()
		return req, nil
	}
	host := withoutDefaultPort(req.URL)
	switch g.access.roleOf(host, strings.ToLower(req.URL.Hostname())) {
	case stranger:
		return nil, g.strange(req, host)
	case blobHost:
		req.Header.Del("Authorization")
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			return nil, g.strange(req, host)
		}
	case tokenHost:
	}
	if req.URL.Scheme != "https" {
		return nil, answerInvalid("a way to "+sandbox.Echo(host)+" without TLS", "https")
	}
	return req, nil
}

func (g *guard) strange(req *http.Request, host string) error {
	remedy := `if that host serves its images, add ` + sandbox.Echo(host) + ` to blob_hosts of registries["` + g.name + `"] in the provider block`
	if req.Response == nil {
		remedy = `if that host issues its tokens, set token_host = ` + sandbox.Echo(host) + ` in registries["` + g.name + `"] of the provider block`
	}
	return sandbox.Finding{
		Code: sandbox.CodeRegistryNotAllowed, Path: referencePath(),
		Found:    "registry " + sandbox.Echo(g.name) + " sends to " + sandbox.Echo(host),
		Required: "a host that the provider block names for this registry", Remedy: remedy,
	}.Refusal(nil)
}

func (g *guard) tooLarge(req *http.Request) error {
	return answerInvalid("an answer of "+sandbox.Echo(req.URL.Hostname())+" of more than "+strconv.FormatInt(g.limits.Bytes, 10)+" bytes",
		"manifests and configurations within that bound")
}

// redirects counts the redirects that led to a request.
func redirects(req *http.Request) (n int) {
	for r := req; r.Response != nil && r.Response.Request != nil; r = r.Response.Request {
		n++
		if n > 100 {
			break
		}
	}
	return n
}

func withoutDefaultPort(u *url.URL) string {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	switch {
	case port == "", u.Scheme == "https" && port == "443", u.Scheme == "http" && port == "80":
		return host
	default:
		return net.JoinHostPort(host, port)
	}
}

// dial connects to an address that may be dialled, whichever name it has.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	if !g.proxies.has(address) {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return g.control(address) }
	}
	return dialer.DialContext(ctx, network, address)
}

func (g *guard) control(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if why, refused := g.access.refuses(at.Addr()); refused {
		return sandbox.Finding{
			Code: sandbox.CodeRegistryNotAllowed, Path: referencePath(),
			Found:    "registry " + sandbox.Echo(g.name) + " leads to " + at.Addr().String() + ", " + why,
			Required: "a public address",
			Remedy:   `if that is where the registry is, set private_addresses = true in registries["` + g.name + `"] of the provider block`,
		}.Refusal(nil)
	}
	return nil
}

// bounded reads at most so many bytes of a body and fails beyond them.
type bounded struct {
	io.ReadCloser
	left int64
	over error
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, b.over
	}
	return n, err
}
