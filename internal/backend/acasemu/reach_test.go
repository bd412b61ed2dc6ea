package acasemu_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/listener"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
)

func TestOthersReachAnEmulatorOnlyWithTokens(t *testing.T) {
	t.Parallel()
	for address, open := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "[::]:0": false, "192.0.2.1:0": false, "somewhere.example:0": false,
	} {
		e, err := acasemu.New(acasemu.Config{State: filepath.Join(t.TempDir(), "state.db")})
		if err != nil {
			t.Fatal(err)
		}
		s, err := listener.Listen(t.Context(), e, listener.Options{Address: address})
		if open != (err == nil) || (!open && !errors.Is(err, listener.ErrNeedsTokens)) {
			t.Errorf("%s: %v", address, err)
		}
		closing, end := e.Close, context.WithoutCancel(t.Context())
		if err == nil {
			closing = s.Close
		}
		if err := closing(end); err != nil {
			t.Error(err)
		}
	}
	e, err := acasemu.New(acasemu.Config{State: filepath.Join(t.TempDir(), "state.db"), Tokens: []string{"t"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := listener.Listen(t.Context(), e, listener.Options{Address: "0.0.0.0:0"})
	if err != nil {
		t.Fatalf("with tokens: %v", err)
	}
	if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestOnlyItsTokensOpenAnEmulatorThatHasSome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce(), Tokens: []string{"first", "second"}})
	for header, status := range map[string]int{
		"Bearer first": 404, "Bearer second": 404, "bearer second": 404, "Bearer third": 401, "Bearer fir": 401, token(dataAudience): 401, "": 401, "Basic first": 401,
	} {
		req := w.request(t, "GET", w.data("none")+"/sandboxes", "")
		req.Header.Set("Authorization", header)
		if r := w.send(t, req); r.status != status {
			t.Errorf("%q: %d, not %d", header, r.status, status)
		}
	}
	if r := w.plain(t, "GET", "/_emulator/requests", "", ""); r.status != http.StatusUnauthorized {
		t.Errorf("the log without a token: %d", r.status)
	}
}

func TestAWebPageIsNotServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	for _, path := range []string{w.data("g") + "/sandboxes", "/_emulator/requests"} {
		for _, row := range []struct {
			header, value string
			status        int
		}{
			{"Origin", "https://evil.example", http.StatusForbidden},
			{"Origin", "null", http.StatusForbidden},
			{"Sec-Fetch-Site", "cross-site", http.StatusForbidden}, // an image's or a script's request has no Origin
			{"Referer", "https://evil.example/", http.StatusOK},    // which clients may send
		} {
			req := w.request(t, "GET", path, "")
			req.Header.Set(row.header, row.value)
			if r := w.send(t, req); r.status != row.status {
				t.Errorf("%s %s %s: %d", path, row.header, row.value, r.status)
			}
		}
	}
}

// A name of somebody else's that leads to this machine opens neither the emulator's own
// paths nor a connection.
func TestANameThatWasReboundIsNotServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	at := strings.TrimPrefix(w.url, "https://")
	_, port, _ := strings.Cut(at, ":")
	for host, status := range map[string]int{
		at: http.StatusOK, "localhost:" + port: http.StatusOK, "LOCALHOST": http.StatusOK, "[::1]:" + port: http.StatusOK,
		"rebound.example": http.StatusMisdirectedRequest, "rebound.example:" + port: http.StatusMisdirectedRequest, "localhost.rebound.example": http.StatusMisdirectedRequest,
	} {
		req := w.request(t, "GET", "/_emulator/requests", "")
		req.Host = host
		if r := w.send(t, req); r.status != status {
			t.Errorf("%s: %d, not %d", host, r.status, status)
		}
	}
	// Clients are pointed at an emulator by address and keep the service's name.
	req := w.request(t, "GET", w.arm("g"), "")
	req.Host = "management.azure.com"
	if r := w.send(t, req); r.status != http.StatusOK {
		t.Errorf("the service's name: %d", r.status)
	}
}

