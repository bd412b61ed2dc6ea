// Package authority issues the certificates of one listener on this machine, for
// clients that are told to trust it. It keeps no key anywhere but in memory. Read [New].
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"time"
)

// Authority issues the certificates of one listener. It is constrained to the names
// that the listener was told, so that whoever trusts it trusts it for nothing else,
// and its key is made in memory and never leaves it.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

// certificateLife is how long a listener can be up.
const certificateLife = 30 * 24 * time.Hour

// New is one for names and addresses. A name admits what lies below it.
func New(names []string, addresses []net.IP) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making an authority: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "emulator of Azure Container Apps Sandboxes"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(certificateLife),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: names,
	}
	for _, ip := range addresses {
		bits := 8 * len(ip)
		template.PermittedIPRanges = append(template.PermittedIPRanges, &net.IPNet{IP: ip, Mask: net.CIDRMask(bits, bits)})
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making an authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("making an authority: %w", err)
	}
	return &Authority{cert: cert, key: key, issued: map[string]*tls.Certificate{}}, nil
}

func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	return serial, nil
}

// PEM is the authority's certificate, for clients to trust.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Certificate is for the name that a client asks for, or for the addresses when it
// asks for none.
func (a *Authority) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if name != "" && !a.admits(name) {
		return nil, fmt.Errorf("no certificate for a name that the listener was not told")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if cert := a.issued[name]; cert != nil {
		return cert, nil
	}
	cert, err := a.issue(name)
	if err != nil {
		return nil, err
	}
	if len(a.issued) < 64 { // names below a told one are without number
		a.issued[name] = cert
	}
	return cert, nil
}

func (a *Authority) admits(name string) bool {
	for _, told := range a.cert.PermittedDNSDomains {
		if name == told || strings.HasSuffix(name, "."+told) {
			return true
		}
	}
	return false
}

func (a *Authority) issue(name string) (*tls.Certificate, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "emulator"}, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if name != "" {
		template.DNSNames = []string{name}
	} else {
		template.DNSNames = a.cert.PermittedDNSDomains
	}
	for _, n := range a.cert.PermittedIPRanges {
		template.IPAddresses = append(template.IPAddresses, n.IP)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}, nil
}
