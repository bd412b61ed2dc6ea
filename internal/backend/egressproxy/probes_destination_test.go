package egressproxy

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	goodHost = "api.example.com"
	evilHost = "evil.example.net"
)

// twoSites has the host that the rules name, and one that they do not.
func twoSites(tb testing.TB, w *egressworld.World) {
	tb.Helper()
	site(tb, w, goodHost)
	site(tb, w, evilHost)
}

// plainRules admit the good host whole.
func plainRules() map[string]sandbox.EgressRule {
	return map[string]sandbox.EgressRule{"api": rule(goodHost, "80 443", "*", "*")}
}

func absolute(host, path string, headers ...string) string {
	text := "GET http://" + host + path + " HTTP/1.1\r\nHost: " + host + "\r\n"
	for _, h := range headers {
		text += h + "\r\n"
	}
	return text + "\r\n"
}

func destinationProbes() []probe {
	return []probe{
		{name: "a host that no rule names", rules: plainRules(), world: twoSites, run: func(s *scene) error {
			return steps(
				s.rawAllowed(absolute(goodHost, "/")),
				s.rawAllowed(absolute("API.example.com.", "/")),
				s.rawRefused(absolute(evilHost, "/"), sandbox.CodeEgressDenied),
				s.rawRefused(absolute("x"+goodHost, "/"), sandbox.CodeEgressDenied),
				s.rawRefused(absolute("x."+goodHost, "/"), sandbox.CodeEgressDenied),
				s.rawRefused(absolute(goodHost+".evil.example.net", "/"), sandbox.CodeEgressDenied),
				s.tlsAllowed(goodHost+":443", goodHost, false),
				s.tunnelRefused(evilHost+":443", sandbox.CodeEgressDenied),
			)
		}},
		{name: "another port", rules: plainRules(), world: twoSites, run: func(s *scene) error {
			return steps(
				s.rawAllowed(absolute(goodHost+":80", "/")),
				s.rawRefused(absolute(goodHost+":8080", "/"), sandbox.CodeEgressDenied),
				s.tunnelRefused(goodHost+":22", sandbox.CodeEgressDenied),
				s.tunnelRefused(goodHost+":65535", sandbox.CodeEgressDenied),
				s.tlsAllowed(goodHost+":443", goodHost, false),
			)
		}},
		{name: "names that no rule admits are never looked up", rules: plainRules(), world: twoSites, run: func(s *scene) error {
			err := steps(
				s.rawRefused(absolute("secret-4612."+evilHost, "/"), sandbox.CodeEgressDenied),
				s.tunnelRefused("secret-4613."+evilHost+":443", sandbox.CodeEgressDenied),
				s.rawAllowed(absolute(goodHost, "/")),
			)
			if got := s.world.Lookups(); err == nil && !slices.Equal(got, []string{goodHost + "."}) {
				err = fmt.Errorf("looked up %q", got)
			}
			return err
		}},
		{name: "authorities that readers disagree about", rules: map[string]sandbox.EgressRule{
			"api": rule(goodHost, "80 443", "*", "*"), "all": rule("0.0.0.0/0", "80 443", "*", "*"), "six": rule("::/0", "80 443", "*", "*"),
		}, world: twoSites, run: func(s *scene) error {
			errs := []error{s.rawAllowed(absolute(goodHost, "/")), s.tlsAllowed(goodHost+":443", goodHost, false)}
			for _, authority := range []string{
				"user@" + goodHost, "user:password@" + goodHost, goodHost + "@" + evilHost, goodHost + ":", goodHost + ":080",
				goodHost + ":+80", goodHost + ":80:80", goodHost + "..", "." + goodHost, "[" + goodHost + "]", "%61pi.example.com",
				"::1", "[::1%25eth0]", "[::ffff:11.0.0.1]", "0x7f.1", "127.1", "2130706433", "017700000001", "0.0.0.0.0", "11.0.0.256",
				"*.example.com", goodHost + "%00", "",
			} {
				errs = append(errs, s.rawRefused(absolute(authority, "/"), sandbox.CodeEgressRequestMalformed))
			}
			for _, authority := range []string{
				goodHost, goodHost + ":0", goodHost + ":65536", "user@" + goodHost + ":443", ":443", "https://" + goodHost + ":443",
				"[::ffff:11.0.0.1]:443", "2130706433:443", "/" + goodHost + ":443",
			} {
				errs = append(errs, s.tunnelRefused(authority, sandbox.CodeEgressRequestMalformed))
			}
			return steps(errs...)
		}},
		{name: "an address where rules name hosts", rules: plainRules(), world: twoSites, run: func(s *scene) error {
			return steps(
				s.rawRefused(absolute("11.0.0.1", "/"), sandbox.CodeEgressDenied),
				s.tunnelRefused("11.0.0.1:443", sandbox.CodeEgressDenied),
				s.tunnelRefused("[2606:4700::1]:443", sandbox.CodeEgressDenied),
				s.rawAllowed(absolute(goodHost, "/")),
			)
		}},
	}
}
