//go:build wasip1

package main

import (
	"io"
	"os"
	"strings"

	"github.com/dop251/goja"
)

// installPrint gives the program print and console. print and console.log write
// to standard output, console.error and console.warn to standard error: one line
// a call, values separated by a space.
func installPrint(vm *goja.Runtime) error {
	out, errOut := printer(vm, os.Stdout), printer(vm, os.Stderr)
	console := vm.NewObject()
	for name, fn := range map[string]func(goja.FunctionCall) goja.Value{
		"log": out, "info": out, "debug": out, "warn": errOut, "error": errOut,
	} {
		if err := console.Set(name, fn); err != nil {
			return err
		}
	}
	if err := vm.Set("print", out); err != nil {
		return err
	}
	return vm.Set("console", console)
}

func printer(vm *goja.Runtime, w io.Writer) func(goja.FunctionCall) goja.Value {
	return func(call goja.FunctionCall) goja.Value {
		parts := make([]string, len(call.Arguments))
		for i, v := range call.Arguments {
			parts[i] = text(vm, v)
		}
		if _, err := io.WriteString(w, strings.Join(parts, " ")+"\n"); err != nil {
			panic(vm.NewGoError(err))
		}
		return goja.Undefined()
	}
}

// text is how a value is printed: strings as they are, errors with their stack,
// functions by name, other objects as JSON, and everything else as String() has
// it. An object that JSON cannot show falls back to String() too.
func text(vm *goja.Runtime, v goja.Value) string {
	o, isObject := v.(*goja.Object)
	if !isObject {
		return v.String()
	}
	switch o.ClassName() {
	case "Error":
		if stack := o.Get("stack"); stack != nil && stack.String() != "" {
			return strings.TrimRight(stack.String(), "\n")
		}
		return o.String()
	case "Function":
		return "[Function " + o.Get("name").String() + "]"
	case "Date", "RegExp":
		return o.String()
	}
	stringify, ok := goja.AssertFunction(vm.Get("JSON").ToObject(vm).Get("stringify"))
	if !ok {
		return o.String()
	}
	json, err := stringify(goja.Undefined(), o)
	if err != nil || goja.IsUndefined(json) {
		return o.String()
	}
	return json.String()
}
