package authority_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/authority"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
)

// at is a connection that came to an address.
type at struct {
	net.Conn
	address string
}

func (a at) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(a.address))
}

func TestAListenersCertificatesAreForWhatItWasTold(t *testing.T) {
	t.Parallel()
	a, err := authority.New([]string{"localhost", "acas.example"}, []netip.Addr{netip.MustParseAddr("127.0.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(a.PEM()) {
		t.Fatal("no certificate to trust")
	}
	for _, c := range []struct {
		name, address, host string // host is what a client verifies, empty where nothing is issued
	}{
		{"localhost", "127.0.0.1:443", "localhost"},
		{"Team.ACAS.example.", "127.0.0.1:443", "team.acas.example"},
		{"notacas.example", "127.0.0.1:443", ""},
		{"", "127.0.0.1:443", "127.0.0.1"},
		{"", "[::ffff:127.0.0.1]:443", "127.0.0.1"},
		{"", "127.0.0.2:443", ""},
		{"", "[::1]:443", ""},
	} {
		cert, err := a.Certificate(&tls.ClientHelloInfo{ServerName: c.name, Conn: at{address: c.address}})
		if c.host == "" {
			if !errors.Is(err, leafca.ErrOutside) {
				t.Errorf("%q at %s: %v", c.name, c.address, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q at %s: %v", c.name, c.address, err)
			continue
		}
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: c.host, Roots: roots}); err != nil {
			t.Errorf("%q at %s: %v", c.name, c.address, err)
		}
	}
}
