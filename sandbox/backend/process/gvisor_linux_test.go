package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func inGVisor(e *Engine) bool { return e.config.Runtime == RuntimeGVisor }

// needRunsc is the path of the real one.
func needRunsc(tb testing.TB) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("gVisor's tests are long; make test runs them")
	}
	path := os.Getenv("SANDBOX_TEST_RUNSC")
	if path == "" {
		path, _ = exec.LookPath("runsc")
	}
	need(tb, path != "", "gVisor's runsc (make runsc; make test then finds it)")
	return path
}

// gvisorConfig is testConfig with gVisor.
func gvisorConfig(t *testing.T) Config {
	t.Helper()
	return Config{
		Users: testUsers(), StateDir: filepath.Join(t.TempDir(), "state"), Runtime: RuntimeGVisor, Runsc: needRunsc(t),
		Notice: func(text string) { t.Log("notice:", text) },
	}
}

// notWithGVisor are tests of bubblewrap, those that run others, one that believes
// a guest about the time it took, and one of which more would show no more.
const notWithGVisor = "-test.skip=WithGVisor|GVisorOf|OrdinaryUser|Bubblewrap|RungFalls|ShareTheAgent|Processor|ManySandboxes|Conforms"

// What is tested of the engine with bubblewrap is tested with gVisor, in a process
// of its own so that no test has to be written twice.
func TestAllOfThisHoldsWithGVisor(t *testing.T) {
	t.Parallel()
	runsc := needRunsc(t)
	if os.Getenv(asUser) != "" || os.Getenv(withGVisor) != "" {
		t.Skip("it is what runs already")
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.timeout=9m", "-test.v="+verbose(), notWithGVisor)
	cmd.Env = append(os.Environ(), withGVisor+"="+runsc)
	out, err := cmd.CombinedOutput()
	if err != nil || testing.Verbose() {
		t.Logf("%s", out)
	}
	if err != nil {
		t.Error(err)
	}
}

// The programs are handed over as descriptors, since the user can reach neither.
func TestMostOfThisHoldsWithGVisorForAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	runsc := needRunsc(t)
	if os.Geteuid() != 0 || os.Getenv(withGVisor) != "" {
		t.Skip("only root can become somebody")
	}
	const nobody = 65534
	home := openDir(t)
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	var programs []*os.File
	for _, path := range []string{"/proc/self/exe", runsc} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		programs = append(programs, f)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3", "-test.timeout=5m", "-test.v="+verbose(), notWithGVisor,
		"-test.run=Made|FilesStay|Losing|Killed|Secrets|Canaries|NoNetwork|Full|Probes|Egress")
	cmd.ExtraFiles, cmd.Dir = programs, "/"
	cmd.Env = []string{
		"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/bin:/bin", hostSecret + "=" + secret, asUser + "=gVisor", withGVisor + "=/proc/self/fd/4",
		probeFile + "=" + probe(t),
	}
	out, err := runAs(t, cmd, nobody, true)
	if err != nil || testing.Verbose() {
		t.Logf("%s", out)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestGVisorOfNoUseIsRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
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
}
