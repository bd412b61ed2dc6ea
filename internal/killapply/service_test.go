package killapply_test

import (
	"bytes"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
)

// moment is when, at a request, somebody is killed.
type moment string

const (
	unseen    moment = "before the service saw it"
	acted     moment = "when the service had acted and not answered"
	delivered moment = "after the answer"
)

// service is an emulator that outlives its clients and lets one be killed at a
// request.
type service struct {
	url, ca string
	// outside is somebody else's way in, which is not counted.
	outside *acasapi.Client

	proxy *httputil.ReverseProxy
	mu    sync.Mutex
	seen  int
	trap  *trap
}

// trap kills at the request with this number.
type trap struct {
	at   int
	when moment
	kill func()
	// patient leaves the request open until its client gives it up.
	patient bool
}

func newService(t *testing.T) *service {
	t.Helper()
	dir := t.TempDir()
	emulator, err := acasemu.New(acasemu.Config{State: filepath.Join(dir, "state.db"), Pace: &acasemu.Pace{}})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{ca: filepath.Join(dir, "ca.pem")}
	s.proxy = &httputil.ReverseProxy{
		Transport: emulator.Transport(), ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "https", Host: r.In.Host})
			r.Out.Host = r.In.Host // in which the service names its operations
		},
	}
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	s.url = server.URL
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(s.ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s.outside, err = acasapi.New(acasapi.Config{
		ARMEndpoint: s.url, DataEndpoint: s.url, ExactEndpoints: []string{s.url}, Transport: emulator.Transport(), Credential: auth.Emulator{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.outside.Close)
	return s
}

// set counts requests from one on, and kills at one of them unless trap is nil.
func (s *service) set(trap *trap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.trap = 0, trap
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen++
	trap := s.trap
	if trap != nil && trap.at != s.seen {
		trap = nil
	}
	s.mu.Unlock()
	if trap != nil && trap.patient { // whose client is heard to go once the body is read
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	switch {
	case trap == nil:
		s.proxy.ServeHTTP(w, r)
		return
	case trap.when == delivered:
		s.proxy.ServeHTTP(w, r)
		_ = http.NewResponseController(w).Flush()
		trap.kill()
		return
	case trap.when == acted:
		s.proxy.ServeHTTP(httptest.NewRecorder(), r)
	}
	trap.kill()
	if trap.patient {
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler) // no answer
}

// group is somebody else's way into a group.
func (s *service) group(t *testing.T, name string) *acasapi.Group {
	t.Helper()
	g, err := s.outside.Group(groupID(name))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func groupID(name string) acasapi.GroupID {
	return acasapi.GroupID{Subscription: subscription, ResourceGroup: resourceGroup, Name: name}
}

// sandboxIn makes a group with a sandbox in it, to be copied.
func (s *service) sandboxIn(t *testing.T, group string) (id string) {
	t.Helper()
	if _, err := s.outside.PutGroup(t.Context(), groupID(group), wire.Group{Location: location}, acasapi.Wait{}); err != nil {
		t.Fatal(err)
	}
	made, err := s.group(t, group).CreateSandbox(t.Context(), wire.CreateSandbox{
		SourcesRef: &wire.SourcesRef{DiskImage: &wire.ImageRef{Name: "ubuntu", IsPublic: true}},
		Resources:  &wire.Resources{CPU: "1000m", Memory: "2048Mi", Disk: "20480Mi"},
	}, acasapi.Making{})
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}
