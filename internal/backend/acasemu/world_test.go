package acasemu_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/listener"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(code) }))
}

const version = "api-version=2026-02-01-preview"

// clock is a time that passes when a test says so.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// atOnce is a service that takes no time over anything.
func atOnce() *acasemu.Pace { return &acasemu.Pace{} }

// world is an emulator that listens, and a client that trusts it.
type world struct {
	emulator *acasemu.Emulator
	server   *listener.Server
	url      string
	http     *http.Client
	once     sync.Once
}

func newWorld(tb testing.TB, cfg acasemu.Config) *world {
	tb.Helper()
	if cfg.State == "" {
		cfg.State = filepath.Join(tb.TempDir(), "state.db")
	}
	e, err := acasemu.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := listener.Listen(tb.Context(), e, listener.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CA()) {
		tb.Fatal("the authority is not PEM")
	}
	w := &world{emulator: e, server: s, url: s.URL(), http: &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 16},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	tb.Cleanup(func() { w.stop(tb) })
	return w
}

func (w *world) stop(tb testing.TB) {
	tb.Helper()
	w.once.Do(func() {
		w.http.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := w.server.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
}

// token is an unsigned token for an audience.
func token(audience string) string {
	return "Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"aud":"`+audience+`"}`)) + "."
}

const (
	armAudience  = "https://management.azure.com"
	dataAudience = "https://dynamicsessions.io"
)

func (w *world) arm(group string) string {
	return "/subscriptions/s/resourceGroups/rg/providers/Microsoft.App/sandboxGroups/" + group
}

func (w *world) data(group string) string {
	return "/subscriptions/s/resourceGroups/rg/sandboxGroups/" + group
}

// request is one with a token that its plane accepts. A path may have a query.
func (w *world) request(tb testing.TB, method, path, body string) *http.Request {
	tb.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	req, err := http.NewRequestWithContext(tb.Context(), method, w.url+path+sep+version, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	audience := dataAudience
	if strings.Contains(path, "/providers/") {
		audience = armAudience
	}
	req.Header.Set("Authorization", token(audience))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// reply is an answer, read whole.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) doc(tb testing.TB) map[string]any {
	tb.Helper()
	var doc map[string]any
	if err := json.Unmarshal(r.body, &doc); err != nil {
		tb.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return doc
}

func (w *world) send(tb testing.TB, req *http.Request) reply {
	tb.Helper()
	resp, err := w.http.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, body}
}

func (w *world) must(tb testing.TB, req *http.Request) reply {
	tb.Helper()
	r := w.send(tb, req)
	if r.status >= 300 {
		tb.Fatalf("%s %s: %d %s", req.Method, req.URL.Path, r.status, r.body)
	}
	return r
}

func (w *world) ask(tb testing.TB, method, path, body string) reply {
	tb.Helper()
	return w.send(tb, w.request(tb, method, path, body))
}

func (w *world) get(tb testing.TB, path string) reply { tb.Helper(); return w.ask(tb, "GET", path, "") }

func (w *world) put(tb testing.TB, path, body string) reply {
	tb.Helper()
	return w.ask(tb, "PUT", path, body)
}

func (w *world) post(tb testing.TB, path, body string) reply {
	tb.Helper()
	return w.ask(tb, "POST", path, body)
}

func (w *world) group(tb testing.TB, name string) {
	tb.Helper()
	w.must(tb, w.request(tb, http.MethodPut, w.arm(name), `{"location":"Sweden Central"}`))
}

const smallest = `{"sourcesRef":{"diskImage":{"name":"ubuntu","isPublic":true}},"resources":{"cpu":"1000m","memory":"2048Mi"},"labels":{"run":"42"}}`

func (w *world) sandbox(tb testing.TB, group string) string {
	tb.Helper()
	id, ok := w.must(tb, w.request(tb, http.MethodPut, w.data(group)+"/sandboxes", smallest)).doc(tb)["id"].(string)
	if !ok || id == "" {
		tb.Fatal("a sandbox without id")
	}
	return id
}
