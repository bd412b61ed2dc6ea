package cli_test

import (
	"encoding/pem"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// emulated is our own emulator in this process, on the clock of its clients.
type emulated struct {
	operated
	*sandboxtest.ACAS
}

func newEmulated(t *testing.T) *emulated {
	t.Helper()
	c := &clock{now: time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)}
	e := sandboxtest.StartACAS(t, sandboxtest.ACASOptions{Now: c.Now, Slow: true})
	return &emulated{newOperated(t, e.URL, authorityOf(t, e), c), e}
}

// authorityOf writes the certificate that the emulator's clients trust into a file.
func authorityOf(t *testing.T, e *sandboxtest.ACAS) string {
	t.Helper()
	resp, err := e.Client(t).Get(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	chain := resp.TLS.VerifiedChains[0]
	return write(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain[len(chain)-1].Raw}))
}

// sent is how often an operation was asked for.
func (e *emulated) sent(op wire.Op) int {
	n := 0
	for _, x := range e.Requests() {
		if x.Operation == op.String() {
			n++
		}
	}
	return n
}

func TestTheCommandsWorkAgainstOurEmulator(t *testing.T) {
	t.Parallel()
	operate(t, newEmulated(t).operated)
}

func TestReapGoesByWhenTheEmulatorMadeASandbox(t *testing.T) {
	t.Parallel()
	e := newEmulated(t)
	old := e.sandboxOf(t, wire.Labels{"run": "42"})
	if err := e.clock.Sleep(t.Context(), 3*time.Hour); err != nil {
		t.Fatal(err)
	}
	young := e.sandboxOf(t, wire.Labels{"run": "42"})
	got := e.run(t, "reap", "--older-than", "2h")
	if left := e.sandboxes(t); got.code != cli.ExitAllowed || !slices.Equal(left, []string{young}) || !strings.Contains(got.stdout, old) {
		t.Errorf("exit code %d, %q are left\n%s", got.code, left, got.both())
	}
}

// onEmulator are the commands, each with the operations that it rests on and what a
// fault of them may have to be looked for.
var onEmulator = []struct {
	op   wire.Op
	args []string
}{
	{wire.SandboxList, []string{"ls"}},
	{wire.SandboxList, []string{"reap", "--older-than", "0s"}},
	{wire.SandboxDelete, []string{"reap", "--older-than", "0s"}},
	{wire.SandboxGet, []string{"reap", "--older-than", "0s"}},
	{wire.ImagePublicList, []string{"image", "catalogue"}},
	{wire.ImageList, []string{"image", "ls"}},
	{wire.ImageList, []string{"image", "import", reference}},
	{wire.ImageCreate, []string{"image", "import", reference}},
	{wire.ImageGet, []string{"image", "import", reference}},
}

func TestFaultsOfTheEmulatorThatPassChangeNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{
		"status=429,retry-after=7", "status=500", "status=503,body=html", "status=403,body=empty", "drop=before", "drop=after", "drop=mid", "truncate=1",
	} {
		for _, c := range onEmulator {
			e := newEmulated(t)
			e.sandboxOf(t, nil)
			e.Fault(t, fault+",times=1,op="+c.op.String())
			got := e.run(t, c.args...)
			if got.code != cli.ExitAllowed {
				t.Errorf("%s of %s in %q: exit code %d\n%s", fault, c.op, c.args, got.code, got.both())
			}
			e.ClearFaults()
			if c.args[0] == "reap" && len(e.sandboxes(t)) > 0 || len(e.images(t)) > 1 {
				t.Errorf("%s of %s in %q: %q and %+v are left", fault, c.op, c.args, e.sandboxes(t), e.images(t))
			}
		}
	}
}

