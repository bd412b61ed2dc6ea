package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/cgroup"
)

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
