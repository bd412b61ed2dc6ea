package wasm_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestProgramsEndWithTheirStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source string
		exit   int
		stdout string
		stderr string // a part of it
	}{
		"falls off the end":       {"print(1+1)", 0, "2\n", ""},
		"exits":                   {"print('a'); exit(7); print('b')", 7, "a\n", ""},
		"exits inside a catch":    {"try { exit(3) } catch (e) { print('no') } finally { print('no') }", 3, "", ""},
		"exits 255":               {"exit(255)", 255, "", ""},
		"exits out of range":      {"exit(256)", 1, "", "status must be from 0 to 255"},
		"throws":                  {"function f() { throw new Error('boom') }\nf()", 1, "", "Error: boom\n\tat f (program.js:1:"},
		"throws a word":           {"throw 'boom'", 1, "", "Uncaught boom"},
		"does not parse":          {"let x = ;", 2, "", "SyntaxError: program.js: Line 1:9"},
		"rejects":                 {"Promise.reject(new Error('late'))", 1, "", "Uncaught (in promise) Error: late"},
		"rejects and handles":     {"Promise.reject(1).catch(e => print('handled', e))", 0, "handled 1\n", ""},
		"awaits":                  {"(async () => { print(await Promise.resolve(5)) })()", 0, "5\n", ""},
		"throws from a promise":   {"(async () => { nothing() })()", 1, "", "ReferenceError: nothing is not defined"},
		"exits from a promise":    {"Promise.resolve().then(() => exit(9))", 9, "", ""},
		"is empty":                {"", 0, "", ""},
		"prints to both":          {"console.log('out'); console.error('err')", 0, "out\n", "err\n"},
		"prints values":           {"print(null, undefined, [1,'a'], {k: 1n === 1n}, 'é', () => 1)", 0, "null undefined [1,\"a\"] {\"k\":true} é [Function ]\n", ""},
		"prints a circle":         {"let o = {}; o.o = o; print(o)", 0, "[object Object]\n", ""},
		"catches its own mistake": {"try { null.x } catch (e) { print(e instanceof TypeError) }", 0, "true\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, sharedEngine(t)).run(c.source)
			if r.err != nil || r.exit != c.exit || r.stdout != c.stdout || !strings.Contains(r.stderr, c.stderr) {
				t.Errorf("exit %d, stdout %q, stderr %q, error %v", r.exit, r.stdout, r.stderr, r.err)
			}
		})
	}
}

func TestProgramGetsArgumentsInputAndDirectory(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	b.prints(`writeFile("sub/here.txt", "x")`)
	r := b.runIn(t.Context(), engine.CodeRequest{
		Source: []byte(`print(args.length, args[1], input(), readFile("here.txt"), readFile("/work/sub/here.txt"))`),
		Args:   []string{"one", "two words"},
		Dir:    "/work/sub",
		Stdin:  strings.NewReader("typed"),
	})
	if r.err != nil || r.stdout != "2 two words typed x x\n" {
		t.Errorf("%+v", r)
	}
	if r := b.runIn(t.Context(), engine.CodeRequest{Dir: "/elsewhere"}); !errors.Is(r.err, engine.ErrPermission) {
		t.Errorf("a directory outside: %v", r.err)
	}
	if r := b.runIn(t.Context(), engine.CodeRequest{Dir: "/work/none"}); !errors.Is(r.err, engine.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", r.err)
	}
	if r := b.runIn(t.Context(), engine.CodeRequest{Args: []string{"a\x00b"}}); r.err == nil {
		t.Error("an argument with NUL was taken")
	}
}

func TestFilesSurviveTheProgramAndGlobalsDoNot(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	b.prints(`globalThis.secret = 1; Array.prototype.leak = 2; writeFile("d/a.txt", "kept")`)
	if got := b.prints(`print(typeof secret, [].leak, readFile("d/a.txt"))`); got != "undefined undefined kept\n" {
		t.Errorf("printed %q", got)
	}
}

func TestSandboxesDoNotSeeEachOthersFiles(t *testing.T) {
	t.Parallel()
	e := sharedEngine(t)
	first, second := start(t, e), func() box {
		started, err := e.Start(t.Context(), engine.StartRequest{Name: "neighbour", WorkDir: "/work"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Delete(context.Background(), started.Guest.ID()) })
		return box{started.Guest, t}
	}()
	first.prints(`writeFile("mine", "1")`)
	if got := second.prints(`print(listFiles().length); try { readFile("mine") } catch (e) { print(e.code) }`); got != "0\nENOENT\n" {
		t.Errorf("printed %q", got)
	}
}

