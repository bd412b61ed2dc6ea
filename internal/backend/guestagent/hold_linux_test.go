package guestagent_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

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

func TestAgentOutlivesAForkBomb(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	b.write("file", "content")
	// NPROC counts the user's processes in this user namespace.
	ctx, cancel := context.WithCancel(t.Context())
	bomb := make(chan ran, 1)
	go func() {
		bomb <- b.run(ctx, nil, "/bin/sh", "-c", `ulimit -u 60; f() { f | f & f; }; f 2>/dev/null`)
	}()
	for range 50 {
		if got := b.read("file"); got != "content" {
			t.Errorf("read %q", got)
		}
		if r := b.sh("true"); r.err != nil && !errors.Is(r.err, guestagent.ErrProcesses) {
			t.Errorf("%v", r.err)
		}
	}
	cancel()
	<-bomb
	b.read("file")
}
