package acasapi_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// The second opinion on this client is a server that somebody else wrote from the
// same contract. Where it is, and the Python that runs it, is said by these.
const (
	interopDir    = "SANDBOX_TEST_INTEROP_DIR"
	interopPython = "SANDBOX_TEST_INTEROP_PYTHON"
)

// other is a server that the client is held to, with what tests need of it beside
// the service's own surface.
type other struct {
	url   string
	roots *x509.CertPool
	// misbehave switches a fault on, calmDown all off; arrived is what came since
	// clear.
	misbehave       func(t *testing.T, spec string)
	calmDown, clear func(t *testing.T)
	arrived         func(t *testing.T) []sent
}

// startReference starts the server that somebody else wrote, or skips where nobody
// said where it is. A place that is named and does not work is a failure.
func startReference(t *testing.T, args ...string) *other {
	t.Helper()
	dir, python := os.Getenv(interopDir), os.Getenv(interopPython)
	if dir == "" || python == "" {
		t.Skipf("the other server is named by %s (its folder) and %s (a Python 3.12 with cryptography)", interopDir, interopPython)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	cmd := exec.CommandContext(t.Context(), python, append([]string{"-m", "fake_acas", "--port", "0", "--ca-out", ca}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s does not start the other server: %v", python, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the other server said nothing: %v\n%s", err, complaints.String())
	}
	var ready struct{ URL, CA string }
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatalf("the other server said %q", line)
	}
	pem, err := os.ReadFile(ready.CA)
	if err != nil {
		t.Fatal(err)
	}
	o := &other{url: ready.URL, roots: x509.NewCertPool()}
	if !o.roots.AppendCertsFromPEM(pem) {
		t.Fatal("the other server's certificate authority is not PEM")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: o.roots}}
	t.Cleanup(transport.CloseIdleConnections)
	ask := controller{o.url + "/_fake/", &http.Client{Transport: transport}}
	o.misbehave = func(t *testing.T, spec string) {
		t.Helper()
		ask.control(t, http.MethodPost, "faults", map[string]string{"fault": spec})
	}
	o.calmDown = func(t *testing.T) { t.Helper(); ask.control(t, http.MethodDelete, "faults", nil) }
	o.clear = func(t *testing.T) { t.Helper(); ask.control(t, http.MethodDelete, "trace", nil) }
	o.arrived = func(t *testing.T) (all []sent) {
		t.Helper()
		if err := json.Unmarshal(ask.control(t, http.MethodGet, "trace", nil), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	return o
}

// controller asks the reference about itself.
type controller struct {
	base string
	http *http.Client
}

func (c controller) control(t *testing.T, method, path string, body any) []byte {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, c.base+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, answer, err)
	}
	return answer
}

// fault makes the server misbehave towards requests that match it.
func (o *other) fault(t *testing.T, spec string) { t.Helper(); o.misbehave(t, spec) }

// calm ends all faults.
func (o *other) calm(t *testing.T) { t.Helper(); o.calmDown(t) }

// forget clears what is known to have arrived.
func (o *other) forget(t *testing.T) { t.Helper(); o.clear(t) }

// sent is one request as the server recorded it.
type sent struct {
	Request struct {
		Method, Path, Template string
		Query, Headers         map[string]string
		Body                   any
	}
	Response *struct{ Status int }
}

// trace is what arrived for one group, or for all when group is empty.
func (o *other) trace(t *testing.T, group string) []sent {
	t.Helper()
	var mine []sent
	for _, s := range o.arrived(t) {
		if group == "" || strings.Contains(s.Request.Path+"/", "/sandboxGroups/"+group+"/") {
			mine = append(mine, s)
		}
	}
	return mine
}

var groupNames struct {
	sync.Mutex
	n int
}

// freshGroup is a name nobody used.
func freshGroup() string {
	groupNames.Lock()
	defer groupNames.Unlock()
	groupNames.n++
	return fmt.Sprintf("g%d", groupNames.n)
}

// world is a group on the other server with a client of its own.
type world struct {
	*rig
	other *other
	name  string
	g     *acasapi.Group
}

func newWorld(t *testing.T, o *other, change ...func(*acasapi.Config)) *world {
	t.Helper()
	w := &world{rig: newRig(t, o.url, o.roots, change...), other: o, name: freshGroup()}
	must(w.PutGroup(t.Context(), groupID(w.name), wire.Group{Location: "swedencentral"}, acasapi.Wait{}))(t)
	w.g = w.group(t, w.name)
	return w
}

func (w *world) sandbox(t *testing.T) *acasapi.Sandbox {
	t.Helper()
	made := must(w.g.CreateSandbox(t.Context(), smallest(), acasapi.Making{}))(t)
	return must(w.g.Sandbox(made.ID))(t)
}
