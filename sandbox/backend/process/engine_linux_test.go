package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestASandboxIsMadeOnceAndAdoptedAfterwards(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	labels := map[string]string{"a": "1", "b": "2"}
	req := engine.StartRequest{Name: "one", WorkDir: "/work", Labels: labels}
	first, err := e.Start(t.Context(), req)
	if err != nil || first.Origin != sandbox.OriginCreated {
		t.Fatal(first.Origin, err)
	}
	again, err := e.Start(t.Context(), engine.StartRequest{Name: "one", WorkDir: "/other"})
	if err != nil || again.Origin != sandbox.OriginAdopted || again.Guest.ID() != first.Guest.ID() || again.Labels["b"] != "2" {
		t.Fatal(again, err)
	}
	for match, want := range map[string]int{"1": 1, "9": 0} {
		found, err := e.List(t.Context(), map[string]string{"a": match})
		if err != nil || len(found) != want {
			t.Errorf("a=%s: %v, %v", match, found, err)
		}
	}
	if err := e.Delete(t.Context(), first.Guest.ID()); err != nil {
		t.Fatal(err)
	}
	if err := e.Delete(t.Context(), first.Guest.ID()); err != nil {
		t.Errorf("a second delete: %v", err)
	}
	if found, err := e.List(t.Context(), nil); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
	if _, _, err := boxOf(t, first.Guest).try(t.Context(), "/bin/true"); !isGone(err) {
		t.Errorf("a program in a deleted sandbox: %v", err)
	}
	next, err := e.Start(t.Context(), req)
	if err != nil || next.Origin != sandbox.OriginCreated || next.Guest.ID() == first.Guest.ID() {
		t.Error(next, err)
	}
}

func TestFilesStayBetweenProgramsAndGoWithTheSandbox(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	a := start(t, e, "a")
	if err := a.Write(t.Context(), a.ref("/work/in"), strings.NewReader("abc"), 3); err != nil {
		t.Fatal(err)
	}
	if got := a.prints("cat in; echo def > out; cat out"); got != "abcdef" {
		t.Errorf("%q", got)
	}
	b := start(t, e, "b")
	if got := b.prints("ls -A /work /tmp /dev/shm | grep -v : || true"); strings.TrimSpace(got) != "" {
		t.Errorf("a new sandbox holds %q", got)
	}
}

func TestRuntimesWorkUnderTheFilter(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	b := start(t, e, "a")
	for tool, c := range map[string]struct{ command, want string }{
		"python3": {`python3 -c 'import threading, subprocess, socket, json, asyncio, multiprocessing as m
socket.socket(); s = socket.socketpair(); t = threading.Thread(target=print, args=("t",)); t.start(); t.join()
print(subprocess.run(["echo", "42"], capture_output=True).stdout.decode().strip(), m.Pool(2).map(abs, [-1]))'`, "t\n42 [1]"},
		"node":    {`node -e 'require("fs").writeFileSync("x", "42"); require("child_process").exec("cat x", (e, o) => console.log(o))'`, "42"},
		"java":    {`echo 'public class A { public static void main(String[] a) { System.out.println(6 * 7); } }' > A.java; java -Xmx128m A.java`, "42"},
		"git":     {`git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log --format=%s`, "x"},
		"gcc":     {`echo 'int main(void) { return 7; }' > a.c && gcc a.c && ./a.out || echo $?`, "7"},
		"busybox": {`busybox sh -c 'echo 42 | busybox sed s/4/1/'`, "12"},
	} {
		if _, err := os.Stat("/usr/bin/" + tool); err != nil {
			t.Logf("%s is not on this machine", tool)
			continue
		}
		if got := b.prints(c.command); got != c.want {
			t.Errorf("%s: %q", tool, got)
		}
	}
}

func TestLosingTheAgentEndsTheSandbox(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	b := start(t, e, "a")
	running := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		_, err := b.Exec(t.Context(), engine.ExecRequest{
			Args: []string{"/bin/sh", "-c", "echo on; exec sleep 3600"}, Dir: "/work", Stdout: closing(begun),
		})
		running <- err
	}()
	<-begun
	if err := unix.Kill(b.sandbox.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-running; !isGone(err) {
		t.Errorf("the program that ran: %v", err)
	}
	<-b.sandbox.Done()
	next, err := e.Start(t.Context(), engine.StartRequest{Name: "a", WorkDir: "/work"})
	if err != nil || next.Origin != sandbox.OriginCreated || next.Guest.ID() == b.ID() {
		t.Fatal(next.Origin, err)
	}
	if _, _, err := b.try(t.Context(), "/bin/true"); !isGone(err) {
		t.Errorf("a program in the lost sandbox: %v", err)
	}
	boxOf(t, next.Guest).alive()
}

