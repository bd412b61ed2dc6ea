package process

import (
	"context"
	"net"
	"net/netip"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// EgressConfig says how sandboxes with egress mode allowlist reach what their
// rules admit: each through a proxy of its own in this process, which is all that
// it can reach. The zero value is complete, and tells nobody of decisions.
//
// A proxy lives as long as its sandbox. Where it ends before, programs are refused
// with [sandbox.CodeEgressProxyLost], and those that run reach nothing more.
type EgressConfig struct {
	// Observer is asked, when a sandbox with an allowlist starts, who is told of
	// what its proxy decides. The id is the sandbox's for as long as it lives, as
	// sandbox.SessionInfo.InstanceID has it; no other ever has the same. A nil
	// function or a nil answer is nobody. No guest waits for an observer that is slow:
	// it misses decisions, and is told how many in an event of which Lost is set.
	// Deleting a sandbox waits until its observer has been told everything.
	Observer func(id string) egress.Observer

	// Judge is asked, when a sandbox with an allowlist starts, who admits its requests
	// in the place of its rules; a nil function or a nil answer is the rules. It is
	// for emulators of services whose policies are no unions of rules: then the rules
	// say no more than whose TLS is opened. The name is the one of the start.
	Judge func(name string) EgressJudge

	// Resolver looks up the names that rules admit; nil asks the servers of
	// /etc/resolv.conf, without a search list or a hosts file.
	Resolver EgressResolver
	// RootsPEM are the authorities that verify servers, by the proxy where rules
	// ask for methods or paths, and by guests that are shown them beside the
	// sandbox's own authority. Nil is this machine's for the proxy, and for guests
	// those of RootFS if it has any.
	RootsPEM []byte
	// Connect opens a connection to an address that was judged already; nil is this
	// machine's network. It is for tests, which put a world of their own here, and
	// for hosts that reach the internet another way. Whatever it connects to, names
	// have to lead to public addresses.
	Connect func(ctx context.Context, to netip.AddrPort) (net.Conn, error)

	// Upstream is the proxy of this machine's network, where there is no other way
	// out; nil is none, whatever the environment says. It cannot stand beside Connect.
	Upstream *EgressUpstream

	// DenialsPerSecond is how many requests and connections of one sandbox are refused
	// in a second; 0 is 2000. Further ones wait for their answer, and none is dropped:
	// a program that asks in a loop for what it may not have holds up its own sandbox
	// and no other.
	DenialsPerSecond int

	// Together bounds what all sandboxes use together.
	Together EgressBounds
}

// EgressJudge admits requests. One without a method is a connection of which nothing
// more is seen: admitting it admits whatever is asked for through it.
type EgressJudge interface {
	Admits(r egress.Request) bool
}

// EgressUpstream is a proxy that servers are reached through. What rules admit does
// not change by it: names are looked up and addresses judged before, and it is
// asked for the judged address, never for a name. Its own address is nothing that a
// sandbox can reach.
type EgressUpstream struct {
	// URL is a scheme, a host and a port, such as http://proxy.example.com:3128, or
	// https where it speaks TLS. It holds no user and no password.
	URL string
	// Authorization gives the value of Proxy-Authorization, for each connection anew;
	// nil sends none. Nobody but the proxy gets to see it.
	Authorization func(context.Context) (string, error)
}

// EgressResolver gives the addresses of a rooted name, such as "api.example.com.".
// A net.Resolver is one, but for its search list and hosts file.
type EgressResolver interface {
	LookupNetIP(ctx context.Context, network, rooted string) ([]netip.Addr, error)
}

// EgressBounds bound what all sandboxes of an engine use at once. A field that is
// zero has the default beside it.
type EgressBounds struct {
	Connections int // open from guests: 4096
	Requests    int // under way: 8192
	Handshakes  int // of TLS that is opened: 128
	Multiplexed int // of these, the ones that speak HTTP/2: 256; others are offered HTTP/1.1
	Uploads     int // requests with a long body, or one of unknown length: 1024
	Lookups     int // of names: 256
	Dials       int // of servers: 512
}
