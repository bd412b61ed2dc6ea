package cli_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
)

// emulating is `sandboxctl emulate` while it runs.
type emulating struct {
	url  string
	http *http.Client
	end  context.CancelFunc
	done chan result
}

// emulate starts the command and waits for its line.
func emulate(t *testing.T, args ...string) *emulating {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	e := &emulating{end: cancel, done: make(chan result, 1)}
	go func() {
		var errs bytes.Buffer
		code := cli.Main(ctx, cli.Env{Stdin: strings.NewReader(""), Stdout: in, Stderr: &errs}, append([]string{"emulate", "--ca-out", ca}, args...))
		_ = in.Close() // a pipe's never fails
		e.done <- result{code: code, stderr: errs.String()}
	}()
	line := make([]byte, 1<<12)
	n, err := out.Read(line)
	if err != nil {
		t.Fatalf("it ended with %+v", <-e.done)
	}
	var ready struct{ URL, CA string }
	if err := json.Unmarshal(line[:n], &ready); err != nil || ready.CA != ca {
		t.Fatalf("it said %q", line[:n])
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}
	e.url, e.http = ready.URL, &http.Client{Transport: transport}
	t.Cleanup(func() { transport.CloseIdleConnections(); e.stop(t) })
	return e
}

func (e *emulating) stop(t *testing.T) {
	t.Helper()
	e.end()
	r := <-e.done
	if r.code != cli.ExitAllowed || r.stderr != "" {
		t.Errorf("it ended with %+v", r)
	}
	e.done <- r
}

func (e *emulating) get(t *testing.T, path, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := e.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

const groups = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.App/sandboxGroups?api-version=2026-02-01-preview"

func TestEmulateServesUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "deep", "state.db")
	e := emulate(t, "--state", state, "--fault", "status=418,times=1")
	if got := e.get(t, groups, "opaque"); got != http.StatusTeapot {
		t.Errorf("the fault: %d", got)
	}
	if got := e.get(t, groups, "opaque"); got != http.StatusOK {
		t.Errorf("after it: %d", got)
	}
	if got := e.get(t, "/_emulator/health", ""); got != http.StatusOK {
		t.Errorf("its health: %d", got)
	}
	e.stop(t)
	if _, err := os.Stat(state); err != nil {
		t.Error(err)
	}
}

func TestEmulateTakesTheTokensOfItsFileAlone(t *testing.T) {
	t.Parallel()
	tokens := write(t, "tokens", []byte("one\n\n two \n"))
	e := emulate(t, "--token-file", tokens)
	for token, want := range map[string]int{"one": 200, "two": 200, "three": 401} {
		if got := e.get(t, groups, token); got != want {
			t.Errorf("%s: %d, not %d", token, got, want)
		}
	}
}

func TestEmulateRefusesWhatItCannotServe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"others without tokens": {[]string{"--listen", "0.0.0.0:0"}, "--token-file"},
		"no address":            {[]string{"--listen", "here"}, "HOST:PORT"},
		"no such fault":         {[]string{"--fault", "nonsense"}, "nonsense"},
		"no such engine":        {[]string{"--engine", "qemu"}, "none"},
		"hosts without guests":  {[]string{"--resolve", "a.example=127.0.0.1:80"}, "--engine none"},
		"half a host":           {[]string{"--resolve", "a.example"}, "NAME=ADDR:PORT"},
		"half an image":         {[]string{"--image", "r.example/a:1,user"}, "user=USER"},
		"a state of another":    {[]string{"--state", write(t, "garbage", bytes.Repeat([]byte("garbage\n"), 2048))}, "or one that is not there yet"},
		"a state nowhere":       {[]string{"--state", "/proc/nowhere/state.db"}, "or one that is not there yet"},
		"an empty token file":   {[]string{"--token-file", write(t, "none", nil)}, "it has no"},
		"a missing token file":  {[]string{"--token-file", filepath.Join(t.TempDir(), "none")}, "--token-file"},
	} {
		if r := run(t, append([]string{"emulate"}, c.args...)...); r.code != cli.ExitBadInput || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%s: %d %s", name, r.code, r.both())
		}
	}
}

func TestEmulatesHelpNamesEveryFault(t *testing.T) {
	t.Parallel()
	r := run(t, "emulate", "--help")
	for _, name := range []string{"lost-create", "role-delay", "expired-image", "slow-suspend", "clock-skew"} {
		if !strings.Contains(r.stdout, name) {
			t.Errorf("no %s in %s", name, r.stdout)
		}
	}
}
