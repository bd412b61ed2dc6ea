package cli_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

const (
	subscription = "00000000-0000-0000-0000-0000000000aa"
	marker       = acasapi.MarkerLabel
)

// clock is a time that passes only while somebody waits for it, and then at once.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	waited time.Duration
	// sleeping hears of every wait, before it is over.
	sleeping func()
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	hear := c.sleeping
	c.now, c.waited = c.now.Add(d), c.waited+d
	c.mu.Unlock()
	if hear != nil {
		hear()
	}
	return ctx.Err()
}

// world is a small service of our own for one group. It keeps what is made, deletes
// only after a while, checks its callers and can be told to fail.
type world struct {
	t     *testing.T
	clock *clock
	url   string
	ca    string // a file

	mu        sync.Mutex
	exists    bool
	sandboxes []wire.Sandbox
	images    []wire.Image
	catalogue []string
	deleting  map[string]int // looks until it is gone
	building  map[string]int // looks until it is built
	buildEnds wire.ImageStatus
	ahead     time.Duration // of the service's clock
	mute      bool          // no Date
	token     string        // the one that is wanted, if one is
	forbidARM bool
	faults    []*fault
	seen      []string // METHOD path
	made      int
	created   *wire.CreateImage // where the last body of a new image goes
}

// fault is what the next requests that match are answered.
type fault struct {
	method, path string // path.Match on what follows the group
	skip, times  int
	// answer says whether it answered; after runs the request first.
	answer func(w http.ResponseWriter, r *http.Request) bool
	after  bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, clock: &clock{now: time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)}, exists: true,
		catalogue: []string{"ubuntu", "python-3.13", "python-3.12", "node-24"},
		deleting:  map[string]int{}, building: map[string]int{}, buildEnds: wire.ImageStatus{State: wire.ImageReady},
	}
	h := httptest.NewUnstartedServer(w)
	h.Config.ErrorLog = log.New(io.Discard, "", 0) // some answers here break off on purpose
	h.StartTLS()
	t.Cleanup(h.Close)
	w.url = h.URL
	w.ca = write(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
	return w
}

// hold puts a sandbox into the group, made so long ago by the service's clock.
func (w *world) hold(id string, age time.Duration, labels wire.Labels, change ...func(*wire.Sandbox)) {
	s := wire.Sandbox{
		ID: id, State: wire.StateRunning, Labels: labels, CreatedAt: w.clock.Now().Add(w.ahead - age).Format(time.RFC3339),
		SourcesRef: &wire.SourcesRef{DiskImage: &wire.ImageRef{Name: "python-3.13", IsPublic: true}},
	}
	for _, c := range change {
		c(&s)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sandboxes = append(w.sandboxes, s)
}

// ours are labels of a sandbox that a host of ours made.
func ours(more ...string) wire.Labels {
	labels := wire.Labels{marker: "3f0e", "sandbox.owner": "h7k2mqxd5w"}
	for i := 0; i+1 < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

func (w *world) ids() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := []string{}
	for _, s := range w.sandboxes {
		ids = append(ids, s.ID)
	}
	return ids
}

func (w *world) imageIDs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := []string{}
	for _, i := range w.images {
		ids = append(ids, i.ID)
	}
	return ids
}

// count is how many requests there were of a method to a path.
func (w *world) count(method, pattern string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.seen {
		if ok, _ := path.Match(method+" "+pattern, s); ok {
			n++
		}
	}
	return n
}

// flags reach the world as the emulator that it is.
func (w *world) flags(more ...string) []string {
	return append(more, "--group", "agents", "--resource-group", "rg-agents", "--subscription", subscription,
		"--emulator", "--endpoint-data", w.url, "--ca-file", w.ca)
}

// run runs a command against the emulator, and tidies what differs between runs.
func (w *world) run(t *testing.T, args ...string) result {
	t.Helper()
	return w.as(t, invocation{}, w.flags(args...)...)
}

func (w *world) as(t *testing.T, i invocation, args ...string) result {
	t.Helper()
	if i.service == nil {
		i.service = w.open
	}
	r := i.run(t, args...)
	tidy := strings.NewReplacer(w.url, "https://127.0.0.1:8443", w.ca, "ca.pem")
	for _, text := range []*string{&r.stdout, &r.stderr} {
		*text = fresh.ReplaceAllString(tidy.Replace(*text), "${1}00000000-0000-0000-0000-000000000000")
	}
	return r
}

// fresh are names that are new each time: of a request, and of a creation.
var fresh = regexp.MustCompile(`(request=|creation":")[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// open makes a client whose waits take no time.
func (w *world) open(cfg acasapi.Config) (*acasapi.Client, error) {
	cfg.Clock, cfg.Jitter = w.clock, func() float64 { return 0.5 }
	return acasapi.New(cfg)
}

// asTheService opens a client that believes to talk to the service itself.
func (w *world) asTheService(cfg acasapi.Config) (*acasapi.Client, error) {
	cfg.Transport, cfg.Credential = elsewhere{w}, auth.Emulator{}
	return w.open(cfg)
}

// elsewhere brings every request to the world, whatever its host.
type elsewhere struct{ w *world }

func (e elsewhere) Do(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	if !strings.HasSuffix(r.URL.Host, ".azure.com") && !strings.HasSuffix(r.URL.Host, ".azuredevcompute.io") {
		e.w.t.Errorf("a request to %s", r.URL.Host)
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	e.w.ServeHTTP(rec, r)
	return rec.Result(), nil
}

// fail makes the next requests fail.
func (w *world) fail(method, pattern string, times int, answer func(http.ResponseWriter, *http.Request) bool) *fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := &fault{method: method, path: pattern, times: times, answer: answer}
	w.faults = append(w.faults, f)
	return f
}

// says answers a status and a body.
func says(status int, body string, headers ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(rw http.ResponseWriter, _ *http.Request) bool {
		for i := 0; i+1 < len(headers); i += 2 {
			rw.Header().Set(headers[i], headers[i+1])
		}
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, body)
		return true
	}
}

// lost cuts the connection instead of answering.
func lost(rw http.ResponseWriter, _ *http.Request) bool {
	if h, ok := rw.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
	return true
}

// valid reports whether text is one JSON document, and reads it.
func valid(t *testing.T, text string) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Errorf("no JSON document: %v\n%s", err, text)
	}
	return doc
}