func TestProgramReachesOnlyItsWorkDirectory(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	b.write("/work/inside", "ok")
	// What the engine's own file system has beside the work directory.
	if err := b.Write(t.Context(), engine.FileRef{Root: "/", Path: "/outside"}, strings.NewReader("no"), 2); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/etc/passwd", "../outside", "/work/../outside", "/outside", "d/../../outside", "/work/d/../../outside",
		"/proc/self/environ", "/", "//", "..", "/workx/inside/..",
	} {
		got := b.prints(`try { print("read", readFile(` + quote(path) + `)) } catch (e) { print("refused") }
			try { writeFile(` + quote(path) + `, "x"); print("written") } catch (e) { print("refused") }`)
		if strings.Contains(got, "no") || strings.Contains(got, "read") || strings.Contains(got, "written") {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := b.prints(`print(readFile("inside"), readFile("/work/inside"), readFile("../work/inside"))`); got != "ok ok ok\n" {
		t.Errorf("printed %q", got)
	}
	if got := b.prints(`print(typeof require, typeof process, typeof fetch, typeof XMLHttpRequest)`); got != "undefined undefined undefined undefined\n" {
		t.Errorf("printed %q", got)
	}
}

func TestFileFunctions(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	for _, c := range []struct{ source, want string }{
		{`writeFile("t", "zażółć"); print(readFile("t"))`, "zażółć\n"},
		{`writeFile("b", new Uint8Array([0, 255, 10])); let a = readFile("b", "bytes"); print(a instanceof Uint8Array, a.length, a[1])`, "true 3 255\n"},
		{`writeFile("v", new Uint8Array([1, 2, 3, 4]).subarray(1, 3)); print(readFile("v", "bytes").length)`, "2\n"},
		{`writeFile("buf", new Uint16Array([1]).buffer); print(readFile("buf", "bytes").length)`, "2\n"},
		{`writeFile("bad", new Uint8Array([255])); try { readFile("bad") } catch (e) { print(e.message) }`, "readFile: bad is not UTF-8 text; read it with readFile(path, \"bytes\")\n"},
		{`writeFile("ap", "a"); appendFile("ap", "b"); print(readFile("ap"))`, "ab\n"},
		{`writeFile("l/x", "12"); writeFile("l/y/z", ""); print(listFiles("l"))`, `[{"name":"x","kind":"file","size":2},{"name":"y","kind":"directory","size":0}]` + "\n"},
		{`writeFile("r/x", ""); try { removeFile("r") } catch (e) { print(e.code) } removeFile("r", {recursive: true}); print(listFiles("r2x0"))`, ""},
		{`removeFile("never"); print("fine")`, "fine\n"},
		{`try { readFile("") } catch (e) { print(e.message) }`, "a path is required\n"},
		{`try { writeFile("n", 5) } catch (e) { print(e.message) }`, "writeFile: data must be a string, an ArrayBuffer or a view of one\n"},
		{`writeFile("f", ""); try { listFiles("f") } catch (e) { print(e.code) }`, "ENOTDIR\n"},
		{`try { writeFile("x".repeat(300), "") } catch (e) { print(e.code) }`, "ENAMETOOLONG\n"},
	} {
		r := b.run(c.source)
		if c.want == "" {
			if r.exit != 1 || r.stdout != "EISDIR\n" || !strings.Contains(r.stderr, "ENOENT") && !strings.Contains(r.stderr, "No such file") {
				t.Errorf("%s: %+v", c.source, r)
			}
			continue
		}
		if r.stdout != c.want || r.exit != 0 {
			t.Errorf("%s\nprinted %q, exit %d, stderr %q", c.source, r.stdout, r.exit, r.stderr)
		}
	}
}

func TestClocksAndRandomnessAreReal(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	source := `print(Date.now() > 1.7e12, Math.random())`
	one, two := b.prints(source), b.prints(source)
	if !strings.HasPrefix(one, "true ") || one == two {
		t.Errorf("printed %q, then %q", one, two)
	}
}

func TestWriterThatFailsEndsTheProgram(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	full := &limited{left: 10}
	r := b.runIn(t.Context(), engine.CodeRequest{Source: []byte(`for (;;) print("0123456789abcdef")`), Stdout: full})
	if !errors.Is(r.err, errFull) || full.text != "0123456789" {
		t.Errorf("error %v, kept %q", r.err, full.text)
	}
	b.alive()
}

var errFull = errors.New("enough")

// limited keeps the beginning of what is written and fails at the rest.
type limited struct {
	left int
	text string
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(l.left, len(p))
	l.text += string(p[:n])
	l.left -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func quote(s string) string { return `"` + s + `"` }

var _ io.Writer = (*limited)(nil)
