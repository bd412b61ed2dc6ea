package process

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/gvisor"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// bareRunsc is what somebody would type as an ordinary user: this machine's
// programs in a bundle, and runsc's own settings for such a user.
type bareRunsc struct {
	b          *testing.B
	path, dir  string
	credential *syscall.Credential
}

func newBareRunsc(b *testing.B) bareRunsc {
	b.Helper()
	r := bareRunsc{b: b, path: needRunsc(b), dir: openDir(b)}
	first := uint32(os.Geteuid())
	if first == 0 {
		first = testUsers().First
		r.credential = &syscall.Credential{Uid: first, Gid: first}
	}
	root := filepath.Join(r.dir, "root")
	for _, d := range []string{root, root + "/usr", root + "/tmp", root + "/proc", root + "/dev", root + "/sys", r.dir + "/notes"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	for _, name := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+name, filepath.Join(root, name)); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.Chown(r.dir+"/notes", int(first), int(first)); err != nil {
		b.Fatal(err)
	}
	return r
}

// bundle says what runs.
func (r bareRunsc) bundle(args ...string) {
	r.b.Helper()
	spec, err := gvisor.Bundle{
		Root: filepath.Join(r.dir, "root"), Views: []gvisor.View{{Source: "/usr", Destination: "/usr"}},
		Scratch: []gvisor.Scratch{{Destination: "/tmp", Bytes: 256 << 20, Mode: 0o700}},
		Args:    args, UID: 1000, GID: 1000, WorkDir: "/tmp", Hostname: "bare",
		Limits:  gvisor.Limits{Processes: 256, FileBytes: 1 << 30, OpenFiles: 1024},
		Seccomp: &specs.LinuxSeccomp{DefaultAction: specs.ActAllow},
	}.Spec()
	if err != nil {
		r.b.Fatal(err)
	}
	if err := writeJSON(filepath.Join(r.dir, "config.json"), spec); err != nil {
		r.b.Fatal(err)
	}
}

// command is runsc in a user namespace of the user's own, without which it would
// have to start itself once more.
func (r bareRunsc) command(ctx context.Context, args ...string) *exec.Cmd {
	settings := gvisor.Settings(filepath.Join(r.dir, "notes"), false)
	cmd := exec.CommandContext(ctx, "/proc/self/fd/3", append(settings, args...)...)
	program, err := os.Open(r.path)
	if err != nil {
		r.b.Fatal(err)
	}
	r.b.Cleanup(func() { _ = program.Close() })
	uid := os.Geteuid()
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, Credential: &syscall.Credential{NoSetGroups: r.credential == nil}}
	if r.credential != nil {
		uid = int(r.credential.Uid)
		cmd.SysProcAttr.GidMappingsEnableSetgroups = true
	}
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
	cmd.SysProcAttr.GidMappings = cmd.SysProcAttr.UidMappings
	cmd.ExtraFiles, cmd.Env, cmd.Dir = []*os.File{program}, []string{}, "/"
	return cmd
}

func (r bareRunsc) run(args ...string) {
	r.b.Helper()
	if out, err := r.command(r.b.Context(), args...).CombinedOutput(); err != nil {
		r.b.Fatalf("%v\n%s", err, out)
	}
}

func gvisorEngine(b *testing.B) *Engine {
	b.Helper()
	c := Config{
		Users: testUsers(), StateDir: filepath.Join(openDir(b), "state"), Runtime: RuntimeGVisor, Runsc: needRunsc(b),
		MemoryBytes: 2 << 30, WorkBytes: 512 << 20,
	}
	e, _, err := NewEngine(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return e
}

// BenchmarkGVisor is the engine with gVisor beside the runsc command: a sandbox to
// its first word beside a run of a program that does nothing, a program in a
// sandbox that lives beside runsc exec, and bytes in and out beside cat.
func BenchmarkGVisor(b *testing.B) {
	e, bare := gvisorEngine(b), newBareRunsc(b)
	n := 0
	acquire := func() engine.Guest {
		n++
		s, err := e.Start(b.Context(), engine.StartRequest{Name: "a" + strconv.Itoa(n), WorkDir: "/work"})
		if err != nil {
			b.Fatal(err)
		}
		return s.Guest
	}
	b.Run("acquire", func(b *testing.B) {
		bare.bundle("/bin/true")
		var g engine.Guest
		side(b, func() { g = acquire() }, func() { bare.run("run", "--bundle="+bare.dir, "bare") }, func() {
			if err := e.Delete(b.Context(), g.ID()); err != nil {
				b.Fatal(err)
			}
		})
	})
	g := acquire()
	b.Run("exec", func(b *testing.B) {
		bare.bundle("/bin/sleep", "1000")
		ctx, end := context.WithCancel(b.Context())
		running := bare.command(ctx, "run", "--bundle="+bare.dir, "bare")
		if err := running.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() { end(); _ = running.Wait() }()
		waitForState(b, bare.dir)
		side(b, func() {
			if code, err := runner(g).Exec(b.Context(), engine.ExecRequest{Args: []string{"/bin/true"}, Dir: "/work"}); err != nil || code != 0 {
				b.Fatal(code, err)
			}
		}, func() { bare.run("exec", "bare", "/bin/true") }, func() {})
	})
	ref := engine.FileRef{Root: "/work", Path: "/work/f", Access: e.Access()[0]}
	for name, size := range map[string]int64{"1MiB": 1 << 20, "100MiB": 100 << 20} {
		b.Run("write-"+name, func(b *testing.B) {
			content := make([]byte, size)
			b.SetBytes(size)
			for b.Loop() {
				if err := g.Write(b.Context(), ref, bytes.NewReader(content), size); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("read-"+name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				r, _, err := g.Open(b.Context(), ref)
				if err != nil {
					b.Fatal(err)
				}
				if read, err := io.Copy(io.Discard, r); read != size || err != nil {
					b.Fatal(read, err)
				}
				_ = r.Close()
			}
		})
	}
	b.Run("stat", func(b *testing.B) {
		for b.Loop() {
			if _, err := g.Stat(b.Context(), ref); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// waitForState returns once runsc has noted a running sandbox.
func waitForState(b *testing.B, dir string) {
	b.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		<-tick.C
		found, err := filepath.Glob(dir + "/notes/*.state")
		if err != nil {
			b.Fatal(err)
		}
		for _, file := range found {
			if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), `"status":"running"`) {
				return
			}
		}
	}
	b.Fatal("bare runsc does not run")
}

func writeJSON(path string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