// closing closes itself at the first write.
type closing chan struct{}

func (c closing) Write(p []byte) (int, error) {
	select {
	case <-c:
	default:
		close(c)
	}
	return len(p), nil
}

// Linux ends children with the thread that made them.
func TestASandboxOutlivesTheThreadThatAskedForIt(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	started := make(chan engine.Started, 1)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends here
		s, err := e.Start(context.Background(), engine.StartRequest{Name: "a", WorkDir: "/work"})
		if err != nil {
			t.Error(err)
		}
		started <- s
	}()
	s := <-started
	if s.Guest == nil {
		return
	}
	for range 20 {
		done := make(chan struct{})
		go func() { runtime.LockOSThread(); close(done) }()
		<-done
	}
	boxOf(t, s.Guest).alive()
}

func TestWhatCannotBeServedIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	for name, req := range map[string]engine.StartRequest{
		"image":         {WorkDir: "/work", Image: sandbox.Image{Reference: "example.com/a"}},
		"network":       {WorkDir: "/work", Egress: sandbox.Egress{Mode: sandbox.EgressUnrestricted}},
		"windows":       {WorkDir: "/work", OSFamily: sandbox.OSFamilyWindows},
		"root":          {WorkDir: "/"},
		"usr":           {WorkDir: "/usr"},
		"below usr":     {WorkDir: "/usr/work"},
		"above etc":     {WorkDir: "/etc"},
		"proc":          {WorkDir: "/proc/1"},
		"agent":         {WorkDir: "/run"},
		"below shm":     {WorkDir: "/dev/shm/work"},
		"not clean":     {WorkDir: "/work/../usr"},
		"not absolute":  {WorkDir: "work"},
		"the link /bin": {WorkDir: "/bin"},
	} {
		req.Name = strings.ReplaceAll(name, " ", "-")
		if _, err := e.Start(t.Context(), req); err == nil {
			t.Errorf("%s is served", name)
		}
	}
	for _, dir := range []string{"/work", "/maf-sandbox/work", "/tmp/work", "/home/user/project", "/srv"} {
		s, err := e.Start(t.Context(), engine.StartRequest{Name: "a", WorkDir: dir, OSFamily: sandbox.OSFamilyPOSIX})
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		b := boxOf(t, s.Guest)
		if err := b.Write(t.Context(), b.ref(dir+"/x"), strings.NewReader("x"), 1); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if err := e.Delete(t.Context(), b.ID()); err != nil {
			t.Error(err)
		}
	}
}

// A context ends at ever later moments of the making.
func TestACancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	began := time.Now()
	start(t, e, "warm")
	whole := time.Since(began)
	made := 0
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), whole*time.Duration(i)/25)
		s, err := e.Start(ctx, engine.StartRequest{Name: "a", WorkDir: "/work"})
		cancel()
		switch {
		case err == nil:
			made++
			boxOf(t, s.Guest).alive()
			if err := e.Delete(t.Context(), s.Guest.ID()); err != nil {
				t.Fatal(err)
			}
		case !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("%v", err)
		}
		if found, err := e.List(t.Context(), nil); err != nil || len(found) != 1 {
			t.Fatalf("%v, %v", found, err)
		}
	}
	t.Logf("%d of 40 were made", made)
}

