package translate_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/translate"
)

var update = flag.Bool("update", false, "write the golden files")

// samples are inputs in the shape of each tool's own, and their formats.
var samples = map[string]translate.Source{
	"aca.yaml": translate.ACA, "docker.yaml": translate.Docker, "docker-governance.json": translate.Docker,
	"networkpolicy.yaml": translate.NetworkPolicy, "openshell.yaml": translate.OpenShell,
}

func sample(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// render is a translation as a reviewer sees it: the policy, and below it what is
// not in it.
func render(tr translate.Translation) string {
	var b strings.Builder
	b.Write(tr.HCL(translate.Label(tr.Policy.Name)))
	b.WriteByte('\n')
	for _, l := range tr.Losses {
		fmt.Fprintf(&b, "%-13s line %d  %s\n              %s\n", l.Effect, l.Line, l.Path, l.Why)
		if l.Remedy != "" {
			fmt.Fprintf(&b, "              > %s\n", l.Remedy)
		}
	}
	return b.String()
}

func TestSamplesReadAsTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, source := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, err := translate.Read(source, sample(t, name))
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, *update, name, render(tr))
		})
	}
}
