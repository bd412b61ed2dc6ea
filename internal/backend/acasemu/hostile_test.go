package acasemu_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
)

func TestTheLogOfRequestsHoldsOnlySoMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	long := strings.Repeat("x", 400<<10)
	for range 200 {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "https://127.0.0.1"+w.data("g")+"/sandboxes/"+long+"?"+version, nil)
		w.emulator.ServeHTTP(httptest.NewRecorder(), r)
	}
	all := w.emulator.Requests()
	if held := len(all) * len(long); held > 40<<20 || held < 20<<20 {
		t.Errorf("%d requests hold %d bytes", len(all), held)
	}
	if last := all[len(all)-1].Seq; last != 200 {
		t.Errorf("the newest is %d", last)
	}
	w.emulator.ClearRequests()
	w.get(t, w.data("g")+"/sandboxes")
	if all := w.emulator.Requests(); len(all) != 1 || all[0].Seq != 201 {
		t.Errorf("after a new beginning %d", len(all))
	}
}

// stalling is a connection whose client stops in the middle of a body.
type stalling struct {
	*httptest.ResponseRecorder
	sent  bool
	bound time.Time
}

func (s *stalling) SetReadDeadline(at time.Time) error { s.bound = at; return nil }

func (s *stalling) Read(p []byte) (int, error) {
	if !s.sent {
		s.sent = true
		return copy(p, "{"), nil
	}
	if s.bound.IsZero() || time.Until(s.bound) > time.Minute {
		return 0, errors.New("this would wait for ever")
	}
	return 0, os.ErrDeadlineExceeded
}

func TestAClientThatStopsSendingIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	guests := memguests.New(memguests.Options{})
	w := newWorld(t, acasemu.Config{Pace: atOnce(), Guests: guests})
	w.group(t, "g")
	id := w.sandbox(t, "g")
	file := w.data("g") + "/sandboxes/" + id + "/files?path=/x&" + version
	for path, kind := range map[string]string{file: "application/octet-stream", w.data("g") + "/secrets/s?" + version: "application/json"} {
		s := &stalling{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequestWithContext(t.Context(), "PUT", "https://127.0.0.1"+path, io.NopCloser(s))
		r.ContentLength = 100
		r.Header.Set("Authorization", token(dataAudience))
		r.Header.Set("Content-Type", kind)
		w.emulator.ServeHTTP(s, r)
		if s.Code != http.StatusBadRequest || !s.bound.IsZero() {
			t.Errorf("%s: %d, and then %v", path, s.Code, s.bound)
		}
	}
	if r := w.get(t, w.data("g")+"/sandboxes/"+id+"/files?path=/x"); r.status != http.StatusNotFound {
		t.Errorf("what half arrived is there: %d", r.status)
	}
}

func TestABodyIsAsLargeAsTheServiceTakesAndNoLarger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce(), Guests: memguests.New(memguests.Options{}), MaxFile: 1 << 20})
	w.group(t, "g")
	id := w.sandbox(t, "g")
	for size, status := range map[int]int{1 << 20: 200, 1<<20 + 1: 413} {
		req := w.request(t, "PUT", w.data("g")+"/sandboxes/"+id+"/files?path=/x", strings.Repeat("x", size))
		if r := w.send(t, req); r.status != status {
			t.Errorf("a file of %d: %d", size, r.status)
		}
	}
	for size, status := range map[int]int{4<<20 - 100: 201, 4<<20 + 1: 413} {
		if r := w.put(t, w.data("g")+"/volumes/v", `{"type":"AzureBlob","pad":"`+strings.Repeat("x", size)+`"}`); r.status != status {
			t.Errorf("a document of %d: %d", size, r.status)
		}
	}
	deep := strings.Repeat("[", 100_000)
	if r := w.put(t, w.data("g")+"/secrets/sss", `{"values":`+deep); r.status != http.StatusBadRequest {
		t.Errorf("a deep document: %d", r.status)
	}
}

func TestANameIsOneNameAndNoPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, acasemu.Config{State: filepath.Join(dir, "in", "state.db"), Pace: atOnce()})
	w.group(t, "g")
	for _, name := range []string{"..", ".", "%2e%2e", "..%2f..%2fx", "..%5cx", "a%00b", "%2fetc%2fpasswd", strings.Repeat("n", 300)} {
		for _, path := range []string{"/volumes/" + name, "/secrets/" + name} {
			if r := w.put(t, w.data("g")+path, `{"type":"AzureBlob","values":{"k":"v"}}`); r.status < 400 || r.status > 499 {
				t.Errorf("%s: %d", path, r.status)
			}
		}
	}
	for _, name := range []string{"plain", "...", "a..b"} {
		if r := w.put(t, w.data("g")+"/volumes/"+name, `{"type":"AzureBlob"}`); r.status != http.StatusCreated {
			t.Errorf("%s: %d", name, r.status)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("beside the state's directory: %v %v", left, err)
	}
}

func TestWhatIsKeptIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	w := newWorld(t, acasemu.Config{State: filepath.Join(dir, "state.db"), Pace: atOnce()})
	w.group(t, "g")
	w.must(t, w.request(t, "PUT", w.data("g")+"/secrets/sss", `{"values":{"k":"v"}}`))
	w.must(t, w.request(t, "PUT", w.data("g")+"/volumes/v", `{"type":"AzureBlob"}`))
	seen := []string{}
	for _, name := range []string{"", "state.db", "state.db.key", "state.db.d"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if seen = append(seen, info.Name()); info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", info.Name(), info.Mode())
		}
	}
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != len(seen)-1 {
		t.Errorf("there are %v, %v", all, err)
	}
}
