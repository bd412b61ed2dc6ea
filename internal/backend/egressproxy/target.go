package egressproxy

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// target is where a request goes and what it asks for there.
type target struct {
	to     destination
	scheme string
	// path is as the guest sent it, and is what is judged. sent is what goes to the
	// server: the same, with what may not stand in a path escaped, which moves no
	// segment's end.
	path, sent string
	query      string
	asksQuery  bool // a "?" stands there, even if nothing is behind it
}

func malformed(found string) *denial {
	return deny(sandbox.CodeEgressRequestMalformed, http.StatusBadRequest, found)
}

// target reads where a request goes: by its absolute target on the socket, and
// into the tunnel that was opened, where its target is a path alone.
func (p *Proxy) target(in inbound, a asked) (target, *denial) {
	t := target{to: in.tunnel, scheme: "https"}
	rest := a.RequestURI
	if !in.opened() {
		var d *denial
		if rest, d = t.absolute(a); d != nil {
			return t, d
		}
	} else if rest == "" || rest[0] != '/' && rest != "*" {
		return t, malformed("a target that is not a path, inside a tunnel").at(t.to)
	}
	standard := uint16(httpPort)
	if in.opened() {
		standard = httpsPort
	}
	if a.hasHost && !p.checks.Host(a.host, t.to.connection(), standard) {
		return t, deny(sandbox.CodeEgressAuthorityMismatch, http.StatusForbidden, "the Host header "+shown(a.host)).at(t.to)
	}
	t.path, t.query, t.asksQuery = strings.Cut(rest, "?")
	if d := t.settle(); d != nil {
		return t, d.at(t.to)
	}
	return t, nil
}

// absolute takes the destination out of an absolute target, and returns the rest
// of it.
func (t *target) absolute(a asked) (rest string, d *denial) {
	t.scheme = "http"
	scheme, rest, ok := strings.Cut(a.RequestURI, "://")
	if !ok || !strings.EqualFold(scheme, "http") {
		return "", malformed("a target that is not an absolute http address; TLS needs CONNECT")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	if t.to, ok = parseAuthority(authority, httpPort); !ok {
		d := malformed("a host and port that are not a host and port")
		d.host = shown(authority)
		return "", d
	}
	if rest = rest[end:]; rest == "" || rest[0] != '/' {
		rest = "/" + rest
	}
	return rest, nil
}

// settle makes what is sent of what was asked for. What net/http would send in
// its place is refused, as it was not judged.
func (t *target) settle() *denial {
	if strings.ContainsFunc(t.query, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return malformed("a query that is not visible ASCII")
	}
	t.sent = escaped(t.path)
	if u, err := t.url(); err != nil || u.EscapedPath() != t.sent {
		return malformed("a path that cannot be read")
	}
	return nil
}

// url is what is asked of the server.
func (t *target) url() (*url.URL, error) {
	path, err := url.PathUnescape(t.sent)
	if err != nil {
		return nil, err
	}
	return &url.URL{
		Scheme: t.scheme, Host: t.to.authority(t.scheme), Path: path, RawPath: t.sent, RawQuery: t.query,
		ForceQuery: t.asksQuery && t.query == "",
	}, nil
}

// escaped writes a path so that only what RFC 3986 lets stand in one stands there.
// Escapes that are there stay as they are.
func escaped(path string) string {
	const hex = "0123456789ABCDEF"
	if !strings.ContainsFunc(path, func(r rune) bool { return !inPaths(byte(min(r, 0x7f))) }) {
		return path
	}
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; inPaths(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func inPaths(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~!$&'()*+,;=:@/%[]", c) >= 0
}

// at says of what destination a denial is.
func (d *denial) at(to destination) *denial {
	d.request = to.connection()
	return d
}