func TestCloseEndsSandboxesAlsoThoseBeingMade(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	e, _, err := NewEngine(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, e, "a")
	var making sync.WaitGroup
	for _, name := range []string{"b", "c", "d"} {
		making.Go(func() {
			_, err := e.Start(context.Background(), engine.StartRequest{Name: name, WorkDir: "/work"})
			if err != nil && !isGone(err) {
				t.Error(err)
			}
		})
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	making.Wait()
	<-b.sandbox.Done()
	if _, err := e.Start(t.Context(), engine.StartRequest{Name: "e", WorkDir: "/work"}); !isGone(err) {
		t.Errorf("a start afterwards: %v", err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Errorf("a second close: %v", err)
	}
	nothingLeft(t, c)
}

func TestTheProbesDeclarationsKeepWhatPlansDecideWith(t *testing.T) {
	t.Parallel()
	report, err := Probe(t.Context(), testConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := facts.Lookup(Name)
	if err != nil {
		t.Fatal(err)
	}
	d := report.Declarations
	if !d.Isolation.Meets(shipped.Isolation) || d.IsolationEvidence.Kind != sandbox.EvidenceProbed || *d.Capabilities != *shipped.Capabilities ||
		d.EgressModes != shipped.EgressModes || len(d.Guarantees) != len(shipped.Guarantees) {
		t.Errorf("%+v", d)
	}
	names := []string{}
	for _, c := range report.Checks {
		names = append(names, c.Name)
		if !c.Held && c.Remedy == "" {
			t.Errorf("%s did not hold, and there is no word on what to do", c.Name)
		}
	}
	for _, want := range []string{"user", "namespaces", "seccomp filter", "capabilities", "network", "file system"} {
		if !slices.Contains(names, want) {
			t.Errorf("no check of %s in %v", want, names)
		}
	}
	t.Log(d.IsolationEvidence)
}

func TestSandboxesShareTheAgentWhereTheyCanPassToIt(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	for name, dir := range map[string]string{"open": openDir(t), "closed": t.TempDir()} {
		c.StateDir = filepath.Join(dir, "state")
		if name == "closed" {
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		e := newEngine(t, c)
		b := start(t, e, "a")
		b.alive()
		shared := b.prints("grep -c ' /run/agent ro' /proc/self/mountinfo || true")
		_, there := os.Stat(e.host.owner.Path("agent"))
		if want := name == "open" || os.Geteuid() != 0; (there == nil) != want || (shared == "1") != want {
			t.Errorf("%s: %s mounts, %v", name, shared, there)
		}
		if out, code := b.sh("echo x > /run/agent || rm -f /run/agent || mv /run/agent /tmp"); code == 0 {
			t.Errorf("%s: the agent's file was changed: %s", name, out)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestTheRungFallsWithoutCgroups(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	c.Cgroup = "/no/such/group"
	e, d, err := NewEngine(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if d.Isolation != sandbox.IsolationOSProcess || !strings.Contains(d.IsolationEvidence.Reference, "limits: ") {
		t.Errorf("%v by %v", d.Isolation, d.IsolationEvidence)
	}
	start(t, e, "a").alive()
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	nothingLeft(t, c)
}

func TestAMachineWithoutBubblewrapIsToldWhatToInstall(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"absent": "/no/such/bwrap", "something else": "/bin/true"} {
		c := Config{Users: testUsers(), StateDir: t.TempDir() + "/state", Bubblewrap: path}
		_, err := New(t.Context(), c)
		if !errors.Is(err, sandbox.CodeBackendUnfit) || !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(sandbox.RefusalOf(err).Remedy, "bubblewrap") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAGivenRootFileSystemIsAllThatIsSeen(t *testing.T) {
	t.Parallel()
	busybox, err := os.ReadFile("/usr/bin/busybox")
	need(t, err == nil, "a static busybox")
	c := testConfig(t)
	c.RootFS = openDir(t)
	for _, dir := range []string{"bin", "data", "etc", "dev", "run"} {
		if err := os.Mkdir(filepath.Join(c.RootFS, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []struct{ name, content string }{{"bin/busybox", string(busybox)}, {"data/x", "of the image"}, {"etc/passwd", "root:x:0:0::/:/bin/sh"}} {
		if err := os.WriteFile(filepath.Join(c.RootFS, f.name), []byte(f.content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("busybox", filepath.Join(c.RootFS, "bin/sh")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(c.RootFS, "dev/pipe"), 0o666); err != nil { // not shown, so no matter
		t.Fatal(err)
	}
	e := newEngine(t, c)
	b := start(t, e, "a")
	if got := b.prints("busybox cat /data/x; busybox ls / | busybox grep -vx sys | busybox tr '\\n' ' '; busybox id -un"); got != "of the image"+"bin data dev etc proc run tmp work sandbox" {
		t.Errorf("%q", got)
	}
	if _, code := b.sh("echo x > /data/y"); code == 0 {
		t.Error("the image is writable")
	}
	if err := unix.Mkfifo(filepath.Join(c.RootFS, "data/pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := NewEngine(t.Context(), c); !errors.Is(err, sandbox.CodeOptionsInvalid) {
		t.Errorf("an image with a pipe to the host in it: %v", err)
	}
}
