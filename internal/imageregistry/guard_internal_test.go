package imageregistry

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func TestHostsBesideTheRegistryGetNoMoreThanTheirPart(t *testing.T) {
	t.Parallel()
	blobs, err := egress.ParseHost("blobs.example.com")
	if err != nil {
		t.Fatal(err)
	}
	access := &Access{TokenHost: "auth.example.com", BlobHosts: []egress.Host{blobs}}
	g := newGuard("registry.example.com", "registry.example.com", access, &Config{Limits: DefaultLimits()})
	for name, c := range map[string]struct {
		method, url      string
		admitted, signed bool
	}{
		"the registry":                    {"GET", "https://registry.example.com/v2/", true, true},
		"the registry on its port":        {"GET", "https://registry.example.com:443/v2/", true, true},
		"the registry on another port":    {"GET", "https://registry.example.com:8443/v2/", false, false},
		"the token service":               {"GET", "https://auth.example.com/token", true, true},
		"the token service, by a form":    {"POST", "https://auth.example.com/token", true, true},
		"the token service without TLS":   {"GET", "http://auth.example.com/token", false, false},
		"the token service, another port": {"GET", "https://auth.example.com:8443/token", false, false},
		"the store of blobs":              {"GET", "https://blobs.example.com/x", true, false},
		"the store of blobs, by a form":   {"POST", "https://blobs.example.com/x", false, false},
		"the store of blobs without TLS":  {"GET", "http://blobs.example.com/x", false, false},
		"somebody else":                   {"GET", "https://example.com/x", false, false},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer granted")
		sent, err := g.admit(req)
		if (err == nil) != c.admitted {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.admitted && (sent.Header.Get("Authorization") != "") != c.signed {
			t.Errorf("%s: Authorization %q", name, sent.Header.Get("Authorization"))
		}
		if req.Header.Get("Authorization") == "" {
			t.Errorf("%s: the caller's own request was changed", name)
		}
	}
	sent, err := g.admit(&http.Request{Method: "GET", URL: mustURL(t, "http://registry.example.com/v2/")})
	if err != nil || sent.URL.Scheme != "https" {
		t.Errorf("the registry without TLS: %+v, %v", sent, err)
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCauseNamesNoServerOfThisMachine(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("ping: %w", &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "registry.example.com", Server: "10.0.0.53:53"}})
	if got := cause(err); got != "no such host" {
		t.Errorf("the cause is %q", got)
	}
}
