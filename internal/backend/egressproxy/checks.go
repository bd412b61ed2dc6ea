package egressproxy

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/parts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// allChecks are the questions that stand between a guest and a server.
func allChecks() parts.Checks {
	return parts.Checks{
		Head:      httphead.Check,
		Blocked:   alwaysBlocked,
		Match:     (*egress.Set).Match,
		Opens:     (*egress.Set).Opens,
		Hello:     helloDiffers,
		Again:     helloChanged,
		Host:      sameHost,
		Leaves:    leavesHTTP,
		Overrides: overriding,
		Answers:   refusedAnswer,
		Stays:     sameAddress,
	}
}

func alwaysBlocked(to egress.Request) string {
	if to.Addr.IsValid() {
		why, _ := egress.BlockedAddress(to.Addr)
		return why
	}
	host, err := egress.ParseHost(to.Host)
	if err != nil {
		return "no host"
	}
	why, _ := host.AlwaysBlocked()
	return why
}

// helloDiffers holds the server name against the CONNECT. TLS has no server name
// for addresses (RFC 6066 3), so a tunnel to one has none.
func helloDiffers(to egress.Request, h clienthello.Hello) string {
	switch {
	case to.Addr.IsValid() && h.ServerName != "":
		return "a server name in a tunnel to an address"
	case to.Addr.IsValid():
		return ""
	case h.ServerName == "":
		return "no server name"
	}
	name, _, err := egress.ParseRequestHost(h.ServerName)
	if err != nil || name != to.Host {
		return "the server name " + shown(h.ServerName)
	}
	return ""
}

// helloChanged holds a second hello against the first, whose server name it has to
// repeat (RFC 8446 4.1.2).
func helloChanged(first, second clienthello.Hello) string {
	if second.ServerName != first.ServerName {
		return "another server name in the second ClientHello, " + shown(second.ServerName)
	}
	return ""
}

func sameHost(header string, to egress.Request, standard uint16) bool {
	named, ok := parseAuthority(header, standard)
	return ok && named.connection() == to
}

// leavesHTTP finds what would make the connection speak something else.
func leavesHTTP(r *http.Request) string {
	for name := range r.Header {
		switch httphead.Folded(name) {
		case "upgrade":
			return "an upgrade"
		case "http2-settings":
			return "HTTP/2 without TLS"
		}
	}
	switch {
	case hasToken(r.Header["Connection"], "upgrade"):
		return "an upgrade"
	case r.Method == http.MethodConnect:
		return "a CONNECT inside a connection"
	default:
		return ""
	}
}

func hasToken(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

// overrides are the headers by which servers and frameworks take another method
// or path than the request's own. X-Forwarded-Prefix is not one: it says what stood
// before a path, in links of the answer.
var overrides = []string{
	"x-http-method-override", "x-http-method", "x-method-override", "x-method", "x-original-method", "x-forwarded-method",
	"x-original-url", "x-original-uri", "x-rewrite-url", "x-rewrite-uri", "x-override-url", "x-http-path-override", "x-forwarded-uri",
	"x-forwarded-path", "x-envoy-original-path",
}

func overriding(h http.Header) string {
	for name := range h {
		if folded := httphead.Folded(name); slices.Contains(overrides, folded) {
			return http.CanonicalHeaderKey(folded)
		}
	}
	return ""
}

// refusedAnswer judges every address of a name.
func refusedAnswer(addrs, own []netip.Addr) string {
	for _, addr := range addrs {
		if why, special := egress.SpecialAddress(addr); special {
			return why
		}
		if isOneOf(own, addr) {
			return "the host's own address"
		}
	}
	return ""
}

func sameAddress(judged netip.AddrPort, dialled string) bool {
	at, err := netip.ParseAddrPort(dialled)
	return err == nil && at == judged
}
