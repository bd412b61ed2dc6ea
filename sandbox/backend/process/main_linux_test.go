package process

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/cgroup"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Variables that make this test binary something else.
const (
	asCrashHost = "PROCESS_TEST_CRASH_HOST" // a host that works until it is killed; the value is its state directory
	asUser      = "PROCESS_TEST_AS_USER"    // these tests under an ordinary user; the value is its directory
	withGVisor  = "PROCESS_TEST_RUNSC"      // these tests with gVisor; the value is the path of runsc
	withRoot    = "PROCESS_TEST_IMAGE_USER" // these tests with guests that have a root of their own; the value is whom programs run as
	hostSecret  = "PROCESS_TEST_SECRET"
)

// secret is what a host has in its environment and no guest may find.
const secret = "correct horse battery staple"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asCrashHost); dir != "" {
		crashHost(dir)
		return
	}
	if os.Getenv(hostSecret) == "" { // so that it stands where /proc shows it
		cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
		cmd.Env = append(os.Environ(), hostSecret+"="+secret)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if cmd.Run() != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// need fails in CI and skips elsewhere when the machine lacks something.
func need(tb testing.TB, ok bool, what string) {
	tb.Helper()
	switch {
	case ok:
	case os.Getenv("CI") != "":
		tb.Fatalf("this machine lacks %s", what)
	default:
		tb.Skipf("this machine lacks %s", what)
	}
}

func needBubblewrap(tb testing.TB) {
	tb.Helper()
	_, err := exec.LookPath("bwrap")
	need(tb, err == nil, "bubblewrap")
}

// ranges counts the tests of this process that were given users.
var ranges atomic.Uint32

// testUsers is a range of users that no other test has.
func testUsers() Users {
	if os.Geteuid() != 0 {
		return Users{}
	}
	const each, perProcess = 100, 100
	process := uint32(os.Getpid() % 20_000)
	return Users{First: 1_900_000_000 + (process*perProcess+ranges.Add(1)%perProcess)*each, Count: each}
}

// testConfig is a complete configuration for whoever runs the tests.
func testConfig(tb testing.TB) Config {
	tb.Helper()
	c := Config{Users: testUsers(), StateDir: filepath.Join(tb.TempDir(), "state"), Notice: func(text string) { tb.Log("notice:", text) }}
	if runsc := os.Getenv(withGVisor); runsc != "" {
		c.Runtime, c.Runsc = RuntimeGVisor, runsc
		return c
	}
	needBubblewrap(tb)
	if user := os.Getenv(withRoot); user != "" {
		c.Images = func(context.Context, sandbox.Image) (Image, error) { return Image{Machine: true, User: user}, nil }
	}
	return c
}

// newEngine is closed and looked over when the test ends.
func newEngine(tb testing.TB, c Config) *Engine {
	tb.Helper()
	e, d, err := NewEngine(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			tb.Error(err)
		}
		nothingLeft(tb, c)
	})
	want := sandbox.IsolationContainer
	if c.Runtime == RuntimeGVisor {
		want = sandbox.IsolationHardenedContainer
	}
	if d.Isolation != want && os.Getenv(asUser) == "" {
		need(tb, false, "limits: "+d.IsolationEvidence.Reference)
	}
	return e
}

// nothingLeft looks for what an engine makes outside its process.
func nothingLeft(tb testing.TB, c Config) {
	tb.Helper()
	entries, err := os.ReadDir(c.StateDir)
	if err != nil {
		tb.Error(err)
	}
	for _, entry := range entries {
		if entry.Name() != "users" {
			tb.Errorf("%s is left in the state directory", entry.Name())
		}
	}
	if c.Users.Count > 0 {
		for pid, uid := range processUsers(tb) {
			if uid >= c.Users.First && uid < c.Users.First+c.Users.Count {
				tb.Errorf("process %d of user %d still runs", pid, uid)
			}
		}
	}
}

// processUsers is the real user of every process of the machine.
func processUsers(tb testing.TB) map[int]uint32 {
	tb.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		tb.Fatal(err)
	}
	users := map[int]uint32{}
	for _, file := range found {
		content, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(content), "State:\tZ") {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		_, after, _ := strings.Cut(string(content), "\nUid:\t")
		uid, _, _ := strings.Cut(after, "\t")
		if n, err := strconv.ParseUint(uid, 10, 32); err == nil {
			users[pid] = uint32(n)
		}
	}
	return users
}

// box is one sandbox and the test it serves.
type box struct {
	t *testing.T
	*guest
}

func start(t *testing.T, e *Engine, name string) box {
	t.Helper()
	started, err := e.Start(t.Context(), engine.StartRequest{Name: name, WorkDir: "/work"})
	if err != nil {
		t.Fatal(err)
	}
	if started.Origin != sandbox.OriginCreated {
		t.Fatal(started.Origin)
	}
	return boxOf(t, started.Guest)
}

// sh runs a shell command to its end.
func (b box) sh(command string) (stdout string, code int) {
	b.t.Helper()
	out, code, err := b.try(b.t.Context(), "/bin/sh", "-c", command)
	if err != nil {
		b.t.Fatalf("%s: %v", command, err)
	}
	return out, code
}

func (b box) try(ctx context.Context, args ...string) (stdout string, code int, err error) {
	var out bytes.Buffer
	code, err = b.Exec(ctx, engine.ExecRequest{Args: args, Dir: "/work", Stdout: &out, Stderr: &out})
	return out.String(), code, err
}

// prints is a command that must succeed, and what it says.
func (b box) prints(command string) string {
	b.t.Helper()
	out, code := b.sh(command)
	if code != 0 {
		b.t.Fatalf("%s: exit code %d\n%s", command, code, out)
	}
	return strings.TrimSpace(out)
}

func (b box) alive() {
	b.t.Helper()
	if out := b.prints("echo alive"); out != "alive" {
		b.t.Errorf("%q", out)
	}
}

func (b box) ref(path string) engine.FileRef {
	return engine.FileRef{Root: "/", Path: path, Access: b.engine.Access()[0]}
}

// upload puts a program into the work directory.
func (b box) upload(path, source string) {
	b.t.Helper()
	f, err := os.Open(source)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		b.t.Fatal(err)
	}
	if b.root != nil { // then the file is not the program's to change
		if err := b.WriteMode(b.t.Context(), b.ref(path), f, info.Size(), 0o755); err != nil {
			b.t.Fatal(err)
		}
		return
	}
	if err := b.Write(b.t.Context(), b.ref(path), f, info.Size()); err != nil {
		b.t.Fatal(err)
	}
	b.prints("chmod +x " + path)
}

// boxOf is a guest of this engine.
func boxOf(t *testing.T, g engine.Guest) box {
	t.Helper()
	ours, ok := g.(*guest)
	if !ok {
		t.Fatalf("a guest of type %T", g)
	}
	return box{t, ours}
}

// runner is a guest's way of running programs; one that has none runs nothing.
func runner(g engine.Guest) engine.Execer {
	if r, ok := g.(engine.Execer); ok {
		return r
	}
	return noRunner{}
}

type noRunner struct{}

func (noRunner) Exec(context.Context, engine.ExecRequest) (int, error) {
	return 0, errors.New("the guest runs no programs")
}

func isGone(err error) bool { return errors.Is(err, engine.ErrGone) }

// events are the kernel's counts of the sandbox's cgroup.
func (b box) events() cgroup.Events { return b.group.Events() }
