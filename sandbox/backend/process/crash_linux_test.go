package process

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// crashHost makes, uses and removes sandboxes until it is killed.
func crashHost(stateDir string) {
	c := Config{StateDir: stateDir}
	if runsc := os.Getenv(withGVisor); runsc != "" {
		c.Runtime, c.Runsc = RuntimeGVisor, runsc
	}
	if os.Geteuid() == 0 {
		first, _ := strconv.Atoi(os.Getenv(asCrashHost + "_USERS"))
		c.Users = Users{First: uint32(first), Count: 1000}
	}
	e, _, err := NewEngine(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("serving")
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := 0; ; i++ {
				req := engine.StartRequest{Name: fmt.Sprintf("w%d-%d", w, i), WorkDir: "/work"}
				if i%2 == 0 {
					req.Egress = opened()
					req.Egress.Mode = sandbox.EgressAllowlist
				}
				s, err := e.Start(context.Background(), req)
				if err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
				run := func(args ...string) {
					_, _ = runner(s.Guest).Exec(context.Background(), engine.ExecRequest{Args: args, Dir: "/work"})
				}
				run("/bin/sh", "-c", "setsid sleep 3600 & exit 0")
				if i%3 != 0 {
					_ = e.Delete(context.Background(), s.Guest.ID())
				}
			}
		})
	}
	workers.Wait()
}

func TestWhatAKilledHostLeftIsGoneWhenTheNextOneStarts(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	moments, longest := 20, 200*time.Millisecond
	if c.Runtime == RuntimeGVisor { // whose hosts take longer to start
		moments, longest = 5, 2*time.Second
	}
	for i := range moments {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Env = append(os.Environ(), asCrashHost+"="+c.StateDir, asCrashHost+"_USERS="+strconv.Itoa(int(c.Users.First)))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i%4 != 0 { // the others die while they start
			line := make([]byte, 64)
			if n, err := out.Read(line); err != nil || !strings.HasPrefix(string(line[:n]), "serving") {
				t.Fatalf("the host said %q, %v", line[:n], err)
			}
		}
		timer := time.NewTimer(time.Duration(rand.Int64N(int64(longest))))
		<-timer.C
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		groups := append(groupsOf(t, c.StateDir), socketsOf(t, c.StateDir)...)

		e, _, err := NewEngine(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for pid, uid := range processUsers(t) {
			if c.Users.Count > 0 && uid >= c.Users.First && uid < c.Users.First+c.Users.Count {
				line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
				t.Errorf("process %d of user %d still runs: %q", pid, uid, line)
			}
		}
		start(t, e, "next").alive()
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		nothingLeft(t, c)
		for _, group := range groups {
			if _, err := os.Stat(group); err == nil {
				t.Errorf("%s is left", group)
			}
		}
	}
}

// groupsOf finds the cgroups of the hosts that a state directory knows.
func groupsOf(t *testing.T, stateDir string) []string {
	t.Helper()
	hosts, err := filepath.Glob(stateDir + "/host-*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, host := range hosts {
		name := "sandbox-" + filepath.Base(host)
		_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == name {
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}
