package egressproxy

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
)

// outgoing is the request that goes to the server. It is written anew, of what was
// judged: where it goes and its path; of what frames it, nothing is the guest's.
func outgoing(ctx context.Context, a asked, t target, w *watch) (*http.Request, error) {
	to, err := t.url()
	if err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	r := &http.Request{
		Method: a.Method, URL: to, Host: to.Host, Header: a.Header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: a.ContentLength,
	}
	if a.Body != nil && a.ContentLength != 0 {
		r.Body = watched{a.Body, w}
	}
	trailers := hasToken(r.Header["Te"], "trailers")
	stripHops(r.Header)
	r.Header.Del("Expect") // the guest waits for us
	if trailers {
		r.Header.Set("Te", "trailers") // without it, servers of gRPC answer nothing
	}
	if r.Header["User-Agent"] == nil {
		r.Header["User-Agent"] = []string{""} // none, rather than ours
	}
	return r.WithContext(ctx), nil
}

// hops are the headers that are about one connection, RFC 9110 7.6.1 and what
// proxies are told, in the spelling of [httphead.Folded].
var hops = []string{
	"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
	"transfer-encoding", "upgrade",
}

// stripHops removes what is about the connection that a message came by.
func stripHops(h http.Header) {
	for _, v := range h["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for name := range h { // HTTP/2 has other spellings of what frames a message as any other header
		if folded := httphead.Folded(name); slices.Contains(hops, folded) || folded == "content-length" && name != "Content-Length" {
			delete(h, name)
		}
	}
}
