package acasapi_test

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// server is a small service of our own: it keeps sandboxes, checks its callers, and
// can be told to answer the next request differently.
type server struct {
	t     *testing.T
	url   string
	roots *x509.CertPool
	close func()

	mu        sync.Mutex
	sandboxes []wire.Sandbox
	made      int
	sizes     map[string]int64
	seen      []*http.Request
	bodies    []string
	next      []func(http.ResponseWriter, *http.Request) bool
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, sizes: map[string]int64{}}
	h := httptest.NewUnstartedServer(s)
	h.Config.ErrorLog = log.New(io.Discard, "", 0) // clients here go away on purpose
	h.StartTLS()
	s.close = h.Close
	t.Cleanup(h.Close)
	s.url = h.URL
	s.roots = x509.NewCertPool()
	s.roots.AddCert(h.Certificate())
	return s
}

func (s *server) rig(t *testing.T, change ...func(*acasapi.Config)) *rig {
	t.Helper()
	return newRig(t, s.url, s.roots, change...)
}

// answer is what the next request that no other answer took is answered.
func (s *server) answer(f func(http.ResponseWriter, *http.Request)) {
	s.intercept(func(w http.ResponseWriter, r *http.Request) bool { f(w, r); return true })
}

// intercept sees the next request; it answers it and says true, or lets it pass.
func (s *server) intercept(f func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, f)
}

// says answers a status and a body.
func says(status int, kind, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("x-ms-request-id", "req-1")
		w.Header().Set("mise-correlation-id", "cor-1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func (s *server) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.seen...)
}

func (s *server) lastBody() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[len(s.bodies)-1]
}

func (s *server) received(path string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes[path]
}

func (s *server) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, b := range s.sandboxes {
		ids = append(ids, b.ID)
	}
	return ids
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/files") {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			return // the client went away; there is nobody to answer
		}
		s.mu.Lock()
		s.sizes[r.URL.Query().Get("path")] = n
		s.mu.Unlock()
	} else if _, err := body.ReadFrom(r.Body); err != nil {
		return
	}
	s.check(r, body.Bytes())
	s.mu.Lock()
	s.seen = append(s.seen, r)
	s.bodies = append(s.bodies, body.String())
	var first func(http.ResponseWriter, *http.Request) bool
	if len(s.next) > 0 {
		first, s.next = s.next[0], s.next[1:]
	}
	s.mu.Unlock()
	if first != nil && first(w, r) {
		return
	}
	s.serve(w, r, body.Bytes())
}

// check holds the client to what every request must have.
func (s *server) check(r *http.Request, body []byte) {
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer e30."):
		s.t.Errorf("%s %s without a token", r.Method, r.URL.Path)
	case r.URL.Query().Get("api-version") == "":
		s.t.Errorf("%s %s without api-version", r.Method, r.URL.Path)
	case !uuid.MatchString(r.Header.Get("x-ms-client-request-id")):
		s.t.Errorf("%s %s is called %q", r.Method, r.URL.Path, r.Header.Get("x-ms-client-request-id"))
	case strings.ContainsAny(r.URL.RawQuery, " +;,'\"<>") || strings.Contains(r.URL.RawQuery, "="+"="):
		s.t.Errorf("query %q is not encoded", r.URL.RawQuery)
	case len(body) > 0 && strings.Contains(string(body), ":null"):
		s.t.Errorf("%s %s sends a null: %s", r.Method, r.URL.Path, body)
	case len(r.TransferEncoding) > 0:
		s.t.Errorf("%s %s is sent in chunks", r.Method, r.URL.Path)
	}
}

func (s *server) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	give := func(status int, v any) {
		b, err := wire.Encode(v)
		if err != nil {
			s.t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(b)
	}
	_, rest, _ := strings.Cut(r.URL.Path, "/sandboxGroups/g")
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	switch {
	case rest == "/sandboxes" && r.Method == http.MethodPut:
		give(http.StatusOK, s.create(body))
	case rest == "/sandboxes" && r.Method == http.MethodGet:
		give(http.StatusOK, s.sandboxes) // the filter is ignored, on purpose
	case len(parts) == 2 && parts[0] == "sandboxes":
		s.one(r, parts[1], give)
	case strings.HasSuffix(rest, "/files") && r.Method == http.MethodGet:
		size, _ := strconv.ParseInt(fmt.Sprint(s.sizes["/app/big"]), 10, 64)
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		_, _ = io.Copy(w, &zeros{left: size})
	case strings.HasSuffix(rest, "/files"):
		give(http.StatusOK, map[string]any{"success": true})
	case strings.HasSuffix(rest, "/executeShellCommand"):
		give(http.StatusOK, map[string]any{"exitCode": 0, "stdout": "", "stderr": "", "executionTimeMs": 1})
	default:
		give(http.StatusNotFound, wire.Problem{Title: "NotFound", Status: 404})
	}
}

func (s *server) create(body []byte) wire.Sandbox {
	var c wire.CreateSandbox
	if err := wire.Decode(body, &c); err != nil {
		s.t.Errorf("create: %v", err)
	}
	s.made++
	made := wire.Sandbox{ID: fmt.Sprintf("sb-%d", s.made), State: wire.StateRunning, Labels: c.Labels}
	s.sandboxes = append(s.sandboxes, made)
	return made
}

func (s *server) one(r *http.Request, id string, give func(int, any)) {
	for i, b := range s.sandboxes {
		if b.ID != id {
			continue
		}
		if r.Method == http.MethodDelete {
			s.sandboxes = append(s.sandboxes[:i:i], s.sandboxes[i+1:]...)
			give(http.StatusOK, struct{}{})
			return
		}
		give(http.StatusOK, b)
		return
	}
	give(http.StatusNotFound, wire.Problem{Title: wire.TitleSandboxNotFound, Status: 404})
}

// zeros is a long file.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	z.left -= n
	clear(p[:n])
	return int(n), nil
}

func drain(c *acasapi.Content, err error) error {
	if err != nil {
		return err
	}
	defer c.Close()
	n, err := io.Copy(io.Discard, c)
	if err == nil && c.Size >= 0 && n != c.Size {
		err = fmt.Errorf("%d bytes of %d", n, c.Size)
	}
	return err
}
