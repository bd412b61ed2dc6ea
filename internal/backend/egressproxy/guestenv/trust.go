package guestenv

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"software.sslmate.com/src/go-pkcs12"
)

// Trust is what programs of a sandbox are to trust: the authorities that they
// would trust anyway, so that hosts whose TLS is passed through still verify, and
// the sandbox's own. It holds certificates and no key.
type Trust struct {
	// PEM is the certificates one after the other.
	PEM []byte
	// PKCS12 is the same for Java, which reads no PEM. It has no password, and
	// needs none: there is nothing secret in it, and a sandbox cannot change it.
	PKCS12 []byte
}

// NewTrust puts the roots and the sandbox's own authority together, both PEM.
// Roots that cannot be read, as a system's bundle may have some, are left out of
// PKCS12; an authority that cannot is an error.
func NewTrust(roots, authority []byte) (Trust, error) {
	own := certificates(authority)
	if len(own) == 0 {
		return Trust{}, errors.New("tell a sandbox what to trust: no certificate of its own")
	}
	all := append(own, certificates(roots)...)
	store, err := pkcs12.Passwordless.EncodeTrustStore(all, "")
	if err != nil {
		return Trust{}, fmt.Errorf("tell a sandbox what to trust: %w", err)
	}
	bundle := append(bytes.TrimRight(bytes.Clone(authority), "\n"), '\n')
	return Trust{PEM: append(bundle, roots...), PKCS12: store}, nil
}

// certificates reads those of a PEM text that can be read, each once.
func certificates(text []byte) []*x509.Certificate {
	var all []*x509.Certificate
	seen := map[string]bool{}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		if block.Type != "CERTIFICATE" || seen[string(block.Bytes)] {
			continue
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			seen[string(block.Bytes)] = true
			all = append(all, cert)
		}
	}
}

// bundles are where systems keep the authorities that they trust, in one file:
// Debian, Fedora, openSUSE, the older Fedora and Alpine.
var bundles = []string{
	"etc/ssl/certs/ca-certificates.crt",
	"etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"etc/ssl/ca-bundle.pem",
	"etc/pki/tls/certs/ca-bundle.crt",
	"etc/ssl/cert.pem",
}

// maxBundle bounds the file that is read: those of systems have some 200 KiB.
const maxBundle = 4 << 20

// Roots reads the authorities that a file system trusts, "/" being this machine's;
// nil where it has none. No link in another one leads out of it, whoever made it.
func Roots(root string) ([]byte, error) {
	if root == "/" {
		return rootsIn(os.DirFS(root))
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("read which authorities a system trusts: %w", err)
	}
	defer dir.Close()
	return rootsIn(dir.FS())
}

func rootsIn(files fs.FS) ([]byte, error) {
	for _, name := range bundles {
		info, err := fs.Stat(files, name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxBundle {
			continue
		}
		text, err := fs.ReadFile(files, name)
		if errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read which authorities a system trusts: %w", err)
		}
		return text, nil
	}
	return nil, nil
}
