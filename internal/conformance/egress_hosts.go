package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// egressHosts are which host, and which port of it.
func egressHosts() Suite {
	return Suite{Name: "EGRESS_HOSTS", Gate: sandbox.CapabilityExec, Probes: confined([]Probe{
		{Name: "an-allowed-host-is-reachable", Run: func(ctx context.Context, s *Scene) error {
			return errors.Join(s.twoSites(ctx), s.calls(ctx,
				answered(absolute(goodHost, "/")),
				call{what: "TLS to " + goodHost, visit: throughTLS(goodHost+":443", goodHost, s.worldRoots(), head("GET / HTTP/1.1", "Host: "+goodHost))},
			))
		}},
		{Name: "a-denied-host-is-refused", Run: func(ctx context.Context, s *Scene) error {
			near := []string{"x" + goodHost, "x." + goodHost, "example.com", goodHost + ".evil.example.net", "api.example.co", "api-example.com"}
			err := errors.Join(s.twoSites(ctx), s.subject.internet.sites(near...))
			calls := []call{answered(absolute(goodHost, "/"))}
			for _, host := range append(near, evilHost) {
				err = errors.Join(err, s.subject.internet.answers(ctx, host+":80"))
				calls = append(calls, denied(absolute(host, "/"), sandbox.CodeEgressDenied),
					call{what: "TLS to " + host, visit: throughTLS(host+":443", host, s.worldRoots(), head("GET / HTTP/1.1", "Host: "+host)), code: sandbox.CodeEgressDenied})
			}
			if err != nil {
				return err
			}
			return s.calls(ctx, calls...)
		}},
		{Name: "another-port-is-refused", Shows: shows(sandbox.GuaranteePortConfined), Run: anotherPort},
		{Name: "one-host-in-other-spellings", Run: otherSpellings},
		{Name: "a-spelling-that-readers-disagree-about-is-refused", Rules: spellingRules(), Run: disagreements},
		{Name: "what-one-sandbox-may-another-may-not", Run: rulesAreItsOwn},
		{Name: "every-decision-is-told", Missing: func(s Subject) string {
			if s.Egress.Observed == nil {
				return "without an observer"
			}
			return ""
		}, Run: everyDecisionIsTold},
	})}
}

func shows(g ...sandbox.Guarantee) []sandbox.Guarantee { return g }

// worldRoots are the world's roots as PEM.
func (s *Scene) worldRoots() string { return string(s.subject.internet.RootPEM()) }

// twoSites has the host that rules name and the one that they do not, and sees that
// both would answer.
func (s *Scene) twoSites(ctx context.Context) error {
	if err := s.subject.internet.sites(goodHost, evilHost); err != nil {
		return err
	}
	return s.subject.internet.answers(ctx, goodHost+":80", evilHost+":80")
}

func anotherPort(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	at, err := s.subject.internet.LookupNetIP(ctx, "ip", goodHost+".")
	if err != nil {
		return notShown("%v", err)
	}
	calls := []call{
		answered(absolute(goodHost+":80", "/")),
		{what: "TLS at its port", visit: throughTLS(goodHost+":443", goodHost, s.worldRoots(), head("GET / HTTP/1.1", "Host: "+goodHost))},
	}
	for _, port := range []uint16{22, 53, 444, 8080, 65535} {
		if err := s.subject.internet.another(at[0], port); err != nil {
			return err
		}
		authority := fmt.Sprintf("%s:%d", goodHost, port)
		if err := s.subject.internet.answers(ctx, authority); err != nil {
			return err
		}
		calls = append(calls, denied(absolute(authority, "/"), sandbox.CodeEgressDenied),
			denied(head("CONNECT "+authority+" HTTP/1.1", "Host: "+authority), sandbox.CodeEgressDenied))
	}
	return s.calls(ctx, calls...)
}

func otherSpellings(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	return s.calls(ctx,
		answered(absolute("API.example.COM", "/")), answered(absolute("api.example.com.", "/")),
		denied(absolute("EVIL.example.net", "/"), sandbox.CodeEgressDenied), denied(absolute("evil.example.net.", "/"), sandbox.CodeEgressDenied),
	)
}

// spellingRules admit so much that only the spelling is left to refuse.
func spellingRules() rules {
	return rules{"api": rule(goodHost, "80 443", "*", "*"), "four": rule("0.0.0.0/0", "80 443", "*", "*"), "six": rule("::/0", "80 443", "*", "*")}
}

func disagreements(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	calls := []call{answered(absolute(goodHost, "/"))}
	for _, authority := range []string{
		"user@" + goodHost, "user:password@" + goodHost, goodHost + "@" + evilHost, goodHost + ":", goodHost + ":080",
		goodHost + ":+80", goodHost + ":80:80", goodHost + "..", "." + goodHost, "[" + goodHost + "]", "%61pi.example.com",
		"::1", "[::1%25eth0]", "[::ffff:11.0.0.1]", "[::ffff:b00:1]", "0x7f.1", "0x7f000001", "127.1", "2130706433", "017700000001", "0177.0.0.1",
		"0.0.0.0.0", "11.0.0.256", "011.0.0.1", "*.example.com", goodHost + "%00", goodHost + "%2eevil.example.net", "",
	} {
		calls = append(calls, denied(absolute(authority, "/"), sandbox.CodeEgressRequestMalformed))
	}
	for _, authority := range []string{
		goodHost, goodHost + ":0", goodHost + ":65536", "user@" + goodHost + ":443", ":443", "https://" + goodHost + ":443",
		"[::ffff:11.0.0.1]:443", "2130706433:443", "0x7f.1:443", "/" + goodHost + ":443",
	} {
		calls = append(calls, denied(head("CONNECT "+authority+" HTTP/1.1", "Host: "+authority), sandbox.CodeEgressRequestMalformed))
	}
	return s.calls(ctx, calls...)
}

// rulesAreItsOwn has two sandboxes whose rules differ, side by side.
func rulesAreItsOwn(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	other, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) {
		r.Key.Thread += "/other"
		r.Spec = under(r.Spec, rules{"evil": rule(evilHost, "80 443", "*", "*")})
	})
	if err != nil {
		return err
	}
	good, evil := absolute(goodHost, "/"), absolute(evilHost, "/")
	return errors.Join(
		s.calls(ctx, answered(good), denied(evil, sandbox.CodeEgressDenied)),
		other.calls(ctx, answered(evil), denied(good, sandbox.CodeEgressDenied)),
		s.calls(ctx, answered(good), denied(evil, sandbox.CodeEgressDenied)),
	)
}

func everyDecisionIsTold(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	err := s.calls(ctx, answered(absolute(goodHost, "/told")), denied(absolute(evilHost, "/told"), sandbox.CodeEgressDenied))
	if err != nil {
		return err
	}
	return s.subject.Egress.Observed.wait(ctx, s.Info().InstanceID, func(told []egress.Event) bool {
		return slices.ContainsFunc(told, func(e egress.Event) bool { return e.Allowed && e.Host == goodHost && e.Rule == "api" }) &&
			slices.ContainsFunc(told, func(d egress.Event) bool {
				return !d.Allowed && d.Host == evilHost && d.Code == sandbox.CodeEgressDenied
			})
	})
}
