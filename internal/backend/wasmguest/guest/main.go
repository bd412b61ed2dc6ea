//go:build wasip1

// Command guest is the JavaScript interpreter that runs inside the wasm
// sandbox: goja, a handful of functions, and nothing else. It is built for WASI
// only, embedded by the package above it, and never linked into a host program.
//
// A run is one process. The host hands over the program's text; what it prints
// leaves on standard output and standard error; its files live in the one
// directory that is mounted. Package wasmguest documents the functions a program
// may call and the exit statuses.
//
// A panic with a JavaScript value is how a Go function throws in goja.
//
// Read main.go for the life of a run, print.go for how values become text,
// files.go for the work directory.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

// The statuses of a run, for package wasmguest to read. Whatever else comes back
// is the death of the Go runtime itself.
const (
	exitProgram        = 0x100 // plus the program's own status, 0 to 255
	exitStackExhausted = 0x200
	exitInterpreter    = 0x201

	statusUncaught = 1
	statusSyntax   = 2
)

const (
	// maxCalls bounds the depth of JavaScript calls. At this depth the
	// interpreter's own stacks are a few megabytes.
	maxCalls = 4096
	// maxStack bounds the Go stack, which native code such as the parser or
	// JSON.stringify uses for its recursion, in bytes.
	maxStack = 64 << 20
	// collectAt is how much garbage may stand beside what is in use, in percent.
	// Two thirds of the memory limit are then usable. A soft limit near the hard
	// one would leave more, but a program that fills its memory would spend
	// minutes collecting before it ends.
	collectAt = 50
)

// memoryLimit is how much memory the run may have, in bytes.
//
//go:wasmimport sandbox memory_limit
func memoryLimit() uint32

// copySource copies the program's text to ptr if it is not longer than size, and
// answers its length.
//
//go:wasmimport sandbox source
func copySource(ptr unsafe.Pointer, size uint32) uint32

func source() string {
	text := make([]byte, copySource(nil, 0))
	copySource(unsafe.Pointer(unsafe.SliceData(text)), uint32(len(text)))
	return string(text)
}

func main() {
	debug.SetGCPercent(collectAt)
	debug.SetMaxStack(min(maxStack, int(memoryLimit())/4))
	os.Exit(run())
}

func run() (exit int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintln(os.Stderr, "interpreter:", r)
			exit = exitInterpreter
		}
	}()
	program, err := goja.Compile("program.js", source(), false)
	if err != nil {
		fmt.Fprintln(os.Stderr, syntaxText(err))
		return exitProgram + statusSyntax
	}

	vm := goja.New()
	vm.SetMaxCallStackSize(maxCalls)
	rejections := trackRejections(vm)
	if err := errors.Join(installPrint(vm), installFiles(vm), installProcess(vm)); err != nil {
		fmt.Fprintln(os.Stderr, "interpreter:", err)
		return exitInterpreter
	}
	if _, err := vm.RunProgram(program); err != nil {
		return failed(err)
	}
	return rejections.exit()
}

// failed says on standard error how the program ended and gives the status.
func failed(err error) int {
	var overflow *goja.StackOverflowError
	var exited *goja.InterruptedError
	var thrown *goja.Exception
	switch {
	case errors.As(err, &exited):
		if status, ok := exited.Value().(exitStatus); ok {
			return exitProgram + int(status)
		}
		return exitInterpreter
	case errors.As(err, &overflow):
		fmt.Fprintln(os.Stderr, "RangeError: Maximum call stack size exceeded")
		return exitStackExhausted
	case errors.As(err, &thrown):
		fmt.Fprintln(os.Stderr, "Uncaught "+thrown.String())
		return exitProgram + statusUncaught
	default:
		fmt.Fprintln(os.Stderr, err)
		return exitInterpreter
	}
}

func syntaxText(err error) string {
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return "SyntaxError: " + list[0].Error()
	}
	return err.Error()
}

// rejections are the promises that were rejected and that nobody handled yet, in
// the order in which they were rejected.
type rejections struct {
	vm   *goja.Runtime
	open []*goja.Promise
}

func trackRejections(vm *goja.Runtime) *rejections {
	r := &rejections{vm: vm}
	vm.SetPromiseRejectionTracker(func(p *goja.Promise, op goja.PromiseRejectionOperation) {
		if op == goja.PromiseRejectionReject {
			r.open = append(r.open, p)
			return
		}
		for i, q := range r.open {
			if q == p {
				r.open = append(r.open[:i], r.open[i+1:]...)
				return
			}
		}
	})
	return r
}

func (r *rejections) exit() int {
	if len(r.open) == 0 {
		return exitProgram
	}
	fmt.Fprintln(os.Stderr, "Uncaught (in promise) "+text(r.vm, r.open[0].Result()))
	return exitProgram + statusUncaught
}
