package process

import (
	"errors"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestAZeroConfigIsComplete(t *testing.T) {
	t.Parallel()
	c, err := Config{}.withDefaults()
	if err != nil || c.MemoryBytes != 1<<30 || c.Processes != 256 || c.sizes().Total() >= c.MemoryBytes || c.Notice == nil {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestBoundsOfTheConfigurationAreHeld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config Config
		code   sandbox.Code
		path   string
	}{
		"no memory to speak of":      {Config{MemoryBytes: 1 << 20, WorkBytes: 4096, TmpBytes: 4096, SharedBytes: 4096}, sandbox.CodeOutOfRange, "MemoryBytes"},
		"negative memory":            {Config{MemoryBytes: -1}, sandbox.CodeOutOfRange, "MemoryBytes"},
		"too few processes":          {Config{Processes: 8}, sandbox.CodeOutOfRange, "Processes"},
		"negative processor time":    {Config{CPUPercent: -1}, sandbox.CodeOutOfRange, "CPUPercent"},
		"files that fill the memory": {Config{MemoryBytes: 64 << 20, WorkBytes: 32 << 20, TmpBytes: 16 << 20, SharedBytes: 16 << 20}, sandbox.CodeContradiction, "MemoryBytes"},
		"standard files in less":     {Config{MemoryBytes: 256 << 20}, sandbox.CodeContradiction, "MemoryBytes"},
		"a relative group":           {Config{Cgroup: "sandboxes"}, sandbox.CodeOptionsInvalid, "Cgroup"},
		"a state directory with dot": {Config{StateDir: "/run/../tmp"}, sandbox.CodeOptionsInvalid, "StateDir"},
		"a relative program":         {Config{Bubblewrap: "bwrap"}, sandbox.CodeOptionsInvalid, "Bubblewrap"},
	} {
		_, err := c.config.withDefaults()
		if r := sandbox.RefusalOf(err); !errors.Is(err, c.code) || r.Path.String() != c.path || r.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, config := range map[string]Config{
		"one byte more than its files": {MemoryBytes: 64<<20 + 1, WorkBytes: 32 << 20, TmpBytes: 16 << 20, SharedBytes: 16 << 20},
		"the least":                    {MemoryBytes: leastMemory, Processes: leastProcesses, WorkBytes: 4096, TmpBytes: 4096, SharedBytes: 4096},
		"paths":                        {Cgroup: "/sandboxes", StateDir: "/run/sandboxes", Bubblewrap: "/usr/bin/bwrap"},
	} {
		if _, err := config.withDefaults(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatDidNotHoldIsToldWithItsRemedy(t *testing.T) {
	t.Parallel()
	var r Report
	r.add("walls", true, "all seven", "buy more")
	config, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	r.declare(config, "bubblewrap 1.2.3")
	if d := r.Declarations; d.Isolation != sandbox.IsolationContainer || d.IsolationEvidence.Reference != "probed at start: bubblewrap 1.2.3; walls (all seven)" {
		t.Errorf("%v by %v", d.Isolation, d.IsolationEvidence)
	}
	r.add("limits", false, "none", "delegate a cgroup")
	r.declare(config, "bubblewrap 1.2.3")
	if d := r.Declarations; d.Isolation != sandbox.IsolationOSProcess ||
		d.IsolationEvidence.Reference != "probed at start: bubblewrap 1.2.3; walls (all seven); limits: none; to have it, delegate a cgroup" {
		t.Errorf("%v by %v", d.Isolation, d.IsolationEvidence)
	}
}
