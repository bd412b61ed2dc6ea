package launch

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/cgroup"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/gvisor"
)

// groups makes cgroups for sandboxes as a host does.
func groups(t *testing.T) *cgroup.Host {
	t.Helper()
	place, err := cgroup.Find("")
	if err != nil {
		missing(t, "needs cgroups: "+err.Error())
	}
	h := place.Host("test-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatUint(uint64(hosts.Add(1)), 10))
	if err := h.Make(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Remove(ctx); err != nil {
			t.Error(err)
		}
	})
	return h
}

var hosts atomic.Uint32

// bounded is a sandbox in a cgroup of its own.
func bounded(t *testing.T, g *GVisor, h *cgroup.Host, name string, memory int64) (*running, *cgroup.Group) {
	t.Helper()
	req := plain(t)
	group, err := h.New(t.Context(), name, cgroup.Limits{MemoryBytes: memory, Processes: gvisor.HostProcesses(req.Limits.Processes)})
	if err != nil {
		t.Fatal(err)
	}
	req.Group = group
	return launched(t, g, req), group
}

// endsAlone runs what must end its sandbox by the memory limit, and nobody else's.
func endsAlone(t *testing.T, script string) {
	t.Helper()
	g, h := realGVisor(t), groups(t)
	victim, group := bounded(t, g, h, "victim", 128<<20)
	neighbour, _ := bounded(t, g, h, "neighbour", 128<<20)
	victim.send(script)
	select {
	case <-victim.Done():
	case <-time.After(2 * time.Minute):
		t.Fatalf("the sandbox lives: %+v", group.Events())
	}
	if group.Events().MemoryKills == 0 {
		t.Errorf("the sandbox ended, and not by its memory limit: %+v", group.Events())
	}
	if out, code := neighbour.run("echo well"); out != "well\n" || code != 0 {
		t.Errorf("the neighbour says %q, exit %d", out, code)
	}
	if left, err := group.Members(); err != nil || len(left) != 0 {
		t.Errorf("still in the victim's cgroup: %v %v", left, err)
	}
}

func TestGVisorMemoryBombEndsItsSandboxAlone(t *testing.T) {
	t.Parallel()
	endsAlone(t, `for i in 1 2 3 4 5 6; do tail /dev/zero & done; wait`)
}

func TestGVisorInodeBombEndsItsSandboxAlone(t *testing.T) {
	t.Parallel()
	// gVisor takes no inode limit from a bundle; each inode is its kernel's memory.
	endsAlone(t, `python3 -c '
import itertools, os
for n in itertools.count(): os.mknod("/work/%d" % n)'`)
}

func TestGVisorFilesEndAtTheirSize(t *testing.T) {
	t.Parallel()
	r, _ := bounded(t, realGVisor(t), groups(t), "one", 1<<30)
	for _, dir := range []string{"/tmp", "/dev/shm", "/work"} {
		out, code := r.run("head -c 100000000 /dev/zero >" + dir + "/fill; e=$?; rm " + dir + "/fill; exit $e")
		if code == 0 || !strings.Contains(out, "No space left") && !strings.Contains(out, "File size limit") {
			t.Errorf("%s takes 100 MB: %q, exit %d", dir, out, code)
		}
	}
	for _, dir := range []string{"/", "/dev", "/sys", "/proc", "/run", "/etc", "/usr", "/var"} {
		if out, code := r.run("head -c 1 /dev/zero >" + dir + "/fill"); code == 0 {
			t.Errorf("%s can be written to: %q", dir, out)
		}
	}
}

func TestGVisorProcessesEndAtTheirLimit(t *testing.T) {
	t.Parallel()
	r, _ := bounded(t, realGVisor(t), groups(t), "one", 1<<30)
	out, code := r.run(`python3 -c '
import os, signal, threading, time
children = []
try:
    while True:
        child = os.fork()
        if child == 0: signal.pause()
        children.append(child)
except BlockingIOError: pass
try: threading.Thread(target=time.sleep, args=(0,)).start(); print("a thread")
except RuntimeError: pass
for child in children: os.kill(child, 9); os.waitpid(child, 0)
print(len(children))'`)
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || code != 0 || n < 10 || n >= 64 {
		t.Errorf("of 64 processes %d are for one program: %q, exit %d, %v", n, out, code, err)
	}
	if out, code := r.run("echo well"); out != "well\n" || code != 0 {
		t.Errorf("afterwards: %q, exit %d", out, code)
	}
}

func TestGVisorForkBombStaysInItsSandbox(t *testing.T) {
	t.Parallel()
	g, h := realGVisor(t), groups(t)
	bomb, group := bounded(t, g, h, "bomb", 1<<30)
	neighbour, _ := bounded(t, g, h, "neighbour", 128<<20)
	// Every process forks for three seconds, and the guest's shell outlives them.
	bomb.send(`python3 -c '
import os, time
end = time.monotonic() + 3
while time.monotonic() < end:
    try: os.fork()
    except BlockingIOError: pass'; echo over`)
	if out, code := neighbour.run("echo well"); out != "well\n" || code != 0 {
		t.Errorf("the neighbour says %q, exit %d", out, code)
	}
	if out, code := bomb.receive(); out != "over\n" || code != 0 {
		t.Errorf("the bomb's shell says %q, exit %d", out, code)
	}
	// The host's own limit is there for a gVisor that does not hold, and is not
	// reached by one that does.
	if e := group.Events(); e.ForksRefused != 0 || e.MemoryKills != 0 {
		t.Errorf("the host's limits had to act: %+v", e)
	}
}
