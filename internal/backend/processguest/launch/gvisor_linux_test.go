package launch

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/gvisor"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/spawn"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
)

// missing fails in CI, where everything must be there, and skips elsewhere.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// guestProgram is process 1 of the tests, built once.
var guestProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "guest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary file
	out := filepath.Join(dir, "guest")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", out, "./testdata/guest")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.Join(err, errors.New(string(said)))
	}
	return os.ReadFile(out)
})

// realGVisor is a launcher with the real runsc.
func realGVisor(t *testing.T) *GVisor {
	t.Helper()
	program, err := gvisor.Open(t.Context(), os.Getenv("SANDBOX_TEST_RUNSC"))
	if err != nil {
		missing(t, "needs runsc (make runsc, SANDBOX_TEST_RUNSC): "+err.Error())
	}
	t.Cleanup(func() { _ = program.Close() })
	content, err := guestProgram()
	if err != nil {
		t.Fatal(err)
	}
	agent, err := NewImage("guest", content)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Close() })
	thread, err := spawn.NewThread()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(thread.Close)
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // whom the sandbox is started as enters it
		if err := os.Chmod(d, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the launcher's directory: %v %v", left, err)
		}
	})
	return &GVisor{Program: program, Thread: thread, Agent: agent, Mark: "sandbox-test-" + strconv.Itoa(os.Getpid()), Dir: dir}
}

const work = "/work"

// plain is a sandbox of the host's own programs, as a user that is not root.
func plain(t *testing.T) Request {
	t.Helper()
	base, err := view.Host()
	if err != nil {
		t.Fatal(err)
	}
	v, err := view.Make(base, work, view.Sizes{WorkBytes: 64 << 20, TmpBytes: 16 << 20, SharedBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	req := Request{View: v, Dir: work, Limits: Limits{DataBytes: 256 << 20, FileBytes: 64 << 20, Processes: 64}}
	if os.Geteuid() == 0 {
		req.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	return req
}

// running is a sandbox whose guest takes scripts.
type running struct {
	*Sandbox
	t     *testing.T
	lines *bufio.Reader
}

func launched(t *testing.T, g *GVisor, req Request) *running {
	t.Helper()
	s, err := g.Launch(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(s.End(ctx), s.In.Close(), s.Out.Close()); err != nil {
			t.Error(err)
		}
	})
	r := &running{s, t, bufio.NewReader(s.Out)}
	if line, err := r.lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("process 1 says %q: %v", line, err)
	}
	return r
}

// send hands a script to the guest.
func (r *running) send(script string) {
	r.t.Helper()
	if _, err := r.In.WriteString(strconv.Itoa(len(script)) + "\n" + script); err != nil {
		r.t.Fatal(err)
	}
}

// receive is what the script printed, and how it ended.
func (r *running) receive() (printed string, code int) {
	r.t.Helper()
	printed, err := r.lines.ReadString(0)
	if err != nil {
		r.t.Fatalf("the guest says %q: %v", printed, err)
	}
	end, err := r.lines.ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	code, err = strconv.Atoi(strings.TrimSpace(end))
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSuffix(printed, "\x00"), code
}

func (r *running) run(script string) (printed string, code int) {
	r.t.Helper()
	r.send(script)
	return r.receive()
}

func TestGVisorGuestSeesGVisorsKernel(t *testing.T) {
	t.Parallel()
	r := launched(t, realGVisor(t), plain(t))
	for script, want := range map[string]string{
		"uname -r": "gvisor", "id -u": "1000", "pwd": work, "hostname": "sandbox", "cat /etc/passwd": "sandbox:x:1000",
		"grep -c . /proc/net/dev": "3", `tr "\\0" " " </proc/1/cmdline`: view.Agent,
	} {
		if got, code := r.run(script); !strings.Contains(got, want) || code != 0 {
			t.Errorf("%s: %q, exit %d; want %q", script, got, code, want)
		}
	}
}
