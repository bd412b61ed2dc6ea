package acasguests

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ranges atomic.Uint32

// newGuests are closed when the test ends.
func newGuests(t *testing.T, resolve map[string]string) (*Guests, string) {
	t.Helper()
	return newGuestsOf(t, resolve, 20)
}

// newGuestsOf has so many users, where it can have any but its own.
func newGuestsOf(t *testing.T, resolve map[string]string, users uint32) (*Guests, string) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("this machine lacks bubblewrap")
		}
		t.Skip("this machine lacks bubblewrap")
	}
	dir := filepath.Join(t.TempDir(), "kept")
	c := process.Config{StateDir: filepath.Join(t.TempDir(), "state"), Notice: func(text string) { t.Log("notice:", text) }}
	if os.Geteuid() == 0 {
		c.Users = process.Users{First: 1_700_000_000 + (uint32(os.Getpid()%20_000)*50+ranges.Add(1))*20, Count: users}
	}
	g, err := New(t.Context(), Config{Process: c, Dir: dir, Resolve: resolve})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(g.aside.dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what was kept of stopped guests: %v", err)
		}
	})
	return g, dir
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only a root host has a second user for a sandbox, and volumes")
	}
}

// room is one guest and the test it serves.
type room struct {
	t  *testing.T
	id string
	g  *Guests
	acasemu.Guest
}

