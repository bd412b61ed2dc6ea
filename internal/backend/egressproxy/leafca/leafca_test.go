package leafca_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func authority(t *testing.T, scope leafca.Scope, keep int) (*leafca.Authority, *x509.CertPool) {
	t.Helper()
	a, err := leafca.New(scope, now, time.Hour, keep)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(a.CertificatePEM()) {
		t.Fatal("no certificate")
	}
	return a, pool
}

func TestAnAuthoritySpeaksForItsScopeAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope    leafca.Scope
		good     []string
		bad      []string
		goodAddr []string
		badAddr  []string
	}{
		"names": {
			leafca.Scope{Names: []string{"example.com", "api.example.net"}},
			[]string{"example.com", "a.example.com", "a.b.example.com", "api.example.net"},
			[]string{"example.net", "xexample.com", "com", "example.com.evil.net"},
			nil,
			[]string{"11.0.0.9", "2606:4700::1"},
		},
		"addresses": {
			leafca.Scope{Prefixes: []netip.Prefix{netip.MustParsePrefix("11.0.0.0/24"), netip.MustParsePrefix("2606:4700::/32")}},
			nil,
			[]string{"example.com"},
			[]string{"11.0.0.9", "2606:4700::1"},
			[]string{"11.0.1.9", "2606:4701::1"},
		},
		"one family": {
			leafca.Scope{Names: []string{"example.com"}, Prefixes: []netip.Prefix{netip.MustParsePrefix("11.0.0.0/24")}},
			[]string{"example.com"},
			[]string{"example.org"},
			[]string{"11.0.0.9"},
			[]string{"2606:4700::1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, pool := authority(t, c.scope, 4)
			for _, host := range c.good {
				must(t, verify(a, pool, host, netip.Addr{}, host))
			}
			for _, host := range c.bad {
				if err := verify(a, pool, host, netip.Addr{}, host); !errors.Is(err, leafca.ErrOutside) {
					t.Errorf("%s: %v", host, err)
				}
			}
			for _, text := range c.goodAddr {
				must(t, verify(a, pool, "", netip.MustParseAddr(text), text))
			}
			for _, text := range c.badAddr {
				if err := verify(a, pool, "", netip.MustParseAddr(text), text); !errors.Is(err, leafca.ErrOutside) {
					t.Errorf("%s: %v", text, err)
				}
			}
		})
	}
	if _, err := leafca.New(leafca.Scope{}, now, time.Hour, 1); err == nil {
		t.Error("an authority that speaks for nobody is made")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func verify(a *leafca.Authority, pool *x509.CertPool, host string, addr netip.Addr, name string) error {
	cert, err := a.Certificate(host, addr, now)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		return err
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name, CurrentTime: now}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func TestAnAuthorityExpires(t *testing.T) {
	t.Parallel()
	a, _ := authority(t, leafca.Scope{Names: []string{"example.com"}}, 4)
	if _, err := a.Certificate("example.com", netip.Addr{}, now.Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if _, err := a.Certificate("example.com", netip.Addr{}, now.Add(time.Hour+time.Second)); !errors.Is(err, leafca.ErrOutside) {
		t.Errorf("after its end: %v", err)
	}
}

func TestCertificatesAreKeptUpToABound(t *testing.T) {
	t.Parallel()
	a, _ := authority(t, leafca.Scope{Names: []string{"example.com"}}, 2)
	get := func(host string) any {
		cert, err := a.Certificate(host, netip.Addr{}, now)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	first, second := get("a.example.com"), get("b.example.com")
	if get("a.example.com") != first {
		t.Error("a kept certificate was made again")
	}
	get("c.example.com") // in the place of b, which was not used for longest
	if get("a.example.com") != first {
		t.Error("the wrong one was given up")
	}
	if get("b.example.com") == second {
		t.Error("more are kept than there is room for")
	}
}
