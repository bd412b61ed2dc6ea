// Package wasmguest holds the JavaScript interpreter that wasm sandboxes run by
// default: goja, compiled for WASI from the source in guest/, embedded compressed.
// Nobody's binary is trusted: `go generate` makes the bytes, digest.go states
// them, and a test rebuilds and compares them.
//
// What a program finds, beside the language itself (ECMAScript 5.1 and most of
// 2015 and later, without modules, timers or top-level await):
//
//	print(...values)             a line on standard output; also console.log
//	console.error(...values)     a line on standard error
//	readFile(path, form)         a string, or with form "bytes" a Uint8Array
//	writeFile(path, data)        data is a string, an ArrayBuffer or a view of one
//	appendFile(path, data)
//	listFiles(path)              [{name, kind: "file" | "directory", size}]
//	removeFile(path, options)    a directory needs {recursive: true}
//	args                         the program's arguments
//	input()                      standard input to its end, as text
//	sleep(milliseconds)
//	exit(status)
//
// Paths are relative to the work directory or absolute below it. The file
// functions throw an Error whose code is a POSIX name such as "ENOSPC".
//
// A program ends with status 0, with the status it gave to exit, with 1 after an
// exception or a rejection that nobody caught (its stack is on standard error),
// or with 2 when its text does not parse.
//
// Read [Module] and [Exit].
package wasmguest

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/interp"
)

//go:generate go run ./build/cmd

//go:embed guest.wasm.zst
var packed []byte

// Module unpacks the guest and checks it against its digests, before and after.
// Its loops yield: [interp.Options].Yields.
func Module() ([]byte, error) {
	if err := check("compressed guest", packed, PackedSHA256); err != nil {
		return nil, err
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(rawSize))
	if err != nil {
		return nil, fmt.Errorf("unpack the guest: %w", err)
	}
	defer r.Close()
	raw, err := r.DecodeAll(packed, make([]byte, 0, rawSize))
	if err != nil {
		return nil, fmt.Errorf("unpack the guest: %w", err)
	}
	return raw, check("guest", raw, RawSHA256)
}

func check(what string, data []byte, want string) error {
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
		return fmt.Errorf("the %s has SHA-256 %x, not the %s it was built with", what, sum, want)
	}
	return nil
}

// The guest's own statuses; guest/main.go has the other side.
const (
	exitProgram        = 0x100
	exitStackExhausted = 0x200
)

// Exit reads the status of a run: the program's own exit code, [interp.ErrStack]
// or [interp.ErrCrashed]. A program cannot give the last two, and the Go runtime
// inside the guest, when it dies, gives neither of the others.
func Exit(status uint32) (code int, err error) {
	switch {
	case status&^0xff == exitProgram:
		return int(status & 0xff), nil
	case status == exitStackExhausted:
		return 0, interp.ErrStack
	default:
		return 0, fmt.Errorf("%w with status %d", interp.ErrCrashed, status)
	}
}
