//go:build wasip1

package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// files are the program's functions on its work directory. Each throws an Error
// whose code is the POSIX name of what went wrong, such as "ENOENT".
type files struct{ vm *goja.Runtime }

func installFiles(vm *goja.Runtime) error {
	f := files{vm}
	return errors.Join(
		vm.Set("readFile", f.read),
		vm.Set("writeFile", f.write),
		vm.Set("appendFile", f.append),
		vm.Set("listFiles", f.list),
		vm.Set("removeFile", f.remove),
	)
}

// read is readFile(path, form = "text"): the file as a string of UTF-8, or as a
// Uint8Array when form is "bytes".
func (f files) read(call goja.FunctionCall) goja.Value {
	name := f.path(call)
	form := "text"
	if v := call.Argument(1); !goja.IsUndefined(v) {
		form = v.String()
	}
	if form != "text" && form != "bytes" {
		panic(f.vm.NewTypeError(`readFile: form must be "text" or "bytes"`))
	}
	data, err := os.ReadFile(name)
	if err != nil {
		f.throw("readFile", err)
	}
	if form == "bytes" {
		array, err := f.vm.New(f.vm.Get("Uint8Array"), f.vm.ToValue(f.vm.NewArrayBuffer(data)))
		if err != nil {
			panic(err)
		}
		return array
	}
	if !utf8.Valid(data) {
		panic(f.vm.NewTypeError(`readFile: %s is not UTF-8 text; read it with readFile(path, "bytes")`, name))
	}
	return f.vm.ToValue(string(data))
}

// write is writeFile(path, data): data is a string, written as UTF-8, or an
// ArrayBuffer or a view of one. Directories on the way are made, and a file that
// stands there is replaced.
func (f files) write(call goja.FunctionCall) goja.Value {
	return f.put(call, "writeFile", os.O_TRUNC)
}

// append is appendFile(path, data): like writeFile, at the end of what is there.
func (f files) append(call goja.FunctionCall) goja.Value {
	return f.put(call, "appendFile", os.O_APPEND)
}

func (f files) put(call goja.FunctionCall, fn string, how int) goja.Value {
	name := f.path(call)
	data := f.bytes(fn, call.Argument(1))
	if err := os.MkdirAll(path.Dir(name), 0o777); err != nil {
		f.throw(fn, err)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|how, 0o666)
	if err != nil {
		f.throw(fn, err)
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		f.throw(fn, err)
	}
	return goja.Undefined()
}

// list is listFiles(directory = "."): its direct children by name, each
// {name, kind: "file" | "directory", size}.
func (f files) list(call goja.FunctionCall) goja.Value {
	dir := "."
	if !goja.IsUndefined(call.Argument(0)) {
		dir = f.path(call)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		f.throw("listFiles", err)
	}
	items := make([]any, 0, len(entries))
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			f.throw("listFiles", err)
		}
		kind := "file"
		if entry.IsDir() {
			kind = "directory"
		}
		item := f.vm.NewObject()
		if err := errors.Join(item.Set("name", entry.Name()), item.Set("kind", kind), item.Set("size", info.Size())); err != nil {
			panic(f.vm.NewGoError(err))
		}
		items = append(items, item)
	}
	return f.vm.NewArray(items...)
}

// remove is removeFile(path, {recursive: false}): a path that is not there is no
// error; a directory needs recursive.
func (f files) remove(call goja.FunctionCall) goja.Value {
	name := f.path(call)
	recursive := false
	if options, ok := call.Argument(1).(*goja.Object); ok {
		if v := options.Get("recursive"); v != nil {
			recursive = v.ToBoolean()
		}
	}
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		f.throw("removeFile", err)
	case !info.IsDir():
		err = os.Remove(name)
	case recursive:
		err = os.RemoveAll(name)
	default:
		err = &fs.PathError{Op: "remove", Path: name, Err: syscall.EISDIR}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.throw("removeFile", err)
	}
	return goja.Undefined()
}

// path is the first argument. Relative paths start at the work directory, which
// is the first mount; a path outside the mounts reaches nothing.
func (f files) path(call goja.FunctionCall) string {
	v := call.Argument(0)
	if goja.IsUndefined(v) || goja.IsNull(v) || v.String() == "" {
		panic(f.vm.NewTypeError("a path is required"))
	}
	return v.String()
}

func (f files) bytes(fn string, v goja.Value) []byte {
	if o, ok := v.(*goja.Object); ok {
		switch data := o.Export().(type) {
		case goja.ArrayBuffer:
			return data.Bytes()
		case []byte:
			return data
		}
		if buffer, ok := o.Get("buffer").(*goja.Object); ok {
			if data, ok := buffer.Export().(goja.ArrayBuffer); ok {
				start, size := o.Get("byteOffset").ToInteger(), o.Get("byteLength").ToInteger()
				return data.Bytes()[start : start+size]
			}
		}
	} else if s, ok := v.(goja.String); ok {
		return []byte(s.String())
	}
	panic(f.vm.NewTypeError(fn + ": data must be a string, an ArrayBuffer or a view of one"))
}

// throw raises err as an Error with a code.
func (f files) throw(fn string, err error) {
	thrown := f.vm.NewGoError(err)
	name := "EIO"
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		name = errnoName(errno)
	}
	message := fn + ": " + err.Error()
	if name == "EPERM" {
		message = fn + ": path is outside the work directory"
	}
	if err := errors.Join(thrown.Set("code", name), thrown.Set("message", message)); err != nil {
		panic(f.vm.NewGoError(err))
	}
	panic(thrown)
}

func errnoName(errno syscall.Errno) string {
	switch errno {
	case syscall.ENOENT:
		return "ENOENT"
	case syscall.EEXIST:
		return "EEXIST"
	case syscall.EISDIR:
		return "EISDIR"
	case syscall.ENOTDIR:
		return "ENOTDIR"
	case syscall.ENOTEMPTY:
		return "ENOTEMPTY"
	case syscall.ENOSPC:
		return "ENOSPC"
	case syscall.ENAMETOOLONG:
		return "ENAMETOOLONG"
	case syscall.EMFILE:
		return "EMFILE"
	case syscall.EINVAL:
		return "EINVAL"
	case syscall.EBADF, syscall.ENOTCAPABLE: // no mount has the path, or it leaves its mount
		return "EPERM"
	default:
		return "EIO"
	}
}
