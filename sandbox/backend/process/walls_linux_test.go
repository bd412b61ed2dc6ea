package process

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/guestroot"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/seccomp"
)

// probeFile names a probe that was built already, for users who cannot.
const probeFile = "PROCESS_TEST_PROBE"

// probe builds the hostile guest.
func probe(t *testing.T) string {
	t.Helper()
	if built := os.Getenv(probeFile); built != "" {
		return built
	}
	out := filepath.Join(openDir(t), "probe")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", out, "./testdata/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func withProbe(t *testing.T) box {
	t.Helper()
	e := newEngine(t, testConfig(t))
	b := start(t, e, "a")
	b.upload("/tmp/probe", probe(t))
	return b
}

func TestTheHostsSecretsAndTheAgentsChannelAreOutOfReach(t *testing.T) {
	t.Parallel()
	b := withProbe(t)
	backwards := []byte(secret)
	slices.Reverse(backwards)
	got := b.prints("/tmp/probe secret '" + string(backwards) + "'")
	if programsAreRoot() { // who may open what the kernel then tells to nobody
		got = strings.NewReplacer("opened stack", "", "opened syscall", "", "opened personality", "", "opened map_files", "", "\n", "").Replace(got)
	}
	if got != "" {
		t.Errorf("%s", got)
	}
	// In gVisor their numbers can be read, and by a guest's root, and none opened.
	if got = b.prints("/tmp/probe descriptors"); got != "" && (got != "listed" || !inGVisor(b.engine) && !programsAreRoot()) {
		t.Errorf("%s", got)
	}
	if got = b.prints("env | grep -c PROCESS_TEST || true"); got != "0" {
		t.Errorf("%s variables of the host", got)
	}
	b.alive()
}

// Seen from outside, as root.
func TestTheAgentHasItsPipesAndNothingElse(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root sees an agent's descriptors")
	}
	// As left behind by whoever starts a host carelessly.
	leaked, err := unix.Open("/etc/shadow", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(leaked) }()
	e := newEngine(t, testConfig(t))
	if inGVisor(e) {
		t.Skip("process 1 is none of the host's")
	}
	b := start(t, e, "a")
	dir := "/proc/" + strconv.Itoa(b.sandbox.PID)
	files, err := os.ReadDir(dir + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		to, err := os.Readlink(dir + "/fd/" + f.Name())
		if err != nil || to != "/" && !strings.HasPrefix(to, "pipe:") && !strings.HasPrefix(to, "anon_inode:") {
			t.Errorf("descriptor %s is %s, %v", f.Name(), to, err)
		}
	}
	environ, err := os.ReadFile(dir + "/environ")
	if err != nil || string(environ) != "PWD=/work\x00" && (b.root == nil || string(environ) != "PWD=/\x00") {
		t.Errorf("environment %q, %v", environ, err)
	}
	if line, err := os.ReadFile(dir + "/cmdline"); err != nil || string(line) != "/run/agent\x00" {
		t.Errorf("command line %q, %v", line, err)
	}
	status, err := statusOf(b.sandbox.PID)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Repeat(strconv.Itoa(int(b.user.id))+"\t", 4)
	if status["Uid"]+"\t" != own || status["Gid"]+"\t" != own || status["Groups"] != "" {
		t.Errorf("it is user %s, group %s, groups %q", status["Uid"], status["Gid"], status["Groups"])
	}
}

