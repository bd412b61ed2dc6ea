package provider

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/imageregistry"
)

// imageWorld is a registry on this machine that counts what it is asked.
type imageWorld struct {
	server   *httptest.Server
	host     string
	requests atomic.Int64
}

func newImageWorld(t *testing.T) *imageWorld {
	t.Helper()
	w := &imageWorld{}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	w.server = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.requests.Add(1)
		inner.ServeHTTP(rw, r)
	}))
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(w.server.Close)
	w.host = strings.TrimPrefix(w.server.URL, "https://")
	return w
}

// trusted is a provider that knows the registry's certificate.
func (w *imageWorld) trusted(p *sandboxProvider) *sandboxProvider {
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	p.registries = imageregistry.Config{TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return p
}

// block is a provider block that names the registry.
func (w *imageWorld) block() map[string]any {
	return map[string]any{"registries": map[string]any{w.host: map[string]any{"private_addresses": true}}}
}

// blockHCL is the same as people write it.
func (w *imageWorld) blockHCL() string {
	return "provider \"sandbox\" {\n  registries = { \"" + w.host + "\" = { private_addresses = true } }\n}\n"
}

// push stores an image of these users by platform, and returns its reference and
// digest.
func (w *imageWorld) push(t *testing.T, path string, users ...[2]string) (reference, digest string) {
	t.Helper()
	var idx v1.ImageIndex = empty.Index
	var img v1.Image
	for _, u := range users {
		p, err := v1.ParsePlatform(u[0])
		if err != nil {
			t.Fatal(err)
		}
		img, err = mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: p.OS, Architecture: p.Architecture, Config: v1.Config{User: u[1]}})
		if err != nil {
			t.Fatal(err)
		}
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: p}})
	}
	ref, err := name.ParseReference(w.host + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	transport := remote.WithTransport(w.server.Client().Transport)
	var h v1.Hash
	if len(users) == 1 {
		err = remote.Write(ref, img, transport)
		h, _ = img.Digest()
	} else {
		err = remote.WriteIndex(ref, idx, transport)
		h, _ = idx.Digest()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.requests.Store(0)
	return w.host + "/" + path, h.String()
}
