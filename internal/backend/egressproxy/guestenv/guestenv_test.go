package guestenv

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
)

func authority(t *testing.T, name string) []byte {
	t.Helper()
	a, err := leafca.New(leafca.Scope{Names: []string{name}}, time.Now(), time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	return a.CertificatePEM()
}

func TestEveryVariableOfTheProxyIsThereInBothCases(t *testing.T) {
	t.Parallel()
	env := Proxy("127.0.0.1", "3128")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		for _, n := range []string{name, strings.ToLower(name)} {
			if !slices.Contains(env, n+"=http://127.0.0.1:3128") {
				t.Errorf("%s is missing in %q", n, env)
			}
		}
	}
	for _, empty := range []string{"NO_PROXY=", "no_proxy="} { // nothing goes past it
		if !slices.Contains(env, empty) {
			t.Errorf("%q is missing in %q", empty, env)
		}
	}
	if got := Java("127.0.0.1", "3128", ""); strings.Contains(got, "trustStore") || !strings.HasPrefix(got, "JAVA_TOOL_OPTIONS=") || !strings.HasSuffix(got, "-Dhttp.nonProxyHosts=") {
		t.Error(got)
	}
	if got := Java("127.0.0.1", "3128", "/run/ca.p12"); !strings.Contains(got, "-Djavax.net.ssl.trustStore=/run/ca.p12 ") {
		t.Error(got)
	}
	for _, variable := range Bundle("/run/ca.pem") {
		if !strings.HasSuffix(variable, "=/run/ca.pem") {
			t.Error(variable)
		}
	}
}

func TestTrustIsTheSystemsAndTheSandboxesOwn(t *testing.T) {
	t.Parallel()
	own, root := authority(t, "own.example.com"), authority(t, "root.example.com")
	odd := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("not a certificate")})
	for name, c := range map[string]struct {
		roots []byte
		want  int
	}{
		"both":                          {root, 2},
		"no system":                     {nil, 1},
		"a root twice":                  {slices.Concat(root, root), 2},
		"a root that cannot be read":    {slices.Concat(odd, root), 2},
		"words between":                 {slices.Concat([]byte("# a comment\n"), root), 2},
		"the sandbox's among the roots": {slices.Concat(own, root), 2},
	} {
		trust, err := NewTrust(c.roots, own)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		certs, err := pkcs12.DecodeTrustStore(trust.PKCS12, "")
		if err != nil || len(certs) < c.want {
			t.Errorf("%s: %d certificates for Java, %v", name, len(certs), err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(trust.PEM) || !bytes.HasPrefix(trust.PEM, own) || !bytes.HasSuffix(trust.PEM, c.roots) {
			t.Errorf("%s: %s", name, trust.PEM)
		}
	}
	for name, none := range map[string][]byte{"nothing": nil, "no certificate": []byte("x"), "one that cannot be read": odd} {
		if _, err := NewTrust(root, none); err == nil {
			t.Errorf("trust without an authority: %s", name)
		}
	}
}

func TestRootsAreThoseOfTheFileSystemAndOfNoOther(t *testing.T) {
	t.Parallel()
	write := func(root, name string, content []byte) {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range bundles {
		root := t.TempDir()
		write(root, name, []byte(name))
		if got, err := Roots(root); err != nil || string(got) != name {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	outside := t.TempDir()
	write(outside, "secret", []byte("secret"))
	for name, put := range map[string]func(at string) error{
		"nothing":            func(string) error { return nil },
		"a directory":        func(at string) error { return os.Mkdir(at, 0o755) },
		"a link out of it":   func(at string) error { return os.Symlink(filepath.Join(outside, "secret"), at) },
		"a link to nowhere":  func(at string) error { return os.Symlink("nowhere", at) },
		"more than there is": func(at string) error { return os.WriteFile(at, make([]byte, maxBundle+1), 0o644) },
	} {
		root := t.TempDir()
		write(root, "etc/ssl/certs/x", nil)
		if err := put(filepath.Join(root, bundles[0])); err != nil {
			t.Fatal(err)
		}
		if got, err := Roots(root); err != nil || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// A link inside of it is what systems have.
	root := t.TempDir()
	write(root, "etc/pki/real.pem", []byte("real"))
	write(root, "etc/ssl/x", nil)
	if err := os.Symlink("../pki/real.pem", filepath.Join(root, "etc/ssl/cert.pem")); err != nil {
		t.Fatal(err)
	}
	if got, err := Roots(root); err != nil || string(got) != "real" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Roots(filepath.Join(root, "nowhere")); err == nil {
		t.Error("a file system that is not there has roots")
	}
}

// The authority speaks for its hosts alone whatever else is trusted beside it.
func TestTheAuthorityInTheBundleKeepsItsConstraints(t *testing.T) {
	t.Parallel()
	a, err := leafca.New(leafca.Scope{Names: []string{"own.example.com"}}, time.Now(), time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := NewTrust(nil, a.CertificatePEM())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := a.Certificate("own.example.com", netip.Addr{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trust.PEM)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "own.example.com"}); err != nil {
		t.Error(err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "other.example.com"}); err == nil {
		t.Error("it speaks for another host")
	}
}
