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
func need(t testing.TB, ok bool, what string) {
	t.Helper()
	switch {
	case ok:
	case os.Getenv("CI") != "":
		t.Fatalf("this machine lacks %s", what)
	default:
		t.Skipf("this machine lacks %s", what)
	}
}

func needBubblewrap(t testing.TB) {
	t.Helper()
	_, err := exec.LookPath("bwrap")
	need(t, err == nil, "bubblewrap")
}

// testUsers is a range of this test process's own.
func testUsers() Users {
	if os.Geteuid() != 0 {
		return Users{}
	}
	return Users{First: 1_900_000_000 + uint32(os.Getpid()%100_000)*1000, Count: 1000}
}

// testConfig is a complete configuration for whoever runs the tests.
func testConfig(t testing.TB) Config {
	t.Helper()
	needBubblewrap(t)
	return Config{Users: testUsers(), StateDir: filepath.Join(t.TempDir(), "state"), Notice: func(text string) { t.Log("notice:", text) }}
}

// newEngine is closed and looked over when the test ends.
func newEngine(t testing.TB, c Config) *Engine {
	t.Helper()
	e, d, err := NewEngine(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		nothingLeft(t, c)
	})
	if d.Isolation != sandbox.IsolationContainer && os.Getenv(asUser) == "" {
		need(t, false, "limits: "+d.IsolationEvidence.Reference)
	}
	return e
}

// nothingLeft looks for what an engine makes outside its process.
func nothingLeft(t testing.TB, c Config) {
	t.Helper()
	entries, err := os.ReadDir(c.StateDir)
	if err != nil {
		t.Error(err)
	}
	for _, entry := range entries {
		if entry.Name() != "users" {
			t.Errorf("%s is left in the state directory", entry.Name())
		}
	}
	if c.Users.Count > 0 {
		for pid, uid := range processUsers(t) {
			if uid >= c.Users.First && uid < c.Users.First+c.Users.Count {
				t.Errorf("process %d of user %d still runs", pid, uid)
			}
		}
	}
}

// processUsers is the real user of every process of the machine.
func processUsers(t testing.TB) map[int]uint32 {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
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
	g, ok := started.Guest.(*guest)
	if !ok || started.Origin != sandbox.OriginCreated {
		t.Fatalf("%T, %v", started.Guest, started.Origin)
	}
	return box{t, g}
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
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.Write(b.t.Context(), b.ref(path), f, info.Size()); err != nil {
		b.t.Fatal(err)
	}
	b.prints("chmod +x " + path)
}

func isGone(err error) bool { return errors.Is(err, engine.ErrGone) }

// events are the kernel's counts of the sandbox's cgroup.
func (b box) events() cgroup.Events { return b.group.Events() }
