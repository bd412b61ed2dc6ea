package gvisor

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

var update = flag.Bool("update", false, "write the golden files")

func whole() Bundle {
	return Bundle{
		Root: "/var/lib/box/root",
		Views: []View{
			{Source: "/usr", Destination: "/usr"},
			{Source: "/etc/ssl/certs", Destination: "/etc/ssl/certs"},
		},
		Scratch: []Scratch{
			{Destination: "/tmp/deep/work", Bytes: 64 << 20, Mode: 0o700},
			{Destination: "/tmp", Bytes: 16 << 20, Mode: 0o700},
			{Destination: "/dev/shm", Bytes: 1 << 20, Mode: 0o700},
		},
		Args: []string{"agent"}, UID: 1000, GID: 1000, WorkDir: "/tmp/deep/work", Hostname: "sandbox",
		Limits:  Limits{Processes: 64, FileBytes: 64 << 20, OpenFiles: 1024},
		Seccomp: &specs.LinuxSeccomp{DefaultAction: specs.ActErrno},
	}
}

func TestBundleIsTheSpecificationOnFile(t *testing.T) {
	t.Parallel()
	spec, err := whole().Spec()
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	golden := filepath.Join("testdata", "config.json")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the specification is not %s (-update writes it):\n%s", golden, got)
	}
}

func TestGuestHasNothingBeyondItsBundle(t *testing.T) {
	t.Parallel()
	spec, err := whole().Spec()
	if err != nil {
		t.Fatal(err)
	}
	if c := spec.Process.Capabilities; c == nil || len(c.Bounding)+len(c.Effective)+len(c.Inheritable)+len(c.Permitted)+len(c.Ambient) != 0 {
		t.Errorf("capabilities: %v", c)
	}
	if !spec.Process.NoNewPrivileges || !spec.Root.Readonly || spec.Process.Env == nil || len(spec.Process.Env) != 0 {
		t.Error("the program may gain privileges, write to its root, or has an environment")
	}
	if len(spec.Annotations) != 0 || spec.Hooks != nil {
		t.Error("annotations change runsc's settings and hooks run on the host")
	}
	for _, m := range spec.Mounts {
		if m.Type == "bind" && !slices.Contains(m.Options, "ro") {
			t.Errorf("%s is writable", m.Destination)
		}
		if m.Type == "tmpfs" && !slices.ContainsFunc(m.Options, func(o string) bool { return strings.HasPrefix(o, "size=") }) {
			t.Errorf("%s has no size", m.Destination)
		}
		if !slices.Contains(m.Options, "nosuid") || !slices.Contains(m.Options, "nodev") && !strings.HasPrefix(m.Destination, "/dev") {
			t.Errorf("%s: options %v", m.Destination, m.Options)
		}
	}
}

func TestMountsComeBeforeWhatIsMountedInThem(t *testing.T) {
	t.Parallel()
	spec, err := whole().Spec()
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range spec.Mounts {
		for _, later := range spec.Mounts[i+1:] {
			if strings.HasPrefix(m.Destination, later.Destination+"/") {
				t.Errorf("%s is covered by %s", m.Destination, later.Destination)
			}
		}
	}
}

func TestBundleWithoutABoundIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := whole().Spec(); err != nil {
		t.Fatalf("the neighbour that has them all: %v", err)
	}
	for name, remove := range map[string]func(*Bundle){
		"root":                      func(b *Bundle) { b.Root = "" },
		"root of the host":          func(b *Bundle) { b.Root = "/" },
		"relative root":             func(b *Bundle) { b.Root = "root" },
		"program":                   func(b *Bundle) { b.Args = nil },
		"user":                      func(b *Bundle) { b.UID = 0 },
		"group":                     func(b *Bundle) { b.GID = 0 },
		"working directory":         func(b *Bundle) { b.WorkDir = "" },
		"host name":                 func(b *Bundle) { b.Hostname = "" },
		"processes":                 func(b *Bundle) { b.Limits.Processes = 0 },
		"file size":                 func(b *Bundle) { b.Limits.FileBytes = 0 },
		"open files":                func(b *Bundle) { b.Limits.OpenFiles = 0 },
		"filter":                    func(b *Bundle) { b.Seccomp = nil },
		"size":                      func(b *Bundle) { b.Scratch[0].Bytes = 0 },
		"mode":                      func(b *Bundle) { b.Scratch[0].Mode = 0 },
		"setuid mode":               func(b *Bundle) { b.Scratch[0].Mode = 0o4700 },
		"temporary directory":       func(b *Bundle) { b.Scratch = b.Scratch[2:] },
		"place":                     func(b *Bundle) { b.Views[0].Destination = "" },
		"place that leads up":       func(b *Bundle) { b.Views[0].Destination = "/usr/../x" },
		"place of its own":          func(b *Bundle) { b.Views[1].Destination = "/usr" },
		"place outside /proc":       func(b *Bundle) { b.Views[0].Destination = "/proc" },
		"place outside /dev":        func(b *Bundle) { b.Scratch[2].Destination = "/dev" },
		"source that is not all":    func(b *Bundle) { b.Views[0].Source = "/" },
		"source that leads nowhere": func(b *Bundle) { b.Views[0].Source = "usr" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := whole()
			remove(&b)
			if spec, err := b.Spec(); err == nil {
				t.Errorf("a bundle without %s: %v", name, spec)
			}
		})
	}
}