func TestEveryCallOutsideTheProfileIsRefusedInTheGuest(t *testing.T) {
	t.Parallel()
	b := withProbe(t)
	info, err := arch.GetInfo(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	named := map[int]bool{}
	for _, rule := range seccomp.Rules() {
		for _, name := range rule.Names {
			if n, ok := info.SyscallNames[name]; ok {
				named[n] = true
			}
		}
	}
	var numbers []string
	for n := range 600 {
		// The kernel itself answers these two, past any filter, with a signal to
		// whoever is no probe of its own.
		own := strings.HasPrefix(info.SyscallNumbers[n], "uretprobe") || runtime.GOARCH == "amd64" && n == 336
		if !named[n] && !own {
			numbers = append(numbers, strconv.Itoa(n))
		}
	}
	if runtime.GOARCH == "amd64" {
		for n := range 600 { // the x32 interface
			numbers = append(numbers, strconv.Itoa(0x40000000|n))
		}
	}
	answers := strings.Split(b.prints("/tmp/probe calls "+strings.Join(numbers, " ")), "\n")
	if len(answers) != len(numbers) {
		t.Fatalf("%d answers to %d calls", len(answers), len(numbers))
	}
	for _, answer := range answers {
		number, errno, _ := strings.Cut(answer, " ")
		n, _ := strconv.Atoi(number)
		if inGVisor(b.engine) && info.SyscallNumbers[n] == "clone3" {
			continue // it is the only way to make a thread where nothing can say that there is no such call
		}
		if errno != "1" && errno != "38" {
			t.Errorf("call %s (%s): error %s", number, info.SyscallNumbers[n], errno)
		}
	}
	if got := b.prints("/tmp/probe old || echo killed"); got != "-38" && got != "killed" && (got != "-1" || !inGVisor(b.engine)) {
		t.Errorf("a 32-bit call answers %s", got)
	}
	b.alive()
}

func TestOnlyTheAllowedSocketFamiliesExistInTheGuest(t *testing.T) {
	t.Parallel()
	b := withProbe(t)
	seen := map[string]bool{}
	for line := range strings.Lines(b.prints("/tmp/probe families")) {
		fields := strings.Fields(line)
		seen[fields[0]] = true
		if !slices.Contains([]string{"1", "2", "10", "16"}, fields[0]) || fields[0] == "16" && fields[2] != "0" {
			t.Errorf("a socket of family, type and protocol %s", line)
		}
	}
	if !seen["1"] || !seen["2"] {
		t.Errorf("families %v", seen)
	}
}

func TestNewNamespacesAndMountsAreRefused(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	b := start(t, e, "a")
	for _, command := range []string{
		"unshare -U true", "unshare -r true", "unshare -m true", "unshare -n true", "unshare -p -f true",
		"mount -t tmpfs x /tmp", "mount -o remount,rw /", "mount --bind /tmp /usr", "umount /tmp", "chroot /usr /bin/true", "mknod /tmp/sda b 8 0", "hostname x",
	} {
		if out, code := b.sh(command); code == 0 {
			t.Errorf("%s worked: %s", command, out)
		}
	}
}

func TestOnlyItsOwnMemoryIsWritable(t *testing.T) {
	t.Parallel()
	b := withProbe(t)
	got := strings.Split(b.prints("/tmp/probe writable 2>/dev/null"), "\n")
	slices.Sort(got)
	if !slices.Equal(got, []string{"wrote /dev/shm", "wrote /tmp", "wrote /work"}) {
		t.Errorf("%q", got)
	}
	for line := range strings.Lines(b.prints("cat /proc/self/mountinfo")) {
		fields := strings.Fields(line)
		point, options := fields[4], strings.Split(fields[5], ",")
		if !slices.Contains(options, "nosuid") && (point != "/" || !inGVisor(b.engine)) { // where runsc takes no options
			t.Errorf("%s is mounted %s", point, fields[5])
		}
		device := strings.HasPrefix(point, "/dev/") && point != "/dev/shm" || strings.HasPrefix(point, "/proc/")
		own := slices.Contains([]string{"/work", "/tmp", "/dev/shm", "/proc"}, point)
		if !own && !device && !slices.Contains(options, "ro") {
			t.Errorf("%s is mounted %s", point, fields[5])
		}
	}
}

func TestCanariesOfTheHostAreOutOfSight(t *testing.T) {
	t.Parallel()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, testConfig(t))
	b := start(t, e, "a")
	for _, dir := range []string{home, filepath.Dir(t.TempDir()), "/tmp", "/run", "/var/tmp", "/dev/shm", e.host.stateDir} {
		canary := filepath.Join(dir, "sandbox-canary-"+strconv.Itoa(os.Getpid()))
		if os.WriteFile(canary, []byte("canary"), 0o644) != nil {
			continue // not this user's to write
		}
		t.Cleanup(func() { _ = os.Remove(canary) })
		if got, code := b.sh("cat " + canary); code == 0 {
			t.Errorf("%s reads %q", canary, got)
		}
		socket := canary + ".sock"
		l, err := net.Listen("unix", socket)
		if err != nil {
			continue // its path is too long
		}
		t.Cleanup(func() { _ = l.Close() })
		if _, code := b.sh("test -e " + socket); code == 0 {
			t.Errorf("%s is there", socket)
		}
	}
	for _, place := range []string{"/root", "/home", "/var", "/sys", "/boot", "/mnt", "/opt", "/srv", "/etc/shadow", "/etc/hostname", "/etc/resolv.conf", "/run/dbus"} {
		if inGVisor(e) && place == "/sys" {
			place = "/sys/kernel" // it is covered
		}
		if b.root != nil && guestroot.Has(place) {
			continue // the guest's own
		}
		if _, code := b.sh("test -e " + place); code == 0 {
			t.Errorf("%s is there", place)
		}
	}
	if got := b.prints("ls -d /run; ls -A /etc/passwd; hostname; cat /proc/sys/kernel/hostname"); got != "/run\n/etc/passwd\nsandbox\nsandbox" {
		t.Errorf("%q", got)
	}
	if got := b.prints("ls -d /proc/[0-9]* | wc -l"); got > "6" || len(got) > 1 {
		t.Errorf("%s processes can be seen", got)
	}
}

