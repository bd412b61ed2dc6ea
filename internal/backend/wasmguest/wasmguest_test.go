package wasmguest_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/build"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/interp"
)

var rebuild = flag.Bool("rebuild", false, "rebuild the embedded guest and compare, which takes half a minute")

func TestEmbeddedGuestIsItsSourceRebuilt(t *testing.T) {
	if !*rebuild && os.Getenv("CI") == "" {
		t.Skip("rebuilding takes half a minute: run with -rebuild, or with CI set")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	built, err := build.Guest(ctx, "guest")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{build.PackedName: built.Packed, build.DigestName: built.Digests()} {
		kept, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(kept, content) {
			t.Errorf("%s is not what the source gives; run go generate in this directory and review %s", name, build.DigestName)
		}
	}
}

func TestModuleIsTheBytesOfItsDigest(t *testing.T) {
	t.Parallel()
	if _, err := wasmguest.Module(); err != nil {
		t.Error(err)
	}
}

func TestGuestImportsNothingThatReachesOut(t *testing.T) {
	t.Parallel()
	module, err := wasmguest.Module()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	compiled, err := r.CompileModule(ctx, module)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		switch module + "." + name {
		case "sandbox.memory_limit", "sandbox.source":
		case "wasi_snapshot_preview1.sock_accept", "wasi_snapshot_preview1.sock_shutdown":
			// Go's runtime names them; here they answer that nothing is a socket.
		default:
			if module != "wasi_snapshot_preview1" || bytes.HasPrefix([]byte(name), []byte("sock_")) {
				t.Errorf("the guest imports %s.%s", module, name)
			}
		}
	}
}

func TestStatusesOfTheGuest(t *testing.T) {
	t.Parallel()
	for status, want := range map[uint32]struct {
		code int
		err  error
	}{
		0x100: {0, nil}, 0x101: {1, nil}, 0x1ff: {255, nil},
		0x200: {0, interp.ErrStack},
		0x201: {0, interp.ErrCrashed}, 0: {0, interp.ErrCrashed}, 1: {0, interp.ErrCrashed}, 2: {0, interp.ErrCrashed},
		0x300: {0, interp.ErrCrashed}, 0xffffffff: {0, interp.ErrCrashed}, 0x10100: {0, interp.ErrCrashed},
	} {
		if code, err := wasmguest.Exit(status); code != want.code || !errors.Is(err, want.err) {
			t.Errorf("%#x: %d, %v", status, code, err)
		}
	}
}
