package wasm_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/wasm"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// echoModule is the smallest WASI program there is: it exits with status 7.
var echoModule = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x08\x02\x60\x01\x7f\x00\x60\x00\x00" + // types: (i32), ()
	"\x02\x24\x01\x16wasi_snapshot_preview1\x09proc_exit\x00\x00" +
	"\x03\x02\x01\x01" + // one function
	"\x05\x03\x01\x00\x01" + // one page of memory
	"\x07\x13\x02\x06memory\x02\x00\x06_start\x00\x01" +
	"\x0a\x08\x01\x06\x00\x41\x07\x10\x00\x0b")

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func moduleFile(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "module.wasm")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInterpreterIsTheHashedBytes(t *testing.T) {
	t.Parallel()
	path := moduleFile(t, echoModule)
	e := newEngine(t, wasm.Config{NoCache: true, Interpreter: &wasm.Interpreter{
		Path: path, SHA256: digest(echoModule), Args: []string{"seven"},
	}})
	other := append([]byte{}, echoModule...)
	other[len(other)-4] = 9 // another status
	if err := os.WriteFile(path, other, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := start(t, e).run(""); r.err != nil || r.exit != 7 {
		t.Errorf("the file swapped after hashing took effect: %+v", r)
	}
	if _, err := wasm.NewEngine(wasm.Config{NoCache: true, Interpreter: &wasm.Interpreter{
		Path: path, SHA256: digest(echoModule), Args: []string{"seven"},
	}}); !errors.Is(err, sandbox.CodeDigestMismatch) {
		t.Errorf("the swapped file: %v", err)
	}
}

func TestInterpreterIsRefusedWithTheFieldToEdit(t *testing.T) {
	t.Parallel()
	good := moduleFile(t, echoModule)
	sum := digest(echoModule)
	args := []string{"x"}
	for name, c := range map[string]struct {
		i    wasm.Interpreter
		code sandbox.Code
		path string
	}{
		"wrong digest":       {wasm.Interpreter{Path: good, SHA256: digest(nil), Args: args}, sandbox.CodeDigestMismatch, "Interpreter.SHA256"},
		"no digest":          {wasm.Interpreter{Path: good, Args: args}, sandbox.CodeInvalidText, "Interpreter.SHA256"},
		"digest in capitals": {wasm.Interpreter{Path: good, SHA256: "sha256:" + strings.ToUpper(sum[7:]), Args: args}, sandbox.CodeInvalidText, "Interpreter.SHA256"},
		"digest cut short":   {wasm.Interpreter{Path: good, SHA256: sum[:60], Args: args}, sandbox.CodeInvalidText, "Interpreter.SHA256"},
		"bare digest":        {wasm.Interpreter{Path: good, SHA256: sum[7:], Args: args}, sandbox.CodeInvalidText, "Interpreter.SHA256"},
		"no arguments":       {wasm.Interpreter{Path: good, SHA256: sum}, sandbox.CodeInvalidText, "Interpreter.Args"},
		"NUL in arguments":   {wasm.Interpreter{Path: good, SHA256: sum, Args: []string{"a\x00"}}, sandbox.CodeInvalidText, "Interpreter.Args"},
		"no file":            {wasm.Interpreter{Path: good + "x", SHA256: sum, Args: args}, sandbox.CodeOptionsInvalid, "Interpreter.Path"},
		"a directory":        {wasm.Interpreter{Path: filepath.Dir(good), SHA256: sum, Args: args}, sandbox.CodeOptionsInvalid, "Interpreter.Path"},
	} {
		_, err := wasm.NewEngine(wasm.Config{NoCache: true, Interpreter: &c.i})
		refusal := sandbox.RefusalOf(err)
		if refusal == nil || refusal.Code != c.code || refusal.Path.String() != c.path || refusal.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestModuleThatIsNoProgramFailsAtStart(t *testing.T) {
	t.Parallel()
	for name, module := range map[string][]byte{
		"not wasm":                   []byte("#!/bin/sh\n"),
		"empty":                      {},
		"no functions":               echoModule[:8],
		"asks for what nobody gives": []byte(strings.Replace(string(echoModule), "proc_exit", "proc_fork", 1)),
	} {
		e := newEngine(t, wasm.Config{NoCache: true, Interpreter: &wasm.Interpreter{
			Path: moduleFile(t, module), SHA256: digest(module), Args: []string{"x"},
		}})
		started, err := e.Start(t.Context(), engine.StartRequest{Name: "x", WorkDir: "/work"})
		if err == nil {
			if r := (box{started.Guest, t}).run(""); r.err == nil {
				t.Errorf("%s ran: %+v", name, r)
			}
		}
	}
}

func TestConfigOutOfRangeIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]wasm.Config{
		"MemoryBytes":  {MemoryBytes: 1 << 32},
		"StorageBytes": {StorageBytes: -1},
		"FileBytes":    {FileBytes: -1},
		"Entries":      {Entries: -1},
		"Concurrent":   {Concurrent: -1},
	} {
		_, err := wasm.NewEngine(c)
		if r := sandbox.RefusalOf(err); r == nil || r.Code != sandbox.CodeOutOfRange || r.Path.String() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	e := newEngine(t, wasm.Config{NoCache: true, MemoryBytes: 1 << 16, Interpreter: &wasm.Interpreter{
		Path: moduleFile(t, echoModule), SHA256: digest(echoModule), Args: []string{"x"},
	}})
	start(t, e) // one page is what the module has
	e = newEngine(t, wasm.Config{NoCache: true, MemoryBytes: 1<<16 - 1, Interpreter: &wasm.Interpreter{
		Path: moduleFile(t, echoModule), SHA256: digest(echoModule), Args: []string{"x"},
	}})
	if _, err := e.Start(t.Context(), engine.StartRequest{Name: "x", WorkDir: "/work"}); err == nil {
		t.Error("a module larger than the limit started")
	}
}

func TestUnfitCacheDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := wasm.NewEngine(wasm.Config{CacheDir: open})
	if r := sandbox.RefusalOf(err); r == nil || r.Code != sandbox.CodeOptionsInvalid || r.Path.String() != "CacheDir" {
		t.Errorf("%v", err)
	}
	if err := os.Chmod(open, 0o700); err != nil {
		t.Fatal(err)
	}
	var notices []string
	config := wasm.Config{
		CacheDir: open, Notice: func(text string) { notices = append(notices, text) },
		Interpreter: &wasm.Interpreter{Path: moduleFile(t, echoModule), SHA256: digest(echoModule), Args: []string{"x"}},
	}
	e := newEngine(t, config)
	if r := start(t, e).run(""); r.exit != 7 {
		t.Errorf("%+v", r)
	}
	entries, err := filepath.Glob(filepath.Join(open, "*", "*"))
	if err != nil || len(entries) == 0 {
		t.Errorf("nothing was kept: %v", err)
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "ready after") {
		t.Errorf("notices: %q", notices)
	}
}

func TestDamagedCacheEntryIsNotUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	config := wasm.Config{CacheDir: dir, Interpreter: &wasm.Interpreter{
		Path: moduleFile(t, echoModule), SHA256: digest(echoModule), Args: []string{"x"},
	}}
	start(t, newEngine(t, config))
	entries, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(entries) == 0 {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(entry)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 0xff
		if err := os.WriteFile(entry, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := newEngine(t, config)
	started, err := e.Start(t.Context(), engine.StartRequest{Name: "x", WorkDir: "/work"})
	if err == nil {
		if r := (box{started.Guest, t}).run(""); r.exit != 7 {
			t.Errorf("damaged code ran: %+v", r)
		}
	}
}

// cpython is the interpreter that the fetch-cpython script prints the path of.
func cpython(tb testing.TB) *wasm.Interpreter {
	tb.Helper()
	path := os.Getenv("SANDBOX_TEST_CPYTHON_WASM")
	if path == "" {
		if os.Getenv("CI") != "" {
			tb.Fatal("SANDBOX_TEST_CPYTHON_WASM is not set: run internal/backend/wasmguest/fetch-cpython")
		}
		tb.Skip("SANDBOX_TEST_CPYTHON_WASM does not name a CPython: run internal/backend/wasmguest/fetch-cpython")
	}
	return &wasm.Interpreter{
		Path:   path,
		SHA256: "sha256:e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763",
		Args:   []string{"python", "-I", "-B", "-c", wasm.SourceArg},
	}
}

func TestCPythonRuns(t *testing.T) {
	t.Parallel()
	b := start(t, newEngine(t, wasm.Config{Interpreter: cpython(t), StorageBytes: 1 << 20}))
	b.write("/work/in.csv", "a,b\n1,2\n3,4\n")
	if got := b.prints(`
import csv, json, os, sys
rows = list(csv.DictReader(open("in.csv")))
os.makedirs("out/deep"); json.dump(rows, open("/work/out/deep/rows.json", "w"))
os.rename("out/deep/rows.json", "out/rows.json"); os.rmdir("out/deep")
print(len(rows), sorted(os.listdir(".")), dict(os.environ), os.path.exists("/etc/passwd"))`); got != "2 ['in.csv', 'out'] {} False\n" {
		t.Errorf("printed %q", got)
	}
	if got := b.read("/work/out/rows.json"); got != `[{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]` {
		t.Errorf("wrote %q", got)
	}
	if got := b.prints(`
try: open("big", "wb").write(b"x" * (1 << 21))
except OSError as e: print(e.strerror)
import socket
try: socket.create_connection(("192.0.2.1", 80))
except Exception as e: print(type(e).__name__)
for link in ("symlink", "link"):
    try: getattr(__import__("os"), link)("in.csv", "l")
    except OSError as e: print(e.strerror)`); !strings.HasPrefix(got, "No space left on device\n") || strings.Count(got, "\n") != 4 {
		t.Errorf("printed %q", got)
	}
	if r := b.run(`raise SystemExit(5)`); r.exit != 5 || r.err != nil {
		t.Errorf("%+v", r)
	}
	r := b.runIn(t.Context(), engine.CodeRequest{
		Source: []byte("import sys; print(sys.argv[1:], sys.stdin.read())"), Args: []string{"x y"}, Stdin: strings.NewReader("typed"),
	})
	if r.stdout != "['x y'] typed\n" {
		t.Errorf("%+v", r)
	}
	if r := b.run("print(1\x00)"); r.err == nil {
		t.Errorf("a program with NUL: %+v", r)
	}
}

func TestCPythonIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t, newEngine(t, wasm.Config{Interpreter: cpython(t), MemoryBytes: 64 << 20}))
	for _, source := range []string{
		"print(1, flush=True)\nwhile True: pass",
		"print(1, flush=True)\nimport time; time.sleep(3600)",
		"print(1, flush=True)\nimport re; re.match('(a+)+$', 'a' * 60 + 'b')",
		"print(1, flush=True)\nimport select; select.select([], [], [], 3600)",
	} {
		ctx, stdout := untilOutput(t)
		if r := b.runIn(ctx, engine.CodeRequest{Source: []byte(source), Stdout: stdout}); !errors.Is(r.err, context.Canceled) {
			t.Errorf("%s: %+v", source, r)
		}
	}
	if r := b.run("x = []\nwhile True: x.append('y' * 100000)"); !errors.Is(r.err, engine.ErrMemory) {
		t.Errorf("endless memory: %+v", r)
	}
	if got := b.prints("try: 'x' * (1 << 28)\nexcept MemoryError: print('caught')"); got != "caught\n" {
		t.Errorf("memory that was refused and done without: %q", got)
	}
	if got := b.prints("def f(): f()\ntry: f()\nexcept RecursionError: print('deep')"); got != "deep\n" {
		t.Errorf("printed %q", got)
	}
}