func TestFaultsOfTheEmulatorThatStayAreErrors(t *testing.T) {
	t.Parallel()
	for fault, codes := range map[string][]int{
		"status=403,body=empty": {cli.ExitRefused}, "token=reject": {cli.ExitRefused},
		"status=500":                                 {cli.ExitBadInput, cli.ExitUnfinished},
		"status=429,retry-after=7200":                {cli.ExitBadInput, cli.ExitUnfinished},
		"status=307,location=https://evil.example/x": {cli.ExitBadInput, cli.ExitUnfinished},
		"drop=before":                                {cli.ExitBadInput, cli.ExitUnfinished},
		"truncate=1":                                 {cli.ExitBadInput, cli.ExitUnfinished},
	} {
		for _, c := range onEmulator {
			if c.op == wire.SandboxGet {
				continue // a deletion that nobody can see the end of: below
			}
			if fault == "truncate=1" && (c.op == wire.SandboxDelete || c.op == wire.ImageCreate) {
				continue // what was done is found by looking
			}
			e := newEmulated(t)
			id := e.sandboxOf(t, nil)
			e.Fault(t, fault+",op="+c.op.String())
			got := e.run(t, c.args...)
			if !slices.Contains(codes, got.code) {
				t.Errorf("%s of %s in %q: exit code %d\n%s", fault, c.op, c.args, got.code, got.both())
			}
			if c.op == wire.SandboxDelete && !strings.Contains(got.stdout, id) {
				t.Errorf("%s of %s in %q does not name the sandbox\n%s", fault, c.op, c.args, got.both())
			}
		}
	}
	e := newEmulated(t)
	id := e.sandboxOf(t, nil)
	e.Fault(t, "status=500,op="+wire.SandboxGet.String())
	if got := e.run(t, "reap", "--older-than", "0s"); got.code != cli.ExitUnfinished || !strings.Contains(got.stdout, "not seen gone  "+id) {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
}

func TestImportsOnTheEmulatorEndInEachWay(t *testing.T) {
	t.Parallel()
	e := newEmulated(t)
	e.Fault(t, "image=fail,times=1,op="+wire.ImageCreate.String())
	got := e.run(t, "image", "import", reference)
	if got.code != cli.ExitUnfinished || !strings.Contains(got.stderr, "│ a fault that was switched on") || len(e.images(t)) != 0 {
		t.Errorf("exit code %d, %+v\n%s", got.code, e.images(t), got.both())
	}
	e.Fault(t, "image=stuck,op="+wire.ImageCreate.String())
	got = e.run(t, "image", "import", reference+".2", "--timeout", "1m")
	if got.code != cli.ExitUnfinished || len(e.images(t)) != 1 || !strings.Contains(got.stderr, "go on with\n  sandboxctl image import --group agents") {
		t.Errorf("exit code %d, %+v\n%s", got.code, e.images(t), got.both())
	}
	if n := e.sent(wire.ImageCreate); n != 2 {
		t.Errorf("%d images were asked for", n)
	}
	got = e.run(t, "image", "import", reference+".2", "--no-wait")
	if got.code != cli.ExitAllowed || e.sent(wire.ImageCreate) != 2 {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
}

func TestAGroupThatVanishesFromTheEmulatorWasNotReaped(t *testing.T) {
	t.Parallel()
	e := newEmulated(t)
	ids := []string{e.sandboxOf(t, nil), e.sandboxOf(t, nil), e.sandboxOf(t, nil)}
	var vanished atomic.Bool
	e.clock.sleeping = func() { // the reaper waits for its deletions to end
		if vanished.CompareAndSwap(false, true) {
			if err := e.client.DeleteGroup(t.Context(), e.ID(), acasapi.Wait{}); err != nil {
				t.Error(err)
			}
		}
	}
	got := e.run(t, "reap", "--older-than", "0s")
	if got.code != cli.ExitUnfinished || !strings.Contains(got.stderr, "the service knows no such group any more") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	for _, id := range ids {
		if !strings.Contains(got.stdout, "not seen gone  "+id) {
			t.Errorf("%s is called gone\n%s", id, got.stdout)
		}
	}
}
