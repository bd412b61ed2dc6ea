package egressproxy

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// special are addresses that no name may lead to, one of each kind.
var special = []string{
	"169.254.169.254", "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "100.100.100.200", "168.63.129.16",
	"192.0.0.192", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "192.88.99.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
	"::1", "::", "::ffff:11.0.0.1", "64:ff9b::b00:1", "64:ff9b:1::1", "2002:b00:1::1", "2001::1", "2001:db8::1", "100::1",
	"fe80::1", "fd00:ec2::254", "fd00::1", "fec0::1", "ff02::1", "3fff::1", "::a9fe:a9fe", "5f00::1", "4000::1",
}

// everywhere has an HTTP server at each of the addresses.
func everywhere(tb testing.TB, w *egressworld.World, addrs ...string) {
	tb.Helper()
	for _, text := range addrs {
		must(tb, w.HTTP(netip.AddrPortFrom(netip.MustParseAddr(text), 80), &echo{}))
	}
}

func addressProbes() []probe {
	return []probe{
		{
			name: "a name that leads to a special address", rules: map[string]sandbox.EgressRule{"all": rule("*.example.com", "80", "*", "*")},
			world: func(tb testing.TB, w *egressworld.World) {
				tb.Helper()
				everywhere(tb, w, append(special, "11.0.0.9")...)
				w.Name("good.example.com", netip.MustParseAddr("11.0.0.9"))
				for i, text := range special {
					w.Name(fmt.Sprintf("alone%d.example.com", i), netip.MustParseAddr(text))
					w.Name(fmt.Sprintf("mixed%d.example.com", i), netip.MustParseAddr("11.0.0.9"), netip.MustParseAddr(text))
				}
			},
			run: func(s *scene) error {
				errs := []error{s.rawAllowed(absolute("good.example.com", "/"))}
				for i := range special {
					errs = append(errs,
						s.rawRefused(absolute(fmt.Sprintf("alone%d.example.com", i), "/"), sandbox.CodeEgressAddressRefused),
						s.rawRefused(absolute(fmt.Sprintf("mixed%d.example.com", i), "/"), sandbox.CodeEgressAddressRefused),
					)
				}
				for _, to := range s.world.Dials() {
					if to.Addr().String() != "11.0.0.9" {
						errs = append(errs, fmt.Errorf("dialled %s", to))
					}
				}
				return steps(errs...)
			},
		},
		{
			name: "an address that no rule opens, by a rule for all addresses", rules: map[string]sandbox.EgressRule{
				"all": rule("0.0.0.0/0", "80", "*", "*"), "six": rule("::/0", "80", "*", "*"), "meta": rule("168.0.0.0/6", "80", "*", "*"),
				"name": rule("*.localhost", "80", "*", "*"),
			},
			world: func(tb testing.TB, w *egressworld.World) {
				tb.Helper()
				everywhere(tb, w, "169.254.169.254", "127.0.0.1", "168.63.129.16", "100.100.100.200", "192.0.0.192", "10.0.0.1", "11.0.0.9",
					"::1", "fd00:ec2::254", "fd00::9", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1")
				w.Name("a.localhost", netip.MustParseAddr("11.0.0.9"))
			},
			run: func(s *scene) error {
				var errs []error
				for _, open := range []string{"10.0.0.1", "11.0.0.9", "[fd00::9]"} {
					errs = append(errs, s.rawAllowed(absolute(open, "/")))
				}
				for _, shut := range []string{
					"169.254.169.254", "127.0.0.1", "168.63.129.16", "100.100.100.200", "192.0.0.192", "[::1]", "[fd00:ec2::254]",
					"[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "a.localhost",
				} {
					errs = append(errs, s.rawRefused(absolute(shut, "/"), sandbox.CodeEgressAlwaysBlocked), s.tunnelRefused(shut+":80", sandbox.CodeEgressAlwaysBlocked))
				}
				return steps(errs...)
			},
		},
		{
			name: "an address beside those of a rule", rules: map[string]sandbox.EgressRule{"some": rule("11.1.0.0/24", "80", "*", "*")},
			world: func(tb testing.TB, w *egressworld.World) {
				tb.Helper()
				everywhere(tb, w, "11.0.255.255", "11.1.0.0", "11.1.0.255", "11.1.1.0")
			},
			run: func(s *scene) error {
				return steps(
					s.rawAllowed(absolute("11.1.0.0", "/")), s.rawAllowed(absolute("11.1.0.255", "/")),
					s.rawRefused(absolute("11.0.255.255", "/"), sandbox.CodeEgressDenied), s.rawRefused(absolute("11.1.1.0", "/"), sandbox.CodeEgressDenied),
				)
			},
		},
		{
			name: "the host's own public address", rules: map[string]sandbox.EgressRule{
				"name": rule("*.example.com", "80", "*", "*"), "all": rule("0.0.0.0/0", "80", "*", "*"),
			},
			world: func(tb testing.TB, w *egressworld.World) {
				tb.Helper()
				everywhere(tb, w, "11.0.0.8", "11.0.0.9")
				w.Name("own.example.com", netip.MustParseAddr("11.0.0.8"))
				w.Name("other.example.com", netip.MustParseAddr("11.0.0.9"))
			},
			config: func(c *Config) {
				c.HostAddresses = func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("11.0.0.8")}, nil }
			},
			run: func(s *scene) error {
				return steps(
					s.rawAllowed(absolute("other.example.com", "/")),
					s.rawAllowed(absolute("11.0.0.9", "/")),
					s.rawRefused(absolute("own.example.com", "/"), sandbox.CodeEgressAddressRefused),
					s.rawRefused(absolute("11.0.0.8", "/"), sandbox.CodeEgressAddressRefused),
				)
			},
		},
		{
			name: "a name that changes its address", rules: map[string]sandbox.EgressRule{"all": rule("*.example.com", "80 443", "*", "*")},
			world: func(tb testing.TB, w *egressworld.World) {
				tb.Helper()
				everywhere(tb, w, "11.0.0.9", "169.254.169.254")
				w.Answer("rebind.example.com", func(n int) []netip.Addr {
					return []netip.Addr{netip.MustParseAddr([]string{"11.0.0.9", "169.254.169.254"}[min(n, 1)])}
				})
			},
			run: func(s *scene) error {
				err := s.rawAllowed(absolute("rebind.example.com", "/"))
				if got := s.world.Lookups(); err == nil && !slices.Equal(got, []string{"rebind.example.com."}) {
					err = fmt.Errorf("looked up %q for one request", got)
				}
				s.proxy.transport.CloseIdleConnections()
				err = steps(err, s.rawRefused(absolute("rebind.example.com", "/"), sandbox.CodeEgressAddressRefused))
				if slices.ContainsFunc(s.world.Dials(), func(to netip.AddrPort) bool { return to.Addr() == netip.MustParseAddr("169.254.169.254") }) {
					err = steps(err, fmt.Errorf("the metadata service was dialled"))
				}
				return err
			},
		},
	}
}
