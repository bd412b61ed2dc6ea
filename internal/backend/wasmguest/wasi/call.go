package wasi

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Module names: the WASI functions, and those of our own guest.
const (
	ModuleWASI    = "wasi_snapshot_preview1"
	ModuleSandbox = "sandbox"
)

// Instantiate gives a runtime the host functions. Guests of the runtime must be
// called with a context from [Process.Bind].
func Instantiate(ctx context.Context, r wazero.Runtime) error {
	for module, functions := range map[string][]function{
		ModuleWASI:    wasiFunctions(),
		ModuleSandbox: sandboxFunctions(),
	} {
		builder := r.NewHostModuleBuilder(module)
		for _, f := range functions {
			builder.NewFunctionBuilder().
				WithGoModuleFunction(f, valueTypes(f.params), valueTypes(f.results)).
				Export(f.name)
		}
		if _, err := builder.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// function is one host function. params and results spell its type: i for i32,
// I for i64.
type function struct {
	name, params, results string
	run                   func(c call) uint32
}

func valueTypes(spelling string) []api.ValueType {
	types := make([]api.ValueType, len(spelling))
	for i, letter := range spelling {
		types[i] = api.ValueTypeI32
		if letter == 'I' {
			types[i] = api.ValueTypeI64
		}
	}
	return types
}

var errNoProcess = errors.New("guest called without a process: its context is not from Bind")

// Call implements [api.GoModuleFunction]. Every host call of a run whose time is
// up ends the run.
func (f function) Call(ctx context.Context, mod api.Module, stack []uint64) {
	p, ok := ctx.Value(processKey{}).(*Process)
	if !ok {
		panic(errNoProcess) //nolint:forbidigo // the engine recovers it into the call's error
	}
	p.check(ctx)
	answer := f.run(call{ctx: ctx, p: p, memory: mod.Memory(), args: stack})
	if f.results != "" {
		stack[0] = uint64(answer)
	}
}

// call is one host call with its arguments.
type call struct {
	ctx    context.Context
	p      *Process
	memory api.Memory
	args   []uint64
}

func (c call) u32(i int) uint32 { return uint32(c.args[i]) }
func (c call) u64(i int) uint64 { return c.args[i] }

// bytes is the guest's memory at the pointer and length in two arguments.
func (c call) bytes(ptr, size int) ([]byte, bool) { return c.memory.Read(c.u32(ptr), c.u32(size)) }

func (c call) put32(arg int, v uint32) errno {
	if !c.memory.WriteUint32Le(c.u32(arg), v) {
		return errFault
	}
	return success
}

func (c call) put64(arg int, v uint64) errno {
	if !c.memory.WriteUint64Le(c.u32(arg), v) {
		return errFault
	}
	return success
}

func (c call) put(arg int, b []byte) errno {
	if !c.memory.Write(c.u32(arg), b) {
		return errFault
	}
	return success
}

// maxPath bounds a path before it is copied out of the guest, in bytes. The file
// system bounds it again.
const maxPath = 4096

func (c call) path(ptr, size int) (string, errno) {
	if c.u32(size) > maxPath {
		return "", errNametoolong
	}
	b, ok := c.bytes(ptr, size)
	if !ok {
		return "", errFault
	}
	return string(b), success
}

// maxVectors bounds the buffers of one vectored read or write, as IOV_MAX does.
const maxVectors = 1024

// vectors calls use with each buffer of a vector until it answers an error or
// less than the whole buffer, and answers the sum.
func (c call) vectors(ptr, count int, use func(b []byte) (int, errno)) (uint32, errno) {
	if c.u32(count) > maxVectors {
		return 0, errInval
	}
	table, ok := c.memory.Read(c.u32(ptr), c.u32(count)*8)
	if !ok {
		return 0, errFault
	}
	var sum uint32
	for ; len(table) > 0; table = table[8:] {
		b, ok := c.memory.Read(binary.LittleEndian.Uint32(table), binary.LittleEndian.Uint32(table[4:]))
		if !ok {
			return sum, errFault
		}
		n, err := use(b)
		sum += uint32(n)
		if err != success && sum == 0 {
			return 0, err
		}
		if err != success || n < len(b) {
			break
		}
	}
	return sum, success
}
