package wasm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Interpreter is a WASI module of the host's choice, such as CPython built for
// wasm32-wasi. It gets no environment; its relative paths start at the work
// directory.
type Interpreter struct {
	// Path is the module's file, at most 256 MiB. It is read once, when the
	// engine is made.
	Path string
	// SHA256 is the digest of the file: sha256:<64 hex digits>. What was hashed
	// is what is compiled.
	SHA256 string
	// Args is the interpreter's name and its arguments, before the program's
	// own. An element that is [SourceArg] stands for the program's text; without
	// one the text is the interpreter's standard input.
	Args []string
}

// SourceArg in [Interpreter.Args] is replaced by the program's text:
//
//	Args: []string{"python", "-I", "-c", wasm.SourceArg}
const SourceArg = "{source}"

const maxModule = 256 << 20

// load reads the module and checks it.
func (i *Interpreter) load() (module []byte, err error) {
	if !sandbox.IsDigest(i.SHA256) {
		return nil, i.refuse(sandbox.CodeInvalidText, "SHA256", sandbox.Echo(i.SHA256),
			"sha256: and 64 lower-case hexadecimal digits", "state the digest of a file you trust", nil)
	}
	if len(i.Args) == 0 || strings.Contains(strings.Join(i.Args, ""), "\x00") {
		return nil, i.refuse(sandbox.CodeInvalidText, "Args", fmt.Sprintf("%d arguments", len(i.Args)),
			"the interpreter's name first, and no NUL", `write Args: []string{"python", "-c", wasm.SourceArg}`, nil)
	}
	module, err = readModule(i.Path)
	if err != nil {
		return nil, i.refuse(sandbox.CodeOptionsInvalid, "Path", sandbox.Echo(i.Path),
			"a regular file of at most 256 MiB", "name the interpreter's file", err)
	}
	sum := sha256.Sum256(module)
	if digest := "sha256:" + hex.EncodeToString(sum[:]); digest != i.SHA256 {
		return nil, i.refuse(sandbox.CodeDigestMismatch, "SHA256", sandbox.Echo(i.Path)+" has "+digest,
			i.SHA256, "get the file that the digest was taken of, or review this one and state its digest", nil)
	}
	return module, nil
}

func (i *Interpreter) refuse(code sandbox.Code, field, found, required, remedy string, err error) error {
	return sandbox.Finding{
		Code: code, Path: sandbox.Path("Interpreter", field),
		Found: found, Required: required, Remedy: remedy,
	}.Refusal(err)
}

func readModule(path string) (_ []byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	module, err := io.ReadAll(io.LimitReader(f, maxModule+1))
	if err == nil && len(module) > maxModule {
		err = fmt.Errorf("%s is larger than 256 MiB", path)
	}
	return module, err
}

// command is the argument vector for one program, and what is left of its text
// for standard input.
func (i *Interpreter) command(source []byte, args []string) (argv []string, stdin []byte) {
	argv = slices.Concat(i.Args, args)
	stdin = source
	for n, arg := range i.Args {
		if arg == SourceArg {
			argv[n] = string(source)
			stdin = nil
		}
	}
	return argv, stdin
}
