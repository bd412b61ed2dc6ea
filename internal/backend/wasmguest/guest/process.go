//go:build wasip1

package main

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/dop251/goja"
)

// exitStatus is the value that the interpreter is interrupted with when the
// program calls exit.
type exitStatus uint8

// installProcess gives the program args, its arguments; input(), the whole of
// its standard input as text; exit(status = 0), which ends it at once; and
// sleep(milliseconds), which waits.
func installProcess(vm *goja.Runtime) error {
	args := make([]any, len(os.Args)-1)
	for i, arg := range os.Args[1:] {
		args[i] = arg
	}
	if err := errors.Join(vm.Set("args", vm.NewArray(args...)), vm.Set("input", func() (string, error) {
		text, err := io.ReadAll(os.Stdin)
		return string(text), err
	})); err != nil {
		return err
	}
	err := vm.Set("exit", func(call goja.FunctionCall) goja.Value {
		var status int64
		if v := call.Argument(0); !goja.IsUndefined(v) {
			status = v.ToInteger()
		}
		if status < 0 || status > 255 {
			panic(vm.NewTypeError("exit: status must be from 0 to 255"))
		}
		vm.Interrupt(exitStatus(status))
		return goja.Undefined()
	})
	if err != nil {
		return err
	}
	return vm.Set("sleep", func(call goja.FunctionCall) goja.Value {
		ms := call.Argument(0).ToFloat()
		if !(ms >= 0 && ms <= float64(time.Hour.Milliseconds())*24) {
			panic(vm.NewTypeError("sleep: milliseconds must be from 0 to one day"))
		}
		time.Sleep(time.Duration(ms * float64(time.Millisecond)))
		return goja.Undefined()
	})
}