func boot(t *testing.T, g *Guests, b acasemu.Boot) room {
	t.Helper()
	if b.Image == (acasemu.Image{}) {
		b.Image.Public = "ubuntu"
	}
	if err := g.Start(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return again(t, g, b.ID)
}

func again(t *testing.T, g *Guests, id string) room {
	t.Helper()
	in, err := g.Guest(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return room{t, id, g, in}
}

func (r room) sh(command string) (string, int) {
	r.t.Helper()
	var out bytes.Buffer
	code, err := r.Exec(r.t.Context(), engine.ExecRequest{Args: []string{"/bin/sh", "-c", command}, Stdout: &out, Stderr: &out})
	if err != nil {
		r.t.Fatalf("%s: %v", command, err)
	}
	return strings.TrimSpace(out.String()), code
}

func (r room) prints(command, want string) {
	r.t.Helper()
	if got, code := r.sh(command); got != want || code != 0 {
		r.t.Errorf("%s: %q, exit code %d, want %q", command, got, code, want)
	}
}

func (r room) writes(path, content string, how acasemu.Writing) error {
	return r.Write(r.t.Context(), path, strings.NewReader(content), int64(len(content)), how)
}

func (r room) reads(path string) (string, error) {
	in, _, err := r.Read(r.t.Context(), path)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	content, err := io.ReadAll(in)
	return string(content), err
}

func TestCommandsAreTheImagesUsersAndFilesAreRoots(t *testing.T) {
	t.Parallel()
	needRoot(t)
	g, _ := newGuests(t, nil)
	r := boot(t, g, acasemu.Boot{
		ID: "a", Image: acasemu.Image{Reference: "registry.example.test/team/app:1", User: "1654"}, Env: []string{"GREETING=hello"}, WorkDir: "/srv/work",
	})
	r.prints("id -u; echo $GREETING; pwd", "1654\nhello\n/srv/work")
	if err := r.writes("/app/new/file", "x", acasemu.Writing{Parents: true}); err != nil {
		t.Fatal(err)
	}
	r.prints("stat -c '%u:%g %a' /app /app/new/file", "0:0 755\n0:0 644")
	if _, code := r.sh("echo y > /app/new/file || touch /app/new/other"); code == 0 {
		t.Error("the image's user writes where only root can")
	}
	mode := fs.FileMode(0o600)
	if err := r.writes("/app/secret", "s", acasemu.Writing{Mode: &mode}); err != nil {
		t.Fatal(err)
	}
	if _, code := r.sh("cat /app/secret"); code == 0 {
		t.Error("the image's user reads root's file")
	}
	if got, err := r.reads("/app/secret"); got != "s" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	boot(t, g, acasemu.Boot{ID: "b"}).prints("id -u; pwd", "0\n/")
}

func TestAnImageThatNeedsASecondUserIsRefusedByName(t *testing.T) {
	t.Parallel()
	g, _ := newGuestsOf(t, nil, 1)
	err := g.Start(t.Context(), acasemu.Boot{ID: "a", Image: acasemu.Image{Reference: "registry.example.test/team/app:1", User: "1654"}})
	if unsupported, ok := errors.AsType[*acasemu.Unsupported](err); !ok || !strings.Contains(unsupported.Detail, "image.user_unserved") {
		t.Errorf("%v", err)
	}
	boot(t, g, acasemu.Boot{ID: "a"}).prints("id -u", "0")
}

func TestFilesAreReachedAsTheServiceReachesThem(t *testing.T) {
	t.Parallel()
	g, _ := newGuests(t, nil)
	r := boot(t, g, acasemu.Boot{ID: "a"})
	r.sh("mkdir -p /d/real/sub && echo one > /d/real/f && ln -s real /d/link && ln -s real/f /d/last && ln -s /nowhere /d/dangling" +
		" && ln -s loop /d/loop && mkfifo /d/pipe && chmod 640 /d/real/f && touch -d @1000 /d/real/f")

	f, err := r.Stat(t.Context(), "/d/link/f")
	if err != nil || f.Mode != 0o640 || f.Size != 4 || f.Modified.Unix() != 1000 || f.Name != "f" {
		t.Errorf("%+v %v", f, err)
	}
	if f, err := r.Stat(t.Context(), "/d/last"); err != nil || f.Mode&fs.ModeSymlink == 0 || f.Target != "real/f" {
		t.Errorf("%+v %v", f, err)
	}
	for _, path := range []string{"/d/last", "/d/link/f", "d/real/f", "/d/real/../real/f"} {
		if got, err := r.reads(path); got != "one\n" || err != nil {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
	if all, err := r.List(t.Context(), "/d/link"); err != nil || len(all) != 2 {
		t.Errorf("%+v %v", all, err)
	}
	if err := r.writes("/d/last", "two", acasemu.Writing{}); err != nil {
		t.Error(err)
	}
	if err := r.writes("/d/dangling", "made", acasemu.Writing{}); err != nil {
		t.Error(err)
	}
	r.prints("cat /d/real/f /nowhere; readlink /d/last", "twomadereal/f")
	if err := r.Mkdir(t.Context(), "/d/link/sub", acasemu.Writing{}); err != nil {
		t.Error(err)
	}
	for what, c := range map[string]struct{ got, want error }{
		"a loop":                 {second(r.reads("/d/loop")), engine.ErrThroughLink},
		"a directory":            {second(r.reads("/d/real")), engine.ErrIsDirectory},
		"nothing":                {second(r.reads("/d/none")), engine.ErrNotExist},
		"a file as a directory":  {second(r.List(t.Context(), "/d/real/f")), engine.ErrNotDirectory},
		"missing parents":        {r.writes("/x/y", "", acasemu.Writing{}), engine.ErrNotExist},
		"a file as a parent":     {r.writes("/d/real/f/y", "", acasemu.Writing{Parents: true}), engine.ErrNotDirectory},
		"over a directory":       {r.writes("/d/real", "", acasemu.Writing{}), engine.ErrNotRegular},
		"a directory at a file":  {r.Mkdir(t.Context(), "/d/real/f", acasemu.Writing{}), engine.ErrNotDirectory},
		"removing what is full":  {r.Remove(t.Context(), "/d/real", false), engine.ErrIsDirectory},
		"removing nothing":       {r.Remove(t.Context(), "/d/none", true), engine.ErrNotExist},
		"more than was said":     {r.Write(t.Context(), "/d/short", strings.NewReader("long"), 2, acasemu.Writing{}), engine.ErrSize},
		"removing what is empty": {r.Remove(t.Context(), "/d/real/sub", false), nil},
		"removing a link":        {r.Remove(t.Context(), "/d/link", true), nil},
		"removing a tree":        {r.Remove(t.Context(), "/d/real", true), nil},
	} {
		if !errors.Is(c.got, c.want) || c.want == nil && c.got != nil {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
	waits, stop := context.WithCancelCause(t.Context())
	gone := errors.New("the client has gone")
	ended := make(chan error, 1)
	go func() {
		_, _, err := r.Read(waits, "/d/pipe")
		ended <- err
	}()
	stop(gone)
	if err := <-ended; !errors.Is(err, gone) && !errors.Is(err, context.Canceled) {
		t.Errorf("a pipe: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestProgramsGoOnAfterMemoryAndFilesStayAfterDisk(t *testing.T) {
	t.Parallel()
	g, _ := newGuests(t, nil)
	r := boot(t, g, acasemu.Boot{ID: "a", Env: []string{"OF=sandbox"}})
	r.sh("echo kept > /kept; (while :; do date +%N > /beat; done) >/dev/null 2>&1 & echo $! > /pid")
	const beats = `a=$(cat /beat); until b=$(cat /beat); [ -n "$b" ] && [ "$b" != "$a" ]; do :; done`
	if err := g.Suspend(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	still, err := r.reads("/beat")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Save(t.Context(), "a", "while it is held"); err != nil {
		t.Error(err)
	}
	if now, err := r.reads("/beat"); now != still || err != nil {
		t.Errorf("it went on: %q, %q, %v", still, now, err)
	}
	for range 2 { // harmless for one that runs
		if err := g.Resume(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	r.prints(beats, "")

	if err := g.Suspend(t.Context(), "a", false); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Guest(t.Context(), "a"); !errors.Is(err, engine.ErrGone) {
		t.Errorf("%v", err)
	}
	if size, err := g.Save(t.Context(), "a", "while it is stopped"); err != nil || size == 0 {
		t.Errorf("%d %v", size, err)
	}
	if err := g.Resume(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	again(t, g, "a").prints("cat /kept; kill -0 $(cat /pid) 2>/dev/null || echo gone; echo $OF", "kept\ngone\nsandbox")
	boot(t, g, acasemu.Boot{ID: "b", Image: acasemu.Image{Saved: "while it is stopped"}}).prints("cat /kept; echo $OF", "kept")
}

func TestSnapshotsHoldFilesAndNoSecrets(t *testing.T) {
	t.Parallel()
	g, dir := newGuests(t, nil)
	const secret = "correct horse battery staple"
	r := boot(t, g, acasemu.Boot{ID: "a", Env: []string{"SECRET=" + secret}})
	r.prints("echo one > /root/f; echo $SECRET", secret)
	if _, err := g.Save(t.Context(), "a", "../../a name"); err != nil {
		t.Fatal(err)
	}
	r.sh("echo two > /root/f")
	boot(t, g, acasemu.Boot{ID: "b", Image: acasemu.Image{Saved: "../../a name"}}).prints("cat /root/f; echo $SECRET", "one")
	kept, err := os.ReadDir(dir)
	if err != nil || len(kept) != 2 {
		t.Fatalf("%v %v", kept, err)
	}
	for _, entry := range kept {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil || bytes.Contains(content, []byte(secret)) {
			t.Errorf("%s holds the secret, or %v", entry.Name(), err)
		}
	}
	for range 2 {
		if err := g.Discard(t.Context(), "../../a name"); err != nil {
			t.Error(err)
		}
	}
	if kept, err := os.ReadDir(dir); err != nil || len(kept) != 0 {
		t.Errorf("%v %v", kept, err)
	}
	if err := g.Start(t.Context(), acasemu.Boot{ID: "c", Image: acasemu.Image{Saved: "../../a name"}}); err == nil {
		t.Error("a snapshot that was discarded is started")
	}
	if _, err := g.Guest(t.Context(), "c"); !errors.Is(err, engine.ErrGone) {
		t.Errorf("%v", err)
	}
}

func TestAVolumeIsSharedAsItIsWritten(t *testing.T) {
	t.Parallel()
	needRoot(t)
	g, _ := newGuests(t, nil)
	volume := t.TempDir()
	if err := os.WriteFile(filepath.Join(volume, "before"), []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	a, b := boot(t, g, acasemu.Boot{ID: "a"}), boot(t, g, acasemu.Boot{ID: "b", Mounts: []acasemu.Mount{{Dir: volume, Path: "/data", ReadOnly: true}}})
	if err := g.Mount(t.Context(), "a", acasemu.Mount{Dir: volume, Path: "/mnt/v"}); err != nil {
		t.Fatal(err)
	}
	a.prints("cat /mnt/v/before; echo live > /mnt/v/f; stat -c %u /mnt/v/f /mnt/v/before", "before0\n0")
	b.prints("cat /data/f", "live")
	if _, code := b.sh("echo x > /data/f"); code == 0 {
		t.Error("a volume that is read-only is written to")
	}
	if info, err := os.Stat(filepath.Join(volume, "f")); err != nil || info.Size() != 5 {
		t.Errorf("%v %v", info, err)
	}
	a.sh("ln -s /etc /mnt/link")
	if err := g.Mount(t.Context(), "a", acasemu.Mount{Dir: volume, Path: "/mnt/link/ssl"}); err == nil {
		t.Error("a volume is mounted through a link")
	}
	if err := errors.Join(g.Suspend(t.Context(), "a", false), g.Resume(t.Context(), "a")); err != nil {
		t.Fatal(err)
	}
	again(t, g, "a").prints("cat /mnt/v/f", "live")
}

func TestEgressIsWhatThePolicySaysNow(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+" "+r.Host+r.URL.Path)
	}))
	t.Cleanup(site.Close)
	at := strings.TrimPrefix(site.URL, "http://")
	g, _ := newGuests(t, map[string]string{"a.example.com": at, "b.example.com": at})
	only := func(host string, methods ...string) acasemu.Egress {
		return acasemu.Egress{Policy: &wire.EgressPolicy{DefaultAction: wire.EgressDeny, Rules: []wire.EgressRule{rule(host, "", wire.EgressAllow, methods...)}}}
	}
	r := boot(t, g, acasemu.Boot{ID: "a", Egress: only("a.example.com", "GET")})
	const curl = "curl -s --max-time 20 -o /dev/null -w '%{http_code}' "
	r.prints(curl+"http://a.example.com/x", "200")
	r.prints(curl+"-X POST http://a.example.com/x", "403")
	r.prints(curl+"http://b.example.com/", "403")
	if err := g.SetEgress(t.Context(), "a", only("b.example.com")); err != nil {
		t.Fatal(err)
	}
	r.prints(curl+"http://a.example.com/", "403")
	r.prints(curl+"http://b.example.com/", "200")
	if err := g.SetEgress(t.Context(), "a", acasemu.Egress{}); err != nil {
		t.Fatal(err)
	}
	r.prints(curl+"http://a.example.com/; "+curl+"http://b.example.com/", "200200")
	if err := g.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}

	r = boot(t, g, acasemu.Boot{ID: "b", Egress: only("a.example.com")})
	r.sh(curl + "http://a.example.com/x; " + curl + "http://b.example.com/y")
	box, err := g.box("b")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.engine.Delete(t.Context(), box.guest.ID()); err != nil { // which waits for the log
		t.Fatal(err)
	}
	log, err := g.Decisions(t.Context(), "b")
	if err != nil || len(log.Allowed) != 1 || len(log.Denied) != 1 || log.Allowed[0].Host != "a.example.com" || log.Denied[0].Path != "/y" {
		t.Errorf("%+v %v", log, err)
	}
}

func TestAGuestThatIsDeletedIsGoneAndANewOneHasNothingOfIt(t *testing.T) {
	t.Parallel()
	g, _ := newGuests(t, nil)
	r := boot(t, g, acasemu.Boot{ID: "a", Entrypoint: []string{"/bin/sh", "-c"}, Cmd: []string{"echo ran > /ran; exec sleep 1000"}})
	r.prints("until [ -s /ran ]; do :; done; cat /ran", "ran")
	for range 2 {
		if err := g.Delete(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Exec(t.Context(), engine.ExecRequest{Args: []string{"true"}}); !errors.Is(err, engine.ErrGone) {
		t.Errorf("%v", err)
	}
	boot(t, g, acasemu.Boot{ID: "a"}).prints("ls /ran 2>/dev/null || echo none", "none")
	if err := g.Start(t.Context(), acasemu.Boot{ID: "a"}); err == nil {
		t.Error("a second guest of an id")
	}
}
