// Package leafca is the certificate authority of one sandbox whose rules ask for
// its TLS to be opened: it issues server certificates for the hosts of those rules
// and for nothing else, and lives no longer than the sandbox.
//
// Its key is made in memory and never leaves it: nothing here writes a file or
// encodes a private key. Start with [New] and [Authority.Certificate].
package leafca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"time"
)

// ErrOutside is returned for a host that the authority is not constrained to.
var ErrOutside = errors.New("the host is outside the authority's constraints")

// Scope is what an authority may speak for: names, each with what lies below it,
// and ranges of addresses. An empty scope speaks for nothing.
type Scope struct {
	Names    []string
	Prefixes []netip.Prefix
}

func (s Scope) empty() bool { return len(s.Names) == 0 && len(s.Prefixes) == 0 }

func (s Scope) has(host string, addr netip.Addr) bool {
	if addr.IsValid() {
		for _, p := range s.Prefixes {
			if p.Contains(addr) {
				return true
			}
		}
		return false
	}
	for _, name := range s.Names {
		if host == name || strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	return false
}

// Authority issues certificates within its scope. It is safe for concurrent use.
type Authority struct {
	scope  Scope
	key    *ecdsa.PrivateKey
	cert   *x509.Certificate
	leaf   *ecdsa.PrivateKey // one key for all leafs: they are one party's
	leaves cache
}

// backdated is how far before its making an authority is valid, for guests whose
// clock is behind.
const backdated = time.Hour

// New makes an authority with a key of its own, valid from an hour before now for
// lifetime after it. Its certificate carries the scope as critical name
// constraints (RFC 5280 4.2.1.10), so that a client that checks them takes no
// certificate for anything else from it, whatever happens to its key. keep bounds
// how many certificates are kept for reuse.
func New(scope Scope, now time.Time, lifetime time.Duration, keep int) (*Authority, error) {
	if scope.empty() {
		return nil, errors.New("make a certificate authority: it would speak for no host")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of a certificate authority: %w", err)
	}
	leaf, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of the authority's certificates: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "sandbox egress " + serial().Text(36)},
		NotBefore: now.Add(-backdated), NotAfter: now.Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	constrain(template, scope)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the certificate that was made: %w", err)
	}
	return &Authority{scope: scope, key: key, cert: cert, leaf: leaf, leaves: cache{most: max(keep, 1)}}, nil
}

// constrain writes the scope into the certificate. A kind of name that the scope
// does not have at all is excluded whole, since what no constraint names is free.
func constrain(c *x509.Certificate, scope Scope) {
	c.PermittedDNSDomainsCritical = true
	c.PermittedDNSDomains = scope.Names
	if len(scope.Names) == 0 {
		c.ExcludedDNSDomains = []string{""}
	}
	for _, p := range scope.Prefixes {
		c.PermittedIPRanges = append(c.PermittedIPRanges, ipNet(p))
	}
	for _, all := range []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)} {
		if !anyOfFamily(scope.Prefixes, all.Addr().Is4()) {
			c.ExcludedIPRanges = append(c.ExcludedIPRanges, ipNet(all))
		}
	}
}

func anyOfFamily(prefixes []netip.Prefix, four bool) bool {
	for _, p := range prefixes {
		if p.Addr().Is4() == four {
			return true
		}
	}
	return false
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// CertificatePEM is the authority's certificate, for the guest to trust. It has no
// private part.
func (a *Authority) CertificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Certificate gives a certificate for a host: a name in normal form, or an
// address. It is kept, up to a bound, and renewed when it has expired. A host
// outside the scope is [ErrOutside]; so is every host once the authority expired.
func (a *Authority) Certificate(host string, addr netip.Addr, now time.Time) (*tls.Certificate, error) {
	if !a.scope.has(host, addr) {
		return nil, ErrOutside
	}
	if now.After(a.cert.NotAfter) {
		return nil, fmt.Errorf("%w: it expired", ErrOutside)
	}
	key := host
	if addr.IsValid() {
		key = addr.String()
	}
	if cert, ok := a.leaves.get(key); ok {
		return cert, nil
	}
	cert, err := a.issue(key, addr)
	if err != nil {
		return nil, err
	}
	a.leaves.put(key, cert)
	return cert, nil
}

func (a *Authority) issue(host string, addr netip.Addr) (*tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: serial(), NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if addr.IsValid() {
		template.IPAddresses = []net.IP{addr.AsSlice()}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.leaf.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("issue a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.leaf}, nil
}

// serial is a random serial number of 127 bits.
func serial() *big.Int {
	const bits = 127
	var b [(bits + 7) / 8]byte
	rand.Read(b[:]) // it never fails
	b[0] &= 0x7f
	b[0] |= 0x40 // of one length, and never zero
	return new(big.Int).SetBytes(b[:])
}
