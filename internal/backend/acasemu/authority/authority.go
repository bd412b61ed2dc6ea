// Package authority issues the certificates of one listener on this machine, for
// clients that are told to trust it. It says which certificate a connection gets;
// the authority itself is [leafca]'s, which keeps its key in memory alone and is
// constrained to what the listener was told. Read [New].
package authority

import (
	"crypto/tls"
	"net/netip"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
)

// Authority issues the certificates of one listener.
type Authority struct{ ca *leafca.Authority }

// life is how long a listener can be up, and kept how many certificates are kept: names
// below a told one are without number.
const (
	life = 30 * 24 * time.Hour
	kept = 64
)

// New is one for names and addresses. A name admits what lies below it.
func New(names []string, addresses []netip.Addr) (*Authority, error) {
	scope := leafca.Scope{Names: names}
	for _, addr := range addresses {
		scope.Prefixes = append(scope.Prefixes, netip.PrefixFrom(addr, addr.BitLen()))
	}
	ca, err := leafca.New(scope, time.Now(), life, kept)
	if err != nil {
		return nil, err
	}
	return &Authority{ca}, nil
}

// PEM is the authority's certificate, for clients to trust.
func (a *Authority) PEM() []byte { return a.ca.CertificatePEM() }

// Certificate is for the name that a client asks for, or for the address that it came
// to when it asks for none. What the listener was not told is [leafca.ErrOutside].
func (a *Authority) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if name := strings.ToLower(strings.TrimSuffix(hello.ServerName, ".")); name != "" {
		return a.ca.Certificate(name, netip.Addr{}, time.Now())
	}
	at, err := netip.ParseAddrPort(hello.Conn.LocalAddr().String())
	if err != nil {
		return nil, leafca.ErrOutside
	}
	return a.ca.Certificate("", at.Addr().Unmap(), time.Now())
}
