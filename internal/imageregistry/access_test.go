package imageregistry_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/imageregistry"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func TestLookAsksNoRegistryThatIsNotNamed(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	w.answer(nil)
	c := imageregistry.New(imageregistry.Config{
		Registries: map[string]imageregistry.Access{"registry.example.com": private}, TLS: trusting(w),
	})
	_, err := look(t, c, w.host+"/team/tool:1", "")
	refused(t, err, sandbox.CodeRegistryNotAllowed, "reference", w.host, "registries = ")
	if n := len(w.asked()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestLookDialsNoAddressThatIsNotPublic(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	_, port, _ := strings.Cut(w.host, ":")
	reference := w.push(t, "team/tool:1", image(t, "0", "linux/amd64"))
	named := "localhost:" + port + "/team/tool:1"
	w.answer(nil)
	cfg := w.config(imageregistry.Access{})
	cfg.Registries["localhost:"+port] = imageregistry.Access{}
	for _, r := range []string{reference, named} {
		_, err := look(t, imageregistry.New(cfg), r, "")
		refused(t, err, sandbox.CodeRegistryNotAllowed, "reference", "loopback", "private_addresses = true")
	}
	if n := len(w.asked()); n != 0 {
		t.Errorf("%d requests", n)
	}
	if _, err := look(t, w.client(private), reference, ""); err != nil {
		t.Errorf("the allowed neighbour: %v", err)
	}
}

// Cloud metadata stays shut whatever is configured.
func TestLookDialsNoMetadataService(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"169.254.169.254", "168.63.129.16", "100.100.100.200", "0.0.0.0"} {
		c := imageregistry.New(imageregistry.Config{Registries: map[string]imageregistry.Access{
			host: {PrivateAddresses: true, PlainHTTP: true},
		}})
		_, err := look(t, c, host+"/latest/meta-data:1", "")
		refused(t, err, sandbox.CodeRegistryNotAllowed, "reference", host)
	}
}

func TestLookUsesPlainHTTPOnlyWhereItIsConfigured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, httptest.NewServer)
	reference := w.push(t, "team/tool:1", image(t, "1000", "linux/amd64"))
	w.answer(nil)
	_, err := look(t, w.client(private), reference, "")
	refused(t, err, sandbox.CodeRegistryUnreachable, "reference")
	if n := len(w.asked()); n != 0 {
		t.Errorf("%d plain requests", n)
	}
	got, err := look(t, w.client(imageregistry.Access{PrivateAddresses: true, PlainHTTP: true}), reference, "")
	if err != nil || got.Variants[0].User != "1000" {
		t.Errorf("the allowed neighbour: %+v, %v", got, err)
	}
}

func TestLookTrustsNoUnknownCertificate(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	reference := w.push(t, "team/tool:1", image(t, "0", "linux/amd64"))
	cfg := w.config(private)
	cfg.TLS = nil
	_, err := look(t, imageregistry.New(cfg), reference, "")
	refused(t, err, sandbox.CodeRegistryUnreachable, "reference", "certificate")
}

// elsewhere is a second server that stands under a name of its own.
func elsewhere(t *testing.T, handler http.HandlerFunc) *world {
	t.Helper()
	w := overTLS(t)
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool { handler(rw, r); return true })
	return w
}

