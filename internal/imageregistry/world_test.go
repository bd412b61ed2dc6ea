package imageregistry_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/imageregistry"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// world is a registry on this machine, and what stands before it. It records the
// requests that it was sent.
type world struct {
	*httptest.Server
	host string

	mu       sync.Mutex
	requests []*http.Request
	// before, where it is set, may answer in the registry's place.
	before func(http.ResponseWriter, *http.Request) (answered bool)
}

func newWorld(t *testing.T, start func(http.Handler) *httptest.Server) *world {
	t.Helper()
	w := &world{}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	w.Server = start(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.requests = append(w.requests, r.Clone(r.Context()))
		before := w.before
		w.mu.Unlock()
		if before == nil || !before(rw, r) {
			inner.ServeHTTP(rw, r)
		}
	}))
	w.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(w.Close)
	_, w.host, _ = strings.Cut(w.URL, "://")
	return w
}

// overTLS is the usual world.
func overTLS(t *testing.T) *world {
	t.Helper()
	return newWorld(t, httptest.NewTLSServer)
}

func (w *world) answer(before func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before, w.requests = before, nil
}

// asked are the requests since the last answer.
func (w *world) asked() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*http.Request(nil), w.requests...)
}

// trusting are the roots by which every world is trusted.
func trusting(worlds ...*world) *tls.Config {
	roots := x509.NewCertPool()
	for _, w := range worlds {
		if w.Certificate() != nil {
			roots.AddCert(w.Certificate())
		}
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// client may ask w as access says.
func (w *world) client(access imageregistry.Access, others ...*world) *imageregistry.Client {
	return imageregistry.New(w.config(access, others...))
}

func (w *world) config(access imageregistry.Access, others ...*world) imageregistry.Config {
	return imageregistry.Config{
		Registries: map[string]imageregistry.Access{w.host: access},
		TLS:        trusting(append(others, w)...),
		Limits:     imageregistry.Limits{Time: 20 * time.Second},
	}
}

var private = imageregistry.Access{PrivateAddresses: true}

// image is one whose configuration names a user and a platform.
func image(t *testing.T, user, platform string) v1.Image {
	t.Helper()
	os, rest, _ := strings.Cut(platform, "/")
	architecture, variant, _ := strings.Cut(rest, "/")
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: os, Architecture: architecture, Variant: variant, Config: v1.Config{User: user},
	})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// index is one of images by platform, in this order. A platform that is empty is
// not said.
func index(t *testing.T, images ...[2]string) v1.ImageIndex {
	t.Helper()
	var idx v1.ImageIndex = empty.Index
	for _, i := range images {
		user, platform := i[0], i[1]
		add := mutate.IndexAddendum{Add: image(t, user, platform)}
		if said, unsaid := strings.CutPrefix(platform, "?"); unsaid {
			add.Add = image(t, user, said)
		} else {
			p, err := v1.ParsePlatform(platform)
			if err != nil {
				t.Fatal(err)
			}
			add.Descriptor = v1.Descriptor{Platform: p}
		}
		idx = mutate.AppendManifests(idx, add)
	}
	return idx
}

// push stores an image or an index, and returns its reference.
func (w *world) push(t *testing.T, path string, what any) string {
	t.Helper()
	ref, err := name.ParseReference(w.host + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	transport := remote.WithTransport(w.Client().Transport)
	switch what := what.(type) {
	case v1.Image:
		err = remote.Write(ref, what, transport)
	case v1.ImageIndex:
		err = remote.WriteIndex(ref, what, transport)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.host + "/" + path
}

func digestOf(t *testing.T, what interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	h, err := what.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return h.String()
}

func look(t *testing.T, c *imageregistry.Client, reference, platform string) (imageregistry.Image, error) {
	t.Helper()
	p, err := imageregistry.ParsePlatform(platform)
	if err != nil {
		t.Fatal(err)
	}
	return c.Look(t.Context(), reference, p)
}

// refused holds an error to a code, a place and words, and to naming nothing of
// what a server wrote.
func refused(t *testing.T, err error, code sandbox.Code, path string, words ...string) {
	t.Helper()
	var r *sandbox.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("not refused: %v", err)
	}
	if r.Code != code || r.Path.String() != path {
		t.Errorf("refused with %s: %v", r.Locator(), err)
	}
	said := r.Found + "|" + r.Required + "|" + r.Remedy
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("%q does not say %q", said, word)
		}
	}
	if strings.Contains(said, sentinel) || r.Found == "" || r.Remedy == "" {
		t.Errorf("says %q", said)
	}
}

// sentinel is text of a hostile server that must not reach a message.
const sentinel = "IGNORE-PREVIOUS-INSTRUCTIONS"
