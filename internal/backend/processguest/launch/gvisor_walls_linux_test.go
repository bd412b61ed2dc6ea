package launch

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestGVisorGuestFindsNothingOfTheHost(t *testing.T) {
	t.Parallel()
	g := realGVisor(t)
	canary := filepath.Join(g.Dir, "canary")
	if err := os.WriteFile(canary, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(canary) //nolint:errcheck // the launcher's directory is looked over when the test ends
	r := launched(t, g, plain(t))
	for _, path := range []string{canary, g.Dir, "/root", "/home", "/var", "/run/agent", "/etc/shadow", "/etc/hostname", "/proc/kcore", "/dev/vda", "/dev/kvm"} {
		if out, code := r.run("ls -d " + path); code == 0 {
			t.Errorf("the guest sees %s: %q", path, out)
		}
	}
	for script, want := range map[string]string{
		"ls /proc | grep -c '^[0-9]'":       "4\n",          // process 1, the shell, ls, grep
		"tr '\\0' '\\n' </proc/1/environ":   "HOME=/work\n", // runsc's addition
		"grep -c : /proc/net/dev":           "1\n",
		"grep CapBnd /proc/1/status":        "CapBnd:\t0000000000000000\n",
		"grep NoNewPrivs /proc/1/status":    "NoNewPrivs:\t1\n",
		"grep '^Seccomp:' /proc/1/status":   "Seccomp:\t2\n",
		"ls -l /proc/1/fd | grep -c host:":  "3\n",
		"cat /proc/1/comm | tr -d '0-9'":    "host:[]\n",
		"cat /proc/mounts | grep -c ext4":   "0\n",
		"ls -A /work /tmp /dev/shm | wc -l": "5\n", // three names and two empty lines
	} {
		if got, _ := r.run(script); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

func TestGVisorGuestIsRefusedWhatTheProfileRefuses(t *testing.T) {
	t.Parallel()
	r := launched(t, realGVisor(t), plain(t))
	const call = `import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    return "done" if libc.syscall(number, *args) >= 0 else errno.errorcode[ctypes.get_errno()]
`
	amd64 := map[string]string{
		"print(call(165, b'none', b'/work', b'tmpfs', 0, 0))":              "EPERM", // mount
		"print(call(430, b'tmpfs', 0))":                                    "EPERM", // fsopen
		"print(call(272, 0x10000000))":                                     "EPERM", // unshare(CLONE_NEWUSER)
		"print(call(56, 0x10000000 | 17, 0, 0, 0, 0))":                     "EPERM", // clone(CLONE_NEWUSER)
		"print(call(101, 16, 1, 0, 0))":                                    "EPERM", // ptrace
		"print(call(321, 0, 0, 0))":                                        "EPERM", // bpf
		"print(call(425, 1, 0))":                                           "EPERM", // io_uring_setup
		"print(call(161, b'/work'))":                                       "EPERM", // chroot
		"print(call(302, 1, 7, 0, 0))":                                     "EPERM", // prlimit64 of process 1
		"print(call(302, 0, 7, 0, 0))":                                     "done",  // prlimit64 of itself
		"print(call(141, 0, 1, 5))":                                        "EPERM", // setpriority of process 1
		"print(call(16, 0, 0x5412, b'x'))":                                 "EPERM", // ioctl(TIOCSTI)
		"print(call(39))":                                                  "done",  // getpid
		"print([f for f in range(46) if call(41, f, 1, 0) == 'done'])":     "[1, 2, 10]",
		"print([f for f in range(46) if call(41, f, 3, 0) == 'done'])":     "[1, 16]", // raw, netlink
		"print([p for p in range(32) if call(41, 16, 3, p) == 'done'])":    "[0]",     // netlink protocols
		"import threading; t = threading.Thread(); t.start(); print('ok')": "ok",      // clone3
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the numbers are those of amd64")
	}
	for script, want := range amd64 {
		if got, code := r.run("python3 - <<'END'\n" + call + script + "\nEND"); strings.TrimSpace(got) != want || code != 0 {
			t.Errorf("%s: %q, exit %d; want %q", script, got, code, want)
		}
	}
}