func demandsToken(realm string) func(http.ResponseWriter, *http.Request) bool {
	return func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Bearer granted" {
			return false
		}
		rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm=%q,service="s",scope="repository:team/tool:pull"`, realm))
		rw.WriteHeader(http.StatusUnauthorized)
		return true
	}
}

func grants(rw http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(rw, `{"token":"granted"}`)
}

func TestTokenRealmOnAnotherHostGetsNothing(t *testing.T) {
	t.Parallel()
	w, other := overTLS(t), elsewhere(t, grants)
	_, port, _ := strings.Cut(other.host, ":")
	realm := "localhost:" + port // the library itself refuses private addresses here
	reference := w.push(t, "team/tool:1", image(t, "1000", "linux/amd64"))
	ask := func(access imageregistry.Access) (*keychain, error) {
		keys := &keychain{}
		cfg := w.config(access, other)
		cfg.Keychain = keys
		cfg.TLS.ServerName = "example.com" // which the certificate is for as well
		_, err := look(t, imageregistry.New(cfg), reference, "")
		return keys, err
	}
	w.answer(demandsToken("https://" + realm + "/token"))
	for name, access := range map[string]imageregistry.Access{
		"as nobody": private, "with credentials": {PrivateAddresses: true, Credentials: true},
	} {
		_, err := ask(access)
		refused(t, err, sandbox.CodeRegistryNotAllowed, "reference", realm, "token_host")
		if n := len(other.asked()); n != 0 {
			t.Errorf("%s: %d requests", name, n)
		}
	}

	keys, err := ask(imageregistry.Access{PrivateAddresses: true, Credentials: true, TokenHost: realm})
	if err != nil {
		t.Fatalf("the allowed neighbour: %v", err)
	}
	asked := other.asked()
	if len(asked) != 1 || len(keys.asked) != 1 || keys.asked[0] != w.host {
		t.Fatalf("%d tokens, keychain asked for %q", len(asked), keys.asked)
	}
	if user, password, _ := asked[0].BasicAuth(); user != "agent" || password != "secret" {
		t.Errorf("signed in as %q", user)
	}
	keys, err = ask(imageregistry.Access{PrivateAddresses: true, TokenHost: realm})
	if err != nil || len(keys.asked) != 0 {
		t.Errorf("as nobody: %v, keychain asked for %q", err, keys.asked)
	}
	if _, _, signed := other.asked()[1].BasicAuth(); signed {
		t.Error("credentials were sent though none are configured")
	}
}

func TestTokensComeFromTheRegistryItself(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	reference := w.push(t, "team/tool:1", image(t, "1000", "linux/amd64"))
	demand := demandsToken(w.URL + "/token")
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			grants(rw, r)
			return true
		}
		return demand(rw, r)
	})
	if _, err := look(t, w.client(private), reference, ""); err != nil {
		t.Error(err)
	}
	w.answer(demandsToken("http://" + w.host + "/token"))
	if _, err := look(t, w.client(private), reference, ""); err == nil {
		t.Error("a realm without TLS was asked")
	}
}

func TestHostsOfBlobsAreMatchedAsEgressRulesAre(t *testing.T) {
	t.Parallel()
	hosts := func(texts ...string) (out []egress.Host) {
		for _, text := range texts {
			h, err := egress.ParseHost(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, h)
		}
		return out
	}
	w := overTLS(t)
	reference := w.push(t, "team/tool:1", image(t, "1000", "linux/amd64"))
	for to, c := range map[string]struct {
		allowed []egress.Host
		strange bool
	}{
		"https://blobs.example.com/x":           {hosts("blobs.example.com"), false},
		"https://BLOBS.example.com:443/x":       {hosts("blobs.example.com"), false},
		"https://a.b.example.com/x":             {hosts("*.example.com"), false},
		"https://example.com/x":                 {hosts("*.example.com"), true},
		"https://evilexample.com/x":             {hosts("*.example.com"), true},
		"https://blobs.example.com.evil.test/x": {hosts("blobs.example.com"), true},
		"https://blobs.example.com:8443/x":      {hosts("blobs.example.com"), true},
		"https://evil.test/x":                   {nil, true},
	} {
		w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
			if isBlob(r) {
				rw.Header().Set("Location", to)
				rw.WriteHeader(http.StatusTemporaryRedirect)
			}
			return isBlob(r)
		})
		// A proxy that nobody runs: what may be asked is asked there, and fails.
		var proxied []string
		cfg := w.config(imageregistry.Access{PrivateAddresses: true, BlobHosts: c.allowed})
		cfg.Proxy = func(r *http.Request) (*url.URL, error) {
			if r.URL.Host == w.host {
				return nil, nil
			}
			proxied = append(proxied, r.URL.Host)
			return url.Parse("http://127.0.0.1:1")
		}
		_, err := look(t, imageregistry.New(cfg), reference, "")
		if c.strange {
			refused(t, err, sandbox.CodeRegistryNotAllowed, "reference", "blob_hosts")
		} else {
			refused(t, err, sandbox.CodeRegistryUnreachable, "reference")
		}
		if (len(proxied) == 0) != c.strange {
			t.Errorf("%s: asked %q", to, proxied)
		}
	}
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
		if isBlob(r) {
			http.Redirect(rw, r, "http://blobs.example.com/x", http.StatusTemporaryRedirect)
		}
		return isBlob(r)
	})
	_, err := look(t, w.client(imageregistry.Access{PrivateAddresses: true, BlobHosts: hosts("blobs.example.com")}), reference, "")
	refused(t, err, sandbox.CodeRegistryAnswerInvalid, "reference", "without TLS")
}

func TestProxyOfTheOperatorMayBePrivate(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 4)
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		rw.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := imageregistry.New(imageregistry.Config{
		Registries: map[string]imageregistry.Access{"registry.example.com": {}},
		Proxy:      http.ProxyURL(at),
	})
	_, err = look(t, c, "registry.example.com/team/tool:1", "")
	refused(t, err, sandbox.CodeRegistryUnreachable, "reference")
	if got := <-asked; got != "CONNECT registry.example.com:443" {
		t.Errorf("the proxy was asked %s", got)
	}
}
