package acasemu_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// filesWorld has a sandbox with files in memory.
type filesWorld struct {
	*world
	sandboxPath string
}

func newFiles(t *testing.T, change ...func(*acasemu.Config)) *filesWorld {
	t.Helper()
	cfg := acasemu.Config{Pace: atOnce(), Guests: memguests.New(memguests.Options{Exec: toy})}
	for _, c := range change {
		c(&cfg)
	}
	w := &filesWorld{world: newWorld(t, cfg)}
	w.group(t, "g")
	w.sandboxPath = w.data("g") + "/sandboxes/" + w.sandbox(t, "g")
	return w
}

// toy is a shell that knows "link TARGET PATH", "pipe PATH", "say TEXT" and "sleep".
func toy(ctx context.Context, v *memguests.View, req engine.ExecRequest) (int, error) {
	words := strings.Fields(req.Args[len(req.Args)-1])
	switch words[0] {
	case "link":
		return 0, v.Link(words[1], words[2])
	case "pipe":
		return 0, v.Pipe(words[1])
	case "say":
		_, err := io.WriteString(req.Stdout, strings.Join(words[1:], " "))
		return 0, err
	case "bytes":
		_, err := req.Stdout.Write([]byte("a\xff\xfeb"))
		return 0, err
	case "sleep":
		<-ctx.Done()
		return 0, v.Write("/woken", nil)
	}
	return 127, nil
}

func (w *filesWorld) sh(t *testing.T, command string) reply {
	t.Helper()
	return w.must(t, w.request(t, "POST", w.sandboxPath+"/executeShellCommand", fmt.Sprintf(`{"command":%q}`, command)))
}

func TestFilesAreFollowedWhereTheServiceFollowsThem(t *testing.T) {
	t.Parallel()
	w := newFiles(t)
	for _, name := range []string{"/d/f", "/d/sub/g"} {
		w.must(t, w.request(t, "PUT", w.sandboxPath+"/files?path="+name, "12345"))
	}
	w.sh(t, "link f /d/l")
	w.sh(t, "link /d/sub /d/dl")
	w.sh(t, "link /nowhere /d/dangling")
	w.sh(t, "link loop /d/loop")
	stat := func(p string) string {
		doc := w.get(t, w.sandboxPath+"/files/stat?path="+p).doc(t)
		return fmt.Sprintf("%v %v %v %v %v %v", doc["name"], doc["size"], doc["mode"], doc["isDir"], doc["isSymlink"], doc["symlinkTarget"])
	}
	for p, want := range map[string]string{
		"/d/f": "f 5 420 false false <nil>", "/d": "d 4096 493 true false <nil>", "/d/l": "l 1 511 false true f",
		"/d/dangling": "dangling 8 511 false true /nowhere", "/d/dl/g": "g 5 420 false false <nil>", "/d/dl": "dl 6 511 false true /d/sub",
	} {
		if got := stat(p); got != want {
			t.Errorf("%s is %s, not %s", p, got, want)
		}
	}
	for target, status := range map[string]int{
		"/files?path=/d/l": 200, "/files?path=/d/dl/g": 200, "/files?path=/d/dangling": 404, "/files?path=/d": 400, "/files?path=/d/loop": 400,
		"/files?path=": 400, "/files": 400, "/files?path=/d/f/x": 404, "/files/list?path=/d/dl": 200, "/files/list?path=/d/f": 404,
		"/files/list?path=/none": 404, "/files?path=d/f": 200, "/files?path=/d/../d/f": 200, "/files?path=/a%00b": 400,
	} {
		if r := w.get(t, w.sandboxPath+target); r.status != status {
			t.Errorf("%s: %d %s, not %d", target, r.status, r.body, status)
		}
	}
	if r := w.ask(t, "DELETE", w.sandboxPath+"/files?path=/d/dl", ""); r.status != http.StatusOK || stat("/d/sub/g") != "g 5 420 false false <nil>" {
		t.Errorf("a link that was deleted took its target along: %d", r.status)
	}
	for _, c := range []struct {
		target string
		status int
	}{{"/d", 400}, {"/none", 404}, {"/d&recursive=true", 200}, {"/d", 404}} {
		if r := w.ask(t, "DELETE", w.sandboxPath+"/files?path="+c.target, ""); r.status != c.status {
			t.Errorf("DELETE %s: %d, not %d", c.target, r.status, c.status)
		}
	}
}

func TestAFileIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	w := newFiles(t, func(c *acasemu.Config) { c.MaxFile = 1 << 20 })
	const place = "/files?path=/f"
	put := func(body io.Reader, length int64) (reply, error) {
		req := w.request(t, "PUT", w.sandboxPath+place, "")
		req.Body, req.ContentLength = io.NopCloser(body), length
		resp, err := w.http.Do(req)
		if err != nil {
			return reply{}, err
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		return reply{resp.StatusCode, resp.Header, got}, err
	}
	if r, err := put(strings.NewReader("chunked"), -1); err != nil || r.status != 200 {
		t.Errorf("a file that does not say its size: %d, %v", r.status, err)
	}
	if r, err := put(io.LimitReader(zeros{}, 2<<20), 2<<20); err == nil && r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a file that is too large: %d", r.status)
	}
	if r, err := put(io.LimitReader(zeros{}, 2<<20), -1); err == nil && r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("one that does not say so: %d", r.status)
	}
	if _, err := put(io.MultiReader(strings.NewReader("half"), broken{}), 100); err == nil {
		t.Error("a file that was cut off arrived")
	}
	if r := w.get(t, w.sandboxPath+place); string(r.body) != "chunked" {
		t.Errorf("the file is %q", r.body)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the network went away") }

// Reading a pipe waits for a writer that never comes, until the client goes.
func TestAPipeHoldsItsReaderAndNobodyElse(t *testing.T) {
	t.Parallel()
	w := newFiles(t)
	w.sh(t, "pipe /p")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	resp, err := w.http.Do(w.request(t, "GET", w.sandboxPath+"/files?path=/p", "").WithContext(ctx))
	if err == nil {
		resp.Body.Close()
		t.Errorf("a pipe answered %d", resp.StatusCode)
	}
	if r := w.sh(t, "say alive"); !strings.Contains(string(r.body), "alive") {
		t.Errorf("afterwards: %s", r.body)
	}
}

func TestACommandOutlivesItsClientAndTheFrontEnd(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	started := make(chan struct{}, 2)
	guests := memguests.New(memguests.Options{Exec: func(ctx context.Context, _ *memguests.View, _ engine.ExecRequest) (int, error) {
		ran.Add(1)
		started <- struct{}{}
		<-ctx.Done()
		return 0, ctx.Err()
	}})
	w := newFiles(t, func(c *acasemu.Config) { c.Guests, c.ExecCeiling = guests, 50*time.Millisecond })
	const body = `{"command":"sleep 1000"}`
	if resp, err := w.http.Do(w.request(t, "POST", w.sandboxPath+"/executeShellCommand", body)); err == nil {
		resp.Body.Close()
		t.Errorf("the front end did not give up: %d", resp.StatusCode)
	}
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if resp, err := w.http.Do(w.request(t, "POST", w.sandboxPath+"/executeShellCommand", body).WithContext(ctx)); err == nil {
		resp.Body.Close()
		t.Error("a client that left was answered")
	}
	if got := ran.Load(); got != 2 {
		t.Errorf("%d commands ran", got)
	}
	w.ask(t, "DELETE", w.sandboxPath, "") // ends them; closing the world waits for that
}

func TestWhatIsNoTextIsReplacedInOutput(t *testing.T) {
	t.Parallel()
	w := newFiles(t)
	if got := w.sh(t, "bytes").doc(t)["stdout"]; got != "a\ufffd\ufffdb" {
		t.Errorf("stdout is %q", got)
	}
}

// The file plane is root and commands are the image's user: what the one makes, the
// other cannot remove.
func TestAnotherUserIsKeptOutOfWhatTheFilePlaneMade(t *testing.T) {
	t.Parallel()
	guests := memguests.New(memguests.Options{Exec: func(_ context.Context, v *memguests.View, _ engine.ExecRequest) (int, error) {
		if err := v.Remove("/made/f"); err != nil {
			return 1, nil //nolint:nilerr // it is the command that fails
		}
		return 0, nil
	}})
	w := newFiles(t, func(c *acasemu.Config) {
		c.Guests = guests
		c.Images = []acasemu.KnownImage{{Reference: "r.example/nonroot:1", User: "1654"}, {Reference: "r.example/root:1"}}
	})
	for reference, want := range map[string]float64{"r.example/nonroot:1": 1, "r.example/root:1": 0} {
		image := w.must(t, w.request(t, "PUT", w.data("g")+"/diskimages", `{"image":{"base":"`+reference+`"}}`)).doc(t)
		body := fmt.Sprintf(`{"sourcesRef":{"diskImage":{"id":"%v"}},"resources":{"cpu":"1","memory":"2Gi"}}`, image["id"])
		made := w.must(t, w.request(t, "PUT", w.data("g")+"/sandboxes", body)).doc(t)
		w.sandboxPath = fmt.Sprintf("%s/sandboxes/%v", w.data("g"), made["id"])
		w.must(t, w.request(t, "PUT", w.sandboxPath+"/files?path=/made/f", "x"))
		if got := w.sh(t, "rm /made/f").doc(t)["exitCode"]; got != want {
			t.Errorf("%s: exit code %v, not %v", reference, got, want)
		}
	}
}

func TestVolumesAreSharedAndKeepTheirFiles(t *testing.T) {
	t.Parallel()
	w := newFiles(t)
	volume := w.data("g") + "/volumes/vol"
	w.must(t, w.request(t, "PUT", volume, `{"type":"AzureBlob"}`))
	for _, c := range []struct {
		method, target, body string
		status               int
	}{
		{"POST", "/files?path=/a/b", "one", 201},
		{"POST", "/files?path=/a/b", "two", 412},
		{"POST", "/files?path=/a/b&overwrite=true", "three", 201},
		{"GET", "/files/download?path=/a/b", "", 200},
		{"GET", "/files/download?path=/../../../etc/passwd", "", 404},
		{"GET", "/files/download?path=/a", "", 400},
		{"GET", "/files?path=/a", "", 200},
		{"POST", "/files/mkdir?path=/c", "", 201},
		{"DELETE", "/files?path=/a", "", 400},
		{"DELETE", "/files?path=/", "", 400},
		{"POST", "/fork", `{"destinationVolumeName":"copy"}`, 201},
		{"POST", "/fork", `{"destinationVolumeName":"copy"}`, 409},
		{"DELETE", "/files?path=/a&recursive=true", "", 204},
		{"GET", "/files/download?path=/a/b", "", 404},
	} {
		if r := w.ask(t, c.method, volume+c.target, c.body); r.status != c.status {
			t.Errorf("%s %s: %d %s, not %d", c.method, c.target, r.status, r.body, c.status)
		}
	}
	if r := w.get(t, w.data("g")+"/volumes/copy/files/download?path=/a/b"); string(r.body) != "three" {
		t.Errorf("the copy has %q", r.body)
	}
	w.must(t, w.request(t, "POST", w.sandboxPath+"/volumes/add", `{"volumeMount":{"volumeName":"vol","mountpoint":"/mnt"}}`))
	if r := w.ask(t, "DELETE", volume, ""); r.status != http.StatusConflict {
		t.Errorf("a volume in use: %d", r.status)
	}
	w.ask(t, "DELETE", w.sandboxPath, "")
	if r := w.ask(t, "DELETE", volume, ""); r.status != http.StatusNoContent {
		t.Errorf("a volume that nobody uses: %d", r.status)
	}
}

func TestWithoutGuestsCommandsSayWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	path := w.data("g") + "/sandboxes/" + w.sandbox(t, "g")
	for _, r := range []reply{w.post(t, path+"/executeShellCommand", `{"command":"true"}`), w.get(t, path+"/files?path=/x")} {
		if r.status != http.StatusNotImplemented || r.doc(t)["title"] != "EmulatorHasNoGuests" || !bytes.Contains(r.body, []byte("engine")) {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
}
