package egressworld

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/netip"
	"time"
)

// validity is how long the world's certificates are valid.
const validity = 24 * time.Hour

func newRoot() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make the key of a world for tests: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a world for tests"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	root, err := sign(template, template, key, key)
	return root, key, err
}

// Certificate makes a certificate of the world for names and addresses.
func (w *World) Certificate(names ...string) (*tls.Certificate, error) {
	return leaf(w.root, w.key, names)
}

// SelfSigned makes a certificate that nobody vouches for.
func SelfSigned(names ...string) (*tls.Certificate, error) {
	root, key, err := newRoot()
	if err != nil {
		return nil, err
	}
	return leaf(root, key, names)
}

func leaf(root *x509.Certificate, rootKey *ecdsa.PrivateKey, names []string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of a server for tests: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if addr, err := netip.ParseAddr(name); err == nil {
			template.IPAddresses = append(template.IPAddresses, net.IP(addr.AsSlice()))
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	cert, err := sign(template, root, key, rootKey)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}, nil
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, fmt.Errorf("make a certificate of a world for tests: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read a certificate of a world for tests: %w", err)
	}
	return cert, nil
}

func silent() *log.Logger { return log.New(io.Discard, "", 0) }
