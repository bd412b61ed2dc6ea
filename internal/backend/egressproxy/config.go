package egressproxy

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/stubdns"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Config is what a proxy is made of. Its zero value admits nothing.
type Config struct {
	// Rules are what the sandbox may reach; nil is nothing. Only the sandbox's own
	// rules belong here: they decide which TLS is opened.
	Rules  *egress.Set
	Limits Limits
	// Judge, where there is one, admits requests in the place of Rules, which then
	// say no more than which TLS is opened. It is for what is no union of rules: a
	// list with an order and denials. [Proxy.Reload] judges anew what goes on.
	Judge Judge
	// Pool is what the proxy shares with others; nil is a pool of its own.
	Pool *Pool
	// Resolver looks up names that were admitted, which it is given rooted. Nil asks
	// the servers of /etc/resolv.conf, without a search list or a hosts file.
	Resolver Resolver
	// RootCAs verify servers of opened connections; nil is the system's roots. The
	// guest's are never used.
	RootCAs *x509.CertPool
	// Observer is told of each decision; nil is nobody.
	Observer egress.Observer
	// Clock tells the time of events and certificates; nil is the system's. Timeouts
	// do not go by it.
	Clock func() time.Time
	// Lifetime is how long the authority of opened connections is valid at most; it
	// ends with the proxy anyhow. 0 is a week.
	Lifetime time.Duration

	// HostAddresses are the addresses of the machine, which nothing may reach; nil
	// reads them from its interfaces, for each dial anew.
	HostAddresses func() ([]netip.Addr, error)
	// Connect opens a connection to an address that was judged; nil is the machine's
	// network, where the address is judged once more as it is dialled. Tests put a
	// world of their own here: since names have to lead to public addresses all the
	// same, no check is loosened by it.
	Connect func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Upstream is the proxy through which servers are reached; nil is none, whatever
	// the environment says. It cannot stand beside Connect.
	Upstream *Upstream
}

// Judge admits requests. One without a method is a connection of which nothing more
// is seen: admitting it admits whatever is asked for through it.
type Judge interface {
	Admits(r egress.Request) bool
}

// Resolver gives the addresses of a rooted name, such as "api.example.com.". It is
// asked once for each connection, and keeps to the name: no search list, no hosts
// file. An IPv4 address in an IPv6 form is refused as it stands, so that those of A
// records are given as IPv4.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, rooted string) ([]netip.Addr, error)
}

const defaultLifetime = 7 * 24 * time.Hour

// complete fills in what was left out.
func (c Config) complete() (Config, error) {
	var err error
	if c.Limits, err = c.Limits.withDefaults(); err != nil {
		return c, err
	}
	if c.Pool == nil {
		if c.Pool, err = NewPool(PoolLimits{}); err != nil {
			return c, err
		}
	}
	if c.Resolver == nil {
		servers, err := stubdns.SystemServers()
		if err != nil {
			return c, fmt.Errorf("no resolver is configured: %w", err)
		}
		c.Resolver = &stubdns.Resolver{Servers: servers}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	switch {
	case c.Lifetime < 0:
		return c, fmt.Errorf("the lifetime of certificates is negative")
	case c.Lifetime == 0:
		c.Lifetime = defaultLifetime
	}
	if c.HostAddresses == nil {
		c.HostAddresses = interfaceAddresses
	}
	if c.Upstream != nil && c.Connect != nil {
		return c, fmt.Errorf("an upstream proxy and a way to connect of its own are two ways to reach servers")
	}
	return c, nil
}
