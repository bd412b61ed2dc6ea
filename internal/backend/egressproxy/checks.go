package egressproxy

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// checks are the questions that stand between a guest and a server, each a
// function by itself. The tests leave out one after the other and see that some
// probe notices.
type checks struct {
	// head judges the bytes of a request head.
	head func(head []byte) httphead.Flaw
	// blocked says why no rule opens a destination; empty where some may.
	blocked func(destination) string
	// match asks the rules about a request or a connection.
	match func(*egress.Set, egress.Request) (*egress.Rule, bool)
	// opens asks the rules whether requests to a destination are to be looked at.
	opens func(*egress.Set, egress.Request) bool
	// hello compares what a client says in TLS with where it asked to go, and says
	// what is wrong.
	hello func(destination, clienthello.Hello) string
	// again compares the second ClientHello that a server has asked for with the first.
	again func(first, second clienthello.Hello) string
	// host compares a Host header, whose port may be left out where it is standard,
	// with where the request goes.
	host func(header string, asked destination, standard uint16) bool
	// leaves says how a request would leave HTTP as it is judged; empty where it
	// would not.
	leaves func(*http.Request) string
	// overrides is a header that makes servers take another method or path; empty
	// where there is none.
	overrides func(http.Header) string
	// answers says why a name may not have one of its addresses.
	answers func(addrs, own []netip.Addr) string
	// stays reports whether the judged address is the one that is dialled.
	stays func(judged netip.AddrPort, dialled string) bool
}

func allChecks() checks {
	return checks{
		head:      httphead.Check,
		blocked:   alwaysBlocked,
		match:     (*egress.Set).Match,
		opens:     (*egress.Set).Opens,
		hello:     helloDiffers,
		again:     helloChanged,
		host:      sameHost,
		leaves:    leavesHTTP,
		overrides: overriding,
		answers:   refusedAnswer,
		stays:     sameAddress,
	}
}

func alwaysBlocked(d destination) string {
	if d.addr.IsValid() {
		why, _ := egress.BlockedAddress(d.addr)
		return why
	}
	host, err := egress.ParseHost(d.name)
	if err != nil {
		return "no host"
	}
	why, _ := host.AlwaysBlocked()
	return why
}

// helloDiffers holds the server name against the CONNECT. TLS has no server name
// for addresses (RFC 6066 3), so a tunnel to one has none.
func helloDiffers(d destination, h clienthello.Hello) string {
	switch {
	case d.addr.IsValid() && h.ServerName != "":
		return "a server name in a tunnel to an address"
	case d.addr.IsValid():
		return ""
	case h.ServerName == "":
		return "no server name"
	}
	name, _, err := egress.ParseRequestHost(h.ServerName)
	if err != nil || name != d.name {
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

func sameHost(header string, asked destination, standard uint16) bool {
	named, ok := parseAuthority(header, standard)
	return ok && named == asked
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
