// Package parts is what a proxy is put together from, so that tests can put one
// together wrongly and see that some probe notices. It decides nothing: the sound
// parts are package egressproxy's own, and a proxy has those unless somebody alters
// them. Nobody but that package and the flawed proxies of its tests may import this
// one, which package importgraph holds.
//
// Start with [Parts].
package parts

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Parts is all that can be altered of one proxy, as it is made.
type Parts struct {
	Checks

	// Rules are those that the proxy begins with.
	Rules *egress.Set
	// Lookup gives the addresses of a rooted name, Own those of the machine, and Connect
	// a connection to one.
	Lookup  func(ctx context.Context, network, rooted string) ([]netip.Addr, error)
	Own     func() ([]netip.Addr, error)
	Connect func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Scope is what the sandbox's authority may speak for, and Servers how servers of
	// opened connections are verified.
	Scope   leafca.Scope
	Servers *tls.Config
}

// Checks are the questions that stand between a guest and a server, each a function by
// itself. A destination is a request at connection level.
type Checks struct {
	// Head judges the bytes of a request head.
	Head func(head []byte) httphead.Flaw
	// Blocked says why no rule opens a destination; empty where some may.
	Blocked func(to egress.Request) string
	// Match asks the rules about a request or a connection.
	Match func(*egress.Set, egress.Request) (*egress.Rule, bool)
	// Opens asks the rules whether requests to a destination are to be looked at.
	Opens func(*egress.Set, egress.Request) bool
	// Hello compares what a client says in TLS with where it asked to go, and says
	// what is wrong.
	Hello func(to egress.Request, said clienthello.Hello) string
	// Again compares the second ClientHello that a server has asked for with the first.
	Again func(first, second clienthello.Hello) string
	// Host compares a Host header, whose port may be left out where it is standard,
	// with where the request goes.
	Host func(header string, to egress.Request, standard uint16) bool
	// Leaves says how a request would leave HTTP as it is judged; empty where it
	// would not.
	Leaves func(*http.Request) string
	// Overrides is a header that makes servers take another method or path; empty
	// where there is none.
	Overrides func(http.Header) string
	// Answers says why a name may not have one of its addresses.
	Answers func(addrs, own []netip.Addr) string
	// Stays reports whether the judged address is the one that is dialled.
	Stays func(judged netip.AddrPort, dialled string) bool
}
