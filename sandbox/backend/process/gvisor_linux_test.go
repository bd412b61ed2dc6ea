package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func inGVisor(e *Engine) bool { return e.config.Runtime == RuntimeGVisor }

// needRunsc is the path of the real one.
func needRunsc(t testing.TB) string {
	t.Helper()
	path := os.Getenv("SANDBOX_TEST_RUNSC")
	if path == "" {
		path, _ = exec.LookPath("runsc")
	}
	need(t, path != "", "gVisor's runsc (make runsc; make test then finds it)")
	return path
}

// gvisorConfig is testConfig with gVisor.
func gvisorConfig(t testing.TB) Config {
	t.Helper()
	return Config{
		Users: testUsers(), StateDir: filepath.Join(t.TempDir(), "state"), Runtime: RuntimeGVisor, Runsc: needRunsc(t),
		Notice: func(text string) { t.Log("notice:", text) },
	}
}

// What is tested of the engine with bubblewrap is tested with gVisor, in a process
// of its own so that no test has to be written twice.
func TestAllOfThisHoldsWithGVisor(t *testing.T) {
	runsc := needRunsc(t)
	if os.Getenv(asUser) != "" || os.Getenv(withGVisor) != "" {
		t.Skip("it is what runs already")
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.timeout=9m", "-test.v="+verbose(),
		"-test.skip=WithGVisor|GVisorOf|OrdinaryUser|Bubblewrap|RungFalls|Processor|Load")
	cmd.Env = append(os.Environ(), withGVisor+"="+runsc)
	out, err := cmd.CombinedOutput()
	if err != nil || testing.Verbose() {
		t.Logf("%s", out)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestGVisorOfNoUseIsRefusedWithWhatToDo(t *testing.T) {
	c := gvisorConfig(t)
	for name, spoil := range map[string]func(*Config){
		"no runsc":      func(c *Config) { c.Runsc = "/nowhere/runsc" },
		"no program":    func(c *Config) { c.Runsc = "/etc/passwd" },
		"not runsc":     func(c *Config) { c.Runsc = "/usr/bin/env" },
		"no cgroup":     func(c *Config) { c.Cgroup = "/nowhere" },
		"little memory": func(c *Config) { c.MemoryBytes, c.WorkBytes, c.TmpBytes, c.SharedBytes = 64<<20, 4096, 4096, 4096 },
		"no runtime":    func(c *Config) { c.Runtime = "runc" },
	} {
		spoiled := c
		spoil(&spoiled)
		_, err := Probe(t.Context(), spoiled)
		r := sandbox.RefusalOf(err)
		if r == nil || r.Remedy == "" || r.Required == "" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(r.Found, "/tmp") {
			t.Errorf("%s: a path of this machine in %q", name, r.Found)
		}
	}
	report, err := Probe(t.Context(), c)
	if err != nil || report.Declarations.Isolation != sandbox.IsolationHardenedContainer {
		t.Errorf("the neighbour: %v, %v", report, err)
	}
	nothingLeft(t, c)
	_ = errors.Join
}
