package build_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/build"
)

// loops is a module whose count function runs an empty loop as often as it is
// told and answers how often it ran:
//
//	(global (mut i32) (i32.const 0))
//	(func (export "count") (param i32) (result i32)
//	  (loop
//	    global.get 0  i32.const 1  i32.add  global.set 0
//	    global.get 0  local.get 0  i32.ne  br_if 0)
//	  global.get 0)
//
// and whose spin function never ends.
const loops = "\x00asm\x01\x00\x00\x00" +
	"\x01\x0d\x03\x60\x00\x01\x7f\x60\x01\x7f\x01\x7f\x60\x00\x00" +
	"\x02\x26\x01\x16wasi_snapshot_preview1\x0bsched_yield\x00\x00" +
	"\x03\x03\x02\x01\x02" +
	"\x06\x06\x01\x7f\x01\x41\x00\x0b" +
	"\x07\x10\x02\x05count\x00\x01\x04spin\x00\x02" +
	"\x0a\x1f\x02\x15\x00\x03\x40\x23\x00\x41\x01\x6a\x24\x00\x23\x00\x20\x00\x47\x0d\x00\x0b\x23\x00\x0b" +
	"\x07\x00\x03\x40\x0c\x00\x0b\x0b"

// instance runs a module whose sched_yield is yield.
func instance(t *testing.T, module []byte, yield func()) api.Module {
	t.Helper()
	ctx := t.Context()
	r := wazero.NewRuntime(ctx)
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	_, err := r.NewHostModuleBuilder("wasi_snapshot_preview1").NewFunctionBuilder().
		WithFunc(func() uint32 { yield(); return 0 }).Export("sched_yield").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.Instantiate(ctx, module)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestLoopsYieldAndComputeTheSame(t *testing.T) {
	t.Parallel()
	rewritten, err := build.InsertYields([]byte(loops))
	if err != nil {
		t.Fatal(err)
	}
	yields := 0
	m := instance(t, rewritten, func() { yields++ })
	got, err := m.ExportedFunction("count").Call(t.Context(), 10*1024+5)
	if err != nil || got[0] != 10*1024+5 {
		t.Errorf("%v, %v", got, err)
	}
	if yields != 10 {
		t.Errorf("%d yields in %d iterations", yields, 10*1024+5)
	}
}

func TestEndlessLoopEndsInItsYield(t *testing.T) {
	t.Parallel()
	rewritten, err := build.InsertYields([]byte(loops))
	if err != nil {
		t.Fatal(err)
	}
	over := errors.New("over")
	m := instance(t, rewritten, func() { panic(over) })
	if _, err := m.ExportedFunction("spin").Call(t.Context()); !errors.Is(err, over) {
		t.Error(err)
	}
}

func TestModuleThatCannotYieldIsRefused(t *testing.T) {
	t.Parallel()
	for name, module := range map[string]string{
		"nothing":              "",
		"no module":            "#!/bin/sh",
		"another version":      "\x00asm\x0d\x00\x01\x00",
		"no sections":          loops[:8],
		"no import":            strings.Replace(loops, "sched_yield", "sched_yielx", 1),
		"cut in a section":     loops[:len(loops)-3],
		"an unknown opcode":    strings.Replace(loops, "\x23\x00\x41\x01\x6a", "\xfb\x00\x41\x01\x6a", 1),
		"an unknown 0xfc code": strings.Replace(loops, "\x23\x00\x41\x01\x6a", "\xfc\x20\x41\x01\x6a", 1),
	} {
		if _, err := build.InsertYields([]byte(module)); err == nil {
			t.Errorf("%s was rewritten", name)
		}
	}
}

func FuzzInsertYields(f *testing.F) {
	f.Add([]byte(loops))
	f.Add([]byte(loops[:60]))
	f.Fuzz(func(t *testing.T, module []byte) {
		rewritten, err := build.InsertYields(module)
		if err != nil {
			return
		}
		// What the engine accepts it accepts afterwards.
		r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
		defer func() { _ = r.Close(context.Background()) }()
		if _, err := r.CompileModule(t.Context(), module); err != nil {
			return
		}
		if _, err := r.CompileModule(t.Context(), rewritten); err != nil {
			t.Errorf("no longer compiles: %v", err)
		}
	})
}
