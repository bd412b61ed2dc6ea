package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/cgroup"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestARootHostNamesWhomItBecomes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		users Users
		euid  int
		ok    bool
	}{
		"root as nobody in particular": {Users{}, 0, false},
		"root as root":                 {Users{0, 1}, 0, false},
		"root as a range with an end":  {Users{1<<32 - 3, 2}, 0, false},
		"root as somebody":             {Users{65534, 1}, 0, true},
		"root as many":                 {Users{1_900_000_000, 1000}, 0, true},
		"a user as itself":             {Users{}, 1000, true},
		"a user as somebody":           {Users{65534, 1}, 1000, false},
		"a user as first":              {Users{65534, 0}, 1000, false},
	} {
		if err := checkUsers(c.users, c.euid); (err == nil) != c.ok || err != nil && !errors.Is(err, sandbox.CodeOptionsInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEachSandboxHasAUserOfItsOwn(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody")
	}
	c := testConfig(t)
	c.Users.Count = 2
	e := newEngine(t, c)
	a, b := start(t, e, "a"), start(t, e, "b")
	if a.user.id == b.user.id {
		t.Errorf("both are user %d", a.user.id)
	}
	if _, err := e.Start(t.Context(), engine.StartRequest{Name: "c", WorkDir: "/work"}); err == nil {
		t.Error("a third sandbox shares a user")
	}
	if err := e.Delete(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	start(t, e, "c").alive()
}

// as an ordinary user, in a cgroup of its own and without one.
func TestAllOfThisHoldsForAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody")
	}
	needBubblewrap(t)
	const nobody = 65534
	for name, delegated := range map[string]bool{"with a cgroup": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := openDir(t)
			if err := os.Chown(home, nobody, nobody); err != nil {
				t.Fatal(err)
			}
			self, err := os.Open("/proc/self/exe")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = self.Close() }()
			cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3", "-test.timeout=5m", "-test.skip=OrdinaryUser", "-test.v="+verbose())
			cmd.ExtraFiles = []*os.File{self}
			cmd.Dir = "/"
			cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/bin:/bin", hostSecret + "=" + secret, asUser + "=" + name, "GOCACHE=" + home + "/cache", probeFile + "=" + probe(t)}
			out, err := runAs(t, cmd, nobody, delegated)
			if err != nil || testing.Verbose() {
				t.Logf("%s", out)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// openDir is a directory for a test's files that every user can look into.
func openDir(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func verbose() string { return strconv.FormatBool(testing.Verbose()) }

// runAs runs a command as a user, in a cgroup that is handed over to it if asked.
func runAs(t *testing.T, cmd *exec.Cmd, uid int, delegated bool) ([]byte, error) {
	t.Helper()
	credential := &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	if !delegated {
		return cmd.CombinedOutput()
	}
	place, err := cgroup.Find("")
	if err != nil {
		need(t, false, "cgroups: "+err.Error())
	}
	host := place.Host("test-" + strconv.Itoa(os.Getpid()))
	if err := host.Make(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Remove(t.Context()); err != nil {
			t.Log(err)
		}
	})
	group, err := host.New(t.Context(), "delegated", cgroup.Limits{MemoryBytes: 8 << 30, Processes: 4000})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range host.Directories() {
		if err := handOver(filepath.Join(dir, "delegated"), uid); err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread() // the thread goes there and comes back
	defer runtime.UnlockOSThread()
	var out safeBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := group.Birth(cmd.SysProcAttr, cmd.Start); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	return out.bytes(), err
}

func handOver(dir string, uid int) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range append([]string{"."}, names(files)...) {
		if err := os.Chown(filepath.Join(dir, name), uid, uid); err != nil {
			return err
		}
	}
	return nil
}

func names(files []os.DirEntry) []string {
	var out []string
	for _, f := range files {
		switch f.Name() {
		case "tasks", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads":
			out = append(out, f.Name())
		}
	}
	return out
}

type safeBuffer struct {
	mu   sync.Mutex
	data []byte
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, p...)
	return len(p), nil
}

func (b *safeBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data
}
