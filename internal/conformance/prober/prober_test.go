package prober_test

import (
	"bytes"
	"context"
	"debug/elf"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober/build"
)

var rebuild = flag.Bool("rebuild", false, "rebuild the embedded prober and compare, which takes half a minute")

func TestEmbeddedProberIsItsSourceRebuilt(t *testing.T) {
	if !*rebuild && os.Getenv("CI") == "" {
		t.Skip("rebuilding takes half a minute: run with -rebuild, or with CI set")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	files, err := build.Files(ctx, "guest", prober.Architectures())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		kept, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(kept, content) {
			t.Errorf("%s is not what the source gives; run go generate in this directory and review %s", name, build.DigestName)
		}
	}
}

func TestEveryProgramNeedsNothingOfItsGuest(t *testing.T) {
	t.Parallel()
	for _, architecture := range prober.Architectures() {
		program, err := prober.Program(architecture)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(program))
		if err != nil {
			t.Fatal(err)
		}
		for _, segment := range f.Progs {
			if segment.Type == elf.PT_INTERP {
				t.Errorf("%s needs a loader", architecture)
			}
		}
	}
	if _, err := prober.Program("vax"); err == nil {
		t.Error("there was a program for a vax")
	}
}
