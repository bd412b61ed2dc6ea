package leafca

import (
	"crypto/x509"
	"net/netip"
	"testing"
	"time"
)

// TestClientsTakeNothingElseFromAnAuthority holds the constraints in the
// certificate themselves: were the key stolen, they are what is left.
func TestClientsTakeNothingElseFromAnAuthority(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope     Scope
		good, bad []string
	}{
		"names": {
			Scope{Names: []string{"example.com"}},
			[]string{"example.com", "a.example.com"},
			[]string{"example.net", "xexample.com", "11.0.0.9", "2606:4700::1"},
		},
		"addresses": {
			Scope{Prefixes: []netip.Prefix{netip.MustParsePrefix("11.0.0.0/24")}},
			[]string{"11.0.0.9"},
			[]string{"11.0.1.9", "example.com", "2606:4700::1"},
		},
	} {
		a, err := New(c.scope, time.Now(), time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AddCert(a.cert)
		verify := func(host string) error {
			addr, _ := netip.ParseAddr(host) // a name has none
			cert, err := a.issue(host, addr)
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := x509.ParseCertificate(cert.Certificate[0])
			if err != nil {
				t.Fatal(err)
			}
			_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host})
			return err
		}
		for _, host := range c.good {
			if err := verify(host); err != nil {
				t.Errorf("%s: %s: %v", name, host, err)
			}
		}
		for _, host := range c.bad {
			if verify(host) == nil {
				t.Errorf("%s: a certificate for %s is good", name, host)
			}
		}
	}
}
