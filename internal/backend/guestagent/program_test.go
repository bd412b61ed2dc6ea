package guestagent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/build"
)

var rebuild = flag.Bool("rebuild", false, "rebuild the embedded agents and compare, which takes some seconds")

func TestEmbeddedAgentsAreTheirSourceRebuilt(t *testing.T) {
	t.Parallel()
	if !*rebuild && os.Getenv("CI") == "" {
		t.Skip("rebuilding takes some seconds: run with -rebuild, or with CI set")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	files, err := build.Agents(ctx, "program")
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

func TestProgramIsStaticAndOfItsProcessor(t *testing.T) {
	t.Parallel()
	for goarch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		program, err := guestagent.ProgramFor(goarch)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256(program.Bytes)); program.Digest != want {
			t.Errorf("%s: digest %s, not %s", goarch, program.Digest, want)
		}
		f, err := elf.NewFile(bytes.NewReader(program.Bytes))
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != machine || f.Type != elf.ET_EXEC || f.Section(".interp") != nil || f.Section(".dynamic") != nil {
			t.Errorf("%s: %v for %v, or it needs a loader", goarch, f.Type, f.Machine)
		}
		if len(program.Bytes) > 3<<20 {
			t.Errorf("%s: %d bytes", goarch, len(program.Bytes))
		}
	}
	for _, goarch := range []string{"", "386", "AMD64", "arm"} {
		if _, err := guestagent.ProgramFor(goarch); err == nil {
			t.Errorf("there is a program for %q", goarch)
		}
	}
}