func TestThereIsNoNetwork(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	b := start(t, e, "a")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, to := range []string{"127.0.0.1/" + port, "192.0.2.1/80", "169.254.169.254/80"} {
		if _, code, err := b.try(t.Context(), "/bin/bash", "-c", "exec 3<>/dev/tcp/"+to); err != nil || code == 0 {
			t.Errorf("connected to %s, %v", to, err)
		}
	}
	if got := b.prints("cat /proc/net/dev | tail -n +3 | cut -d: -f1"); got != "lo" {
		t.Errorf("interfaces %q", got)
	}
}

func TestTheGuestCannotHurtItsAgent(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	b := start(t, e, "a")
	id := b.ID()
	signals := "$(seq 1 64)"
	if inGVisor(e) { // which lets those through to process 1 that it cannot catch
		signals = "$(seq 1 8) $(seq 10 18) $(seq 20 31) $(seq 35 64)"
	}
	for range 3 {
		b.sh("for n in " + signals + "; do kill -$n 1; done 2>/dev/null")
		b.sh("kill -9 -1 2>/dev/null") // everything that the shell may signal, itself included
	}
	for _, command := range []string{
		"prlimit --pid 1 --nofile=3:3", "prlimit --pid 1 --as=1:1", "renice -n 19 -p 1", "ionice -c 3 -p 1", "chrt -i -p 0 1", "taskset -p 1 1", "gdb -p 1 -batch", "strace -p 1",
	} {
		if out, code := b.sh(command); code == 0 {
			t.Errorf("%s worked: %s", command, out)
		}
	}
	for _, command := range []string{"prlimit --nofile=100:100 true", "nice -n 5 true", "ulimit -n 50; true"} { // of its own it may
		b.prints(command)
	}
	b.alive()
	if b.lost() || b.ID() != id {
		t.Error("the agent was lost")
	}
	if inGVisor(e) { // a guest can end its own sandbox, and nothing else
		if _, _, err := b.try(t.Context(), "/bin/sh", "-c", "kill -9 1; sleep 1000"); !isGone(err) {
			t.Errorf("a sandbox without its agent: %v", err)
		}
	}
}

func TestAMemoryBombDuringATransferHurtsOneSandboxAtMost(t *testing.T) {
	t.Parallel()
	e := limited(t)
	neighbour, b := start(t, e, "neighbour"), start(t, e, "a")
	b.upload("/tmp/probe", probe(t))
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _, _ = b.try(t.Context(), "/tmp/probe", "memory") // whatever becomes of it
	}()
	content := strings.Repeat("x", 8<<20)
	for running := true; running; {
		err := b.Write(t.Context(), b.ref("/work/x"), strings.NewReader(content), int64(len(content)))
		if err == nil {
			// What the agent said was written is there, unless the sandbox was lost.
			i, err := b.Stat(t.Context(), b.ref("/work/x"))
			if err == nil && i.Size != int64(len(content)) {
				t.Errorf("%+v", i)
			}
		}
		select {
		case <-over:
			running = false
		default:
		}
		running = running && !b.lost()
	}
	neighbour.alive()
}
