package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
)

// marked lists what runs of a launcher's sandboxes on this machine.
func marked(t *testing.T, g *GVisor) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range lines {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), g.Dir+"/") {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func TestGVisorSandboxIsGoneWhenEndReturns(t *testing.T) {
	t.Parallel()
	g := realGVisor(t)
	r := launched(t, g, plain(t))
	if len(marked(t, g)) < 3 {
		t.Fatalf("a running sandbox is made of %q", marked(t, g))
	}
	r.send("trap '' TERM HUP INT; while :; do :; done")
	if err := r.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := marked(t, g); len(left) > 0 {
		t.Errorf("still runs: %q", left)
	}
	if left, err := os.ReadDir(g.Dir); err != nil || len(left) > 0 {
		t.Errorf("still there: %v, %v", left, err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), g.Dir) {
		t.Errorf("still mounted, or not known: %v", err)
	}
	if err := r.End(t.Context()); err != nil {
		t.Errorf("a second end: %v", err)
	}
}

func TestGVisorSandboxEndsWithItsInput(t *testing.T) {
	t.Parallel()
	r := launched(t, realGVisor(t), plain(t))
	if err := r.In.Close(); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	r.In, _ = os.Open(os.DevNull) // for the clean-up to close
}

func TestGVisorSandboxEndsWithEachOfItsProcesses(t *testing.T) {
	t.Parallel()
	g := realGVisor(t)
	for name, process := range map[string]func(*Sandbox) error{
		"runsc":       func(s *Sandbox) error { return s.monitor.Kill() },
		"its kernel":  func(s *Sandbox) error { return kill(s.pidfd) },
		"file server": func(s *Sandbox) error { return kill(s.also[0]) },
	} {
		r := launched(t, g, plain(t))
		if err := process(r.Sandbox); err != nil {
			t.Fatal(err)
		}
		if name != "file server" { // gVisor's kernel outlives it until it needs a file
			<-r.Done()
		}
		if err := r.End(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left := marked(t, g); len(left) > 0 {
			t.Errorf("%s: still runs: %q", name, left)
		}
	}
}

func TestEndThatIsNotSeenIsAnError(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pidfd, err := hold(cmd.Process.Pid, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	s := &Sandbox{pidfd: pidfd, ended: make(chan struct{}), leave: func() error { t.Error("it was taken for gone"); return nil }}
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("too late")
	cancel(late)
	if err := s.End(ctx); !errors.Is(err, late) {
		t.Errorf("End of a sandbox that is not seen to end: %v", err)
	}
	_, _ = in.Close(), cmd.Wait()
}

func TestGVisorThatDoesNotStartLeavesNothing(t *testing.T) {
	t.Parallel()
	g := realGVisor(t)
	for name, spoil := range map[string]func(*GVisor, *Request){
		"nothing to show": func(_ *GVisor, r *Request) {
			r.View = append(r.View, view.Entry{Kind: view.Show, Path: "/x", Source: "/nowhere"})
		},
		"an unknown entry":     func(_ *GVisor, r *Request) { r.View = append(r.View, view.Entry{Path: "/x"}) },
		"no bound":             func(_ *GVisor, r *Request) { r.Limits.Processes = 0 },
		"no working directory": func(_ *GVisor, r *Request) { r.Dir = "/nowhere" },
		"no program": func(g *GVisor, _ *Request) {
			empty, err := NewImage("empty", []byte("no program"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = empty.Close() })
			g.Agent = empty
		},
	} {
		broken, req := *g, plain(t)
		spoil(&broken, &req)
		s, err := broken.Launch(t.Context(), req)
		if err == nil {
			t.Errorf("%s: it starts", name)
			_ = s.End(t.Context())
		}
		t.Logf("%s: %v", name, err)
		if strings.Contains(err.Error(), g.Dir) {
			t.Errorf("%s: the error names a path of this machine: %v", name, err)
		}
		if left := marked(t, g); len(left) > 0 {
			t.Errorf("%s: still runs: %q", name, left)
		}
		if left, err := os.ReadDir(g.Dir); err != nil || len(left) > 0 {
			t.Errorf("%s: still there: %v, %v", name, left, err)
		}
	}
}

func TestGVisorLaunchHonoursItsContextAtEveryStage(t *testing.T) {
	t.Parallel()
	g := realGVisor(t)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			gone := errors.New("the caller has gone")
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(i*40)*time.Millisecond, gone)
			defer cancel()
			s, err := g.Launch(ctx, plain(t))
			switch {
			case err == nil: // it was faster
				if err := errors.Join(s.End(t.Context()), s.In.Close(), s.Out.Close()); err != nil {
					t.Error(err)
				}
			case !errors.Is(err, gone):
				t.Errorf("after %d ms: %v", i*40, err)
			}
		})
	}
	wait.Wait()
	if left := marked(t, g); len(left) > 0 {
		t.Errorf("still runs: %q", left)
	}
}
