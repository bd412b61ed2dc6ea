package guestagent_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// What a program of the agent's own user tries against it. All of it runs in
// namespaces of its own, where process 1 is the agent.

func TestAgentOutlivesEverySignalOfItsOwnUser(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	var storms sync.WaitGroup
	for range 4 {
		storms.Go(func() {
			r := b.probe(t.Context(), "storm")
			if sent, err := strconv.Atoi(strings.TrimSpace(r.stdout)); err != nil || sent < 3*64 || r.err != nil {
				t.Errorf("the storm did not come: %+v", r)
			}
		})
	}
	for range 20 {
		b.alive()
	}
	storms.Wait()
	b.alive()
	if status := b.run(t.Context(), nil, "cat", "/proc/self/status").stdout; field(status, "SigIgn:") != "0000000000000000" {
		t.Errorf("programs ignore %s", field(status, "SigIgn:"))
	}
}

func TestAgentsChannelAndMemoryAreOutOfReach(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	if r := b.probe(t.Context(), "channel"); r.err != nil || r.code != 0 || r.stdout != "" {
		t.Errorf("reached: %+v", r)
	}
	b.alive()
}

// Whatever an agent without resources does, it answers or is lost.
func TestAgentWithoutResourcesAnswersOrIsLost(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	b.write("file", "content")
	if r := b.probe(t.Context(), "prlimit"); r.err != nil || strings.TrimSpace(r.stdout) == "0" {
		t.Fatalf("nothing was taken: %+v", r)
	}
	for range 3 {
		_, err := b.Stat(t.Context(), b.ref("file"))
		if err == nil {
			t.Error("a file was opened without a descriptor")
		}
		if r := b.sh("true"); r.err == nil {
			t.Errorf("a program ran without pipes: %+v", r)
		}
		if errors.Is(err, engine.ErrGone) {
			<-b.Done()
		}
	}
}

// The Go runtime ends a program that cannot have a thread, and a fork bomb leaves
// none.
func TestAgentStartsNoThreadOnceItRuns(t *testing.T) {
	t.Parallel()
	b := start(t, asSelf(), guestagent.Options{})
	threads := func() int {
		entries, err := os.ReadDir("/proc/" + strconv.Itoa(b.cmd.Process.Pid) + "/task")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := threads()
	mixedLoad(t, b, 200)
	if after := threads(); after > before {
		t.Errorf("%d threads became %d", before, after)
	}
}

// A guest with no room for a process has none for a thread of its agent's either.
// What runs here is bounded by what the test starts.
func TestAgentWithoutRoomForAProcessStillMovesFiles(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	if os.Getuid() != 0 {
		t.Skip("only root can limit the agent, and the limit is for others than root")
	}
	if err := unix.Prlimit(b.cmd.Process.Pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 30, Max: 30}, nil); err != nil {
		t.Fatal(err)
	}
	b.write("file", "content")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var full atomic.Int32
	for range 40 {
		all.Go(func() {
			switch r := b.run(ctx, nil, "/bin/sleep", "1000"); {
			case errors.Is(r.err, guestagent.ErrProcesses):
				if full.Add(1) == 1 {
					b.movesFiles() //nolint:contextcheck // ctx is for the programs that fill the guest
					cancel()
				}
			case !errors.Is(r.err, context.Canceled):
				t.Errorf("%+v", r)
			}
		})
	}
	all.Wait()
	if full.Load() == 0 {
		t.Error("the limit was never met")
	}
	b.alive()
}

func (b *box) movesFiles() {
	b.t.Helper()
	for range 100 {
		if got := b.read("file"); got != "content" {
			b.t.Errorf("read %q", got)
		}
		b.write("file", "content")
	}
}
