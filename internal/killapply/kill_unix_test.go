//go:build unix

package killapply_test

import (
	"bytes"
	"context"
	"fmt"
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

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/terraformtest"
)

// points is how often somebody is killed where nobody says more.
const points = 6

// deadline bounds one command.
const deadline = 3 * time.Minute

func TestAnApplyAfterAKilledOneMakesOneOfEach(t *testing.T) {
	t.Parallel()
	tf, random, n := begin(t)
	victims, moments := []string{"provider", "terraform"}, []moment{unseen, acted, delivered}
	for i := range n {
		at, when, victim := 1+random.IntN(tf.requests), moments[random.IntN(len(moments))], victims[i%2]
		t.Run(fmt.Sprintf("%s at request %d %s", victim, at, when), func(t *testing.T) {
			t.Parallel()
			run := tf.in(t)
			run.killed(t, victim, at, when)
			run.succeeds(t, "apply", "-auto-approve")
			run.converged(t)
		})
	}
}

// Who presses Ctrl-C is waited for, and the state has what was made until then: the
// next apply needs nothing that was written down beside it.
func TestAnInterruptedApplyKeepsInTheStateWhatItMade(t *testing.T) {
	t.Parallel()
	tf, random, n := begin(t)
	moments := []moment{unseen, acted}
	for range n {
		at, when := 1+random.IntN(tf.requests), moments[random.IntN(len(moments))]
		t.Run(fmt.Sprintf("at request %d %s", at, when), func(t *testing.T) {
			t.Parallel()
			run := tf.in(t)
			run.interrupted(t, at, when)
			if err := os.RemoveAll(filepath.Join(run.dir, ".terraform")); err != nil {
				t.Fatal(err)
			}
			run.succeeds(t, "apply", "-auto-approve")
			run.converged(t)
		})
	}
}

// begin applies once, to see how many requests that takes.
func begin(t *testing.T) (tf terraform, random *rand.Rand, n int) {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("set TF_ACC=1 to run tests through the real command line")
	}
	n, seed := number(t, "KILL_POINTS", points), number(t, "KILL_SEED", rand.Uint64()>>1)
	tf = newTerraform(t)
	whole := tf.in(t)
	whole.succeeds(t, "apply", "-auto-approve")
	tf.requests = whole.service.count()
	whole.converged(t)
	t.Logf("KILL_POINTS=%d KILL_SEED=%d; an apply makes %d requests", n, seed, tf.requests)
	return tf, rand.New(rand.NewPCG(seed, 0)), n
}

func number[N ~int | ~uint64](t *testing.T, variable string, otherwise N) N {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		t.Fatalf("%s=%s: %v", variable, text, err)
	}
	return N(n)
}

// terraform is the command line with a provider that says which process it is.
type terraform struct {
	command, program string
	// requests is how many an apply makes.
	requests int
}

func newTerraform(t *testing.T) terraform {
	t.Helper()
	return terraform{command: terraformtest.Command(t), program: filepath.Join(terraformtest.Build(t, terraformtest.Module), terraformtest.Program)}
}

// run is one directory with everything, and a service of its own.
type run struct {
	terraform

	service   *service
	dir, pids string
	env       []string
}

func (tf terraform) in(t *testing.T) *run {
	t.Helper()
	r := &run{terraform: tf, service: newService(t), dir: t.TempDir(), pids: filepath.Join(t.TempDir(), "pids")}
	for name, text := range everything(r.service, r.service.sandboxIn(t, oldGroup)) {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The program's own process takes the place of the shell that wrote its number.
	wrapped := t.TempDir()
	script := "#!/bin/sh\necho $$ >>'" + r.pids + "'\nexec '" + tf.program + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(wrapped, terraformtest.Program), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r.env = terraformtest.Overrides(t, wrapped)
	return r
}

// start starts a command.
func (r *run) start(t *testing.T, args ...string) (cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	cmd, out = exec.CommandContext(ctx, r.command, args...), &bytes.Buffer{}
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = r.dir, out, out, 10*time.Second
	cmd.Env = append(cmd.Environ(), append(r.env, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func (r *run) succeeds(t *testing.T, args ...string) {
	t.Helper()
	cmd, out := r.start(t, append(args, "-no-color")...)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// killed applies and kills the victim.
func (r *run) killed(t *testing.T, victim string, at int, when moment) {
	t.Helper()
	var running *os.Process
	started := make(chan struct{})
	var once sync.Once
	r.service.set(&trap{at: at, when: when, kill: func() {
		once.Do(func() {
			<-started
			process := running
			if victim == "provider" {
				var err error
				if process, err = r.provider(); err != nil {
					t.Error(err)
					return
				}
			}
			if err := process.Signal(syscall.SIGKILL); err != nil {
				t.Errorf("killing %s: %v", victim, err)
			}
		})
	}})
	cmd, out := r.start(t, "apply", "-auto-approve", "-no-color")
	running = cmd.Process
	close(started)
	if err := cmd.Wait(); err == nil && when != delivered {
		t.Errorf("nobody was killed:\n%s", out)
	}
	r.service.set(nil)
}

// interrupted applies and presses Ctrl-C.
func (r *run) interrupted(t *testing.T, at int, when moment) {
	t.Helper()
	var running *os.Process
	started := make(chan struct{})
	r.service.set(&trap{at: at, when: when, patient: true, kill: func() {
		<-started
		if err := running.Signal(os.Interrupt); err != nil {
			t.Errorf("interrupting: %v", err)
		}
	}})
	cmd, out := r.start(t, "apply", "-auto-approve", "-no-color")
	running = cmd.Process
	close(started)
	if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "Interrupt received") {
		t.Errorf("nobody was interrupted: %v\n%s", err, out)
	}
	r.service.set(nil)
}

// provider is the process that was started last: the ones before have ended.
func (r *run) provider() (*os.Process, error) {
	text, err := os.ReadFile(r.pids)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(string(text))
	pid, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return nil, err
	}
	return os.FindProcess(pid)
}

// converged wants one of each in the service and in the state, and nothing to do.
func (r *run) converged(t *testing.T) {
	t.Helper()
	r.service.oneOfEach(t)
	cmd, out := r.start(t, "plan", "-detailed-exitcode", "-no-color")
	if err := cmd.Wait(); err != nil {
		t.Errorf("the plan is not empty: %v\n%s", err, out)
	}
	cmd, out = r.start(t, "state", "list")
	if err := cmd.Wait(); err != nil || lines(out.String()) != kinds*each {
		t.Errorf("the state has other objects: %v\n%s", err, out)
	}
}
