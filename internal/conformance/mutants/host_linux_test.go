package mutants_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/hostengine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
)

// overHost makes a subject of the layer over an engine that holds nothing: the
// premise of the probes that attack from within.
func overHost(t *testing.T, options hostengine.Options, workDir string) conformance.Subject {
	t.Helper()
	e := hostengine.New(options)
	b, err := backend.New(e, e.Declarations())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return conformance.Subject{
		Backend: b, Left: holds(e), Spec: sandbox.Spec{Kind: "probe", Requires: e.Declarations().Capabilities, WorkDir: workDir},
	}
}

// hostMutants have the machine itself for a sandbox, so each attack works: what a
// probe reports there is what it is for.
func hostMutants() []mutant {
	place := func(t *testing.T) string {
		t.Helper()
		dir := t.TempDir()
		for _, d := range []string{dir, filepath.Dir(dir)} {
			if err := os.Chmod(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		return filepath.Join(dir, "work")
	}
	held := func(name, by string, options hostengine.Options, only ...string) mutant {
		return mutant{name: name, by: by, only: only, make: func(t *testing.T) conformance.Subject {
			t.Helper()
			if os.Getuid() != 0 {
				t.Skip("some attacks need root to succeed where nothing is held")
			}
			return overHost(t, options, place(t))
		}}
	}
	nobody := []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"}
	bare := held("nothing is held", "BOUNDARY/no-capabilities", hostengine.Options{})
	// One of root's cannot gain anything by a program that is root's.
	bare.also = probesOf("BOUNDARY", "setuid-programs-give-nothing")
	careless := held("files are handled by path, one call after another", "RACES/a-read-of-a-swapped-file", hostengine.Options{Naive: true})
	careless.only = []string{"RACES", "FILES_OUT", "FILES_IN", "FILES_LIST", "FILES_DELETE"}
	careless.also = probesOf("RACES")
	return []mutant{
		bare, careless,
		held("programs may gain privileges", "BOUNDARY/setuid-programs-give-nothing", hostengine.Options{Through: nobody}, "BOUNDARY"),
		held("files are root's and programs are not", "REACH/a-write-leaves-nothing-beyond-the-guest", hostengine.Options{Through: nobody}, "REACH"),
	}
}

// probesOf lists a suite's probes, but for some.
func probesOf(name string, but ...string) []string {
	var probes []string
	for _, s := range conformance.Suites() {
		for _, p := range s.Probes {
			if s.Name == name && !slices.Contains(but, p.Name) {
				probes = append(probes, name+"/"+p.Name)
			}
		}
	}
	return probes
}