func TestTheAuthorityIsGoodForItsNamesAlone(t *testing.T) {
	t.Parallel()
	e, err := acasemu.New(acasemu.Config{State: filepath.Join(t.TempDir(), "state.db")})
	if err != nil {
		t.Fatal(err)
	}
	s, err := listener.Listen(t.Context(), e, listener.Options{Names: []string{"azuredevcompute.io"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA())
	for name, good := range map[string]bool{
		"127.0.0.1": true, "localhost": true, "azuredevcompute.io": true, "management.swedencentral.azuredevcompute.io": true,
		"management.azure.com": false, "xazuredevcompute.io": false, "127.0.0.2": false,
	} {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL(), "https://"), &tls.Config{RootCAs: roots, ServerName: name})
		if err == nil {
			conn.Close()
		}
		if good != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var _ policy.Transporter = (*acasemu.Transport)(nil)

// local is a world without a network.
func local(t *testing.T, cfg acasemu.Config) *world {
	t.Helper()
	cfg.State = filepath.Join(t.TempDir(), "state.db")
	e, err := acasemu.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &world{emulator: e, url: "https://embedded.invalid", http: &http.Client{Transport: e.Transport()}}
}

func TestAnEmulatorInThisProcessIsTheSame(t *testing.T) {
	t.Parallel()
	w := local(t, acasemu.Config{Pace: atOnce(), Guests: memguests.New(memguests.Options{Exec: toy})})
	w.group(t, "g")
	path := w.data("g") + "/sandboxes/" + w.sandbox(t, "g")
	content := strings.Repeat("0123456789", 100_000)
	w.must(t, w.request(t, "PUT", path+"/files?path=/big", content))
	if r := w.get(t, path+"/files?path=/big"); string(r.body) != content || r.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%d bytes came back", len(r.body))
	}
	w.fault(t, "drop=after,times=1")
	if resp, err := w.http.Do(w.request(t, "GET", path, "")); err == nil {
		resp.Body.Close()
		t.Error("a lost answer arrived")
	}
	w.fault(t, "dropped-body")
	resp, err := w.http.Do(w.request(t, "GET", path, ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half an answer ends in %v", err)
	}
	resp.Body.Close()
	w.emulator.ClearFaults()
	resp, err = w.http.Do(w.request(t, "GET", path+"/files?path=/big", ""))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close() // unread
	must := w.post(t, path+"/executeShellCommand", `{"command":"pipe /p"}`)
	if must.status != http.StatusOK {
		t.Fatal(must.status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if resp, err := w.http.Do(w.request(t, "GET", path+"/files?path=/p", "").WithContext(ctx)); err == nil {
		resp.Body.Close()
		t.Error("a pipe answered")
	}
}

func TestClientsThatLeaveAtAnyMomentDisturbNobody(t *testing.T) {
	t.Parallel()
	w := local(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 25 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
				if resp, err := w.http.Do(w.request(t, "PUT", w.data("g")+"/sandboxes", smallest).WithContext(ctx)); err == nil {
					resp.Body.Close()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if r := w.get(t, w.data("g")+"/sandboxes/count"); r.status != http.StatusOK {
		t.Errorf("afterwards: %d %s", r.status, r.body)
	}
}

func TestAClosedEmulatorAnswersNothing(t *testing.T) {
	t.Parallel()
	w := local(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	if err := w.emulator.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if resp, err := w.http.Do(w.request(t, "GET", w.arm("g"), "")); err == nil {
		resp.Body.Close()
		t.Errorf("it answered %d", resp.StatusCode)
	}
}

func TestAStateThatCannotBeReadIsToldWithoutItsPlace(t *testing.T) {
	t.Parallel()
	e, err := acasemu.New(acasemu.Config{State: "/proc/1/no/such/place/state.db", StateWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close(t.Context()) }()
	w := &world{emulator: e, url: "https://embedded.invalid", http: &http.Client{Transport: e.Transport()}}
	r := w.get(t, w.arm("g"))
	if r.status < 500 || strings.Contains(string(r.body), "/proc") {
		t.Errorf("%d %s", r.status, r.body)
	}
}
