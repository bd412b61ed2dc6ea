package process

import (
	"bufio"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// What the kernel counts by user is one for all sandboxes of a user, and for
// whatever else the user runs.
func TestWhatIsCountedByUserIsNotASandboxesToHoard(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	if os.Geteuid() == 0 {
		c.Users.Count = 1
	}
	e := newEngine(t, c)
	file := probe(t)
	attacker, neighbour := start(t, e, "attacker"), start(t, e, "neighbour")
	attacker.upload("/tmp/probe", file)
	neighbour.upload("/tmp/probe", file)
	alone := neighbour.prints("/tmp/probe hoard </dev/null")

	hold, release := io.Pipe()
	read, written := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := attacker.Exec(context.WithoutCancel(t.Context()), engine.ExecRequest{Args: []string{"/tmp/probe", "hoard"}, Dir: "/work", Stdin: hold, Stdout: written})
		_ = written.CloseWithError(io.EOF)
		ended <- err
	}()
	lines := bufio.NewScanner(read)
	var held []string
	for len(held) < 3 && lines.Scan() {
		held = append(held, lines.Text())
	}
	beside := neighbour.prints("/tmp/probe hoard </dev/null")
	_ = release.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if beside != alone {
		t.Errorf("alone a sandbox gets %q, beside one that holds %q it gets %q", alone, strings.Join(held, "\n"), beside)
	}
}

// A kernel that pipes cores to a program runs that as root of the machine.
func TestTheKernelHandsNoCoreOfAGuestToTheMachine(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	if inGVisor(e) {
		t.Skip("its processes are none of the machine's")
	}
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &own); err != nil || own.Max == 0 {
		t.Skipf("this process may have no core itself: %v", err)
	}
	b := start(t, e, "a")
	if got := strings.Fields(b.prints("grep '^Max core file size' /proc/self/limits")); !slices.Equal(got[4:], []string{"1", "1", "bytes"}) {
		t.Errorf("limits %q", got[4:])
	}
}
