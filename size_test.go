package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sizeBound is what everybody who uses the provider downloads, unpacks and maps, once
// for each version: 25 MiB for linux/amd64, before it is zipped to a third.
const sizeBound = 25 << 20

// When this fails, something large was linked that the provider had done without.
// `go list -deps .` beside the list of main says what; an import that should never
// have been is a row in the bans of internal/importgraph.
func TestTheReleasedProviderIsSmall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds the provider")
	}
	release := readReleaseConfig(t).Builds[0]
	binary := filepath.Join(t.TempDir(), "provider")
	args := append([]string{"build", "-o", binary, "-ldflags", strings.ReplaceAll(strings.Join(release.Ldflags, " "), "{{ .Version }}", "1.2.3")}, release.Flags...)
	cmd := exec.CommandContext(t.Context(), "go", append(args, ".")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%.1f MiB", float64(info.Size())/(1<<20)); info.Size() > sizeBound {
		t.Errorf("the provider has %d bytes, over its bound of %d", info.Size(), sizeBound)
	}
}

func TestMakeBuildsWhatIsReleased(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("GNUmakefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range readReleaseConfig(t).Builds[0].Flags {
		if !strings.Contains(string(makefile), flag) {
			t.Errorf("GNUmakefile builds without %s", flag)
		}
	}
}
