package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// side times a function and its peer in turns, so that whatever else the machine
// does hurts both alike, and reports medians and ratios.
func side(b *testing.B, ours, peer, after func()) {
	b.Helper()
	var took [2][]time.Duration
	for b.Loop() {
		for i, run := range []func(){ours, peer} {
			began := time.Now()
			run()
			took[i] = append(took[i], time.Since(began))
		}
		after()
	}
	for i := range took {
		slices.Sort(took[i])
	}
	at := func(i, percent int) float64 { return float64(took[i][len(took[i])*percent/100].Microseconds()) }
	b.ReportMetric(at(0, 50), "µs/ours")
	b.ReportMetric(at(1, 50), "µs/peer")
	b.ReportMetric(at(0, 50)/at(1, 50), "x-peer")
	b.ReportMetric(at(0, 10)/at(1, 10), "x-peer-undisturbed") // the fastest tenth
	b.ReportMetric(0, "ns/op")                                // the sum of the two says nothing
}

func benchEngine(b *testing.B) *Engine {
	b.Helper()
	c := testConfig(b)
	c.StateDir = filepath.Join(openDir(b), "state")
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

// bare is what somebody would type: every namespace, the machine's programs
// read-only, one program.
func bare(b *testing.B) {
	b.Helper()
	cmd := exec.Command("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr",
		"--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--cap-drop", "ALL", "/bin/true")
	if os.Geteuid() == 0 {
		first := testUsers().First
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: first, Gid: first}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

// BenchmarkAcquire is a new sandbox, its cgroup and its agent's greeting, beside
// bubblewrap with a program that does nothing. Cycle adds a program and the
// removal.
func BenchmarkAcquire(b *testing.B) {
	e := benchEngine(b)
	n := 0
	acquire := func() engine.Guest {
		n++
		s, err := e.Start(b.Context(), engine.StartRequest{Name: fmt.Sprint("a", n), WorkDir: "/work"})
		if err != nil {
			b.Fatal(err)
		}
		return s.Guest
	}
	remove := func(g engine.Guest) {
		if err := e.Delete(b.Context(), g.ID()); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("start", func(b *testing.B) {
		var g engine.Guest
		side(b, func() { g = acquire() }, func() { bare(b) }, func() { remove(g) })
	})
	b.Run("cycle", func(b *testing.B) {
		side(b, func() {
			g := acquire()
			if code, err := runner(g).Exec(b.Context(), engine.ExecRequest{Args: []string{"/bin/true"}, Dir: "/work"}); err != nil || code != 0 {
				b.Fatal(code, err)
			}
			remove(g)
		}, func() { bare(b) }, func() {})
	})
}

// BenchmarkExec is one program in a sandbox that exists, beside one without.
func BenchmarkExec(b *testing.B) {
	e := benchEngine(b)
	s, err := e.Start(b.Context(), engine.StartRequest{Name: "a", WorkDir: "/work"})
	if err != nil {
		b.Fatal(err)
	}
	side(b, func() {
		if code, err := runner(s.Guest).Exec(b.Context(), engine.ExecRequest{Args: []string{"/bin/true"}, Dir: "/work"}); err != nil || code != 0 {
			b.Fatal(code, err)
		}
	}, func() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}, func() {})
}
