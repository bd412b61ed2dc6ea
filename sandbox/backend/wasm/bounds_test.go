package wasm_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/wasm"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Each program prints once and then never ends by itself. The context ends at
// the print.
func TestDeadlineEndsWhateverTheProgramDoes(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"loops":              `print(1); for (;;);`,
		"loops in a catch":   `print(1); for (;;) try { throw 1 } catch (e) {} finally {}`,
		"sleeps an hour":     `print(1); sleep(3600e3)`,
		"sleeps many times":  `print(1); for (;;) sleep(0)`,
		"matches for ever":   `print(1); /^(a+)+(?!c)$/.test("a".repeat(60) + "b")`,
		"backtracks":         `print(1); /(x+x+)+(?=y)z/.test("x".repeat(60))`,
		"sorts for ever":     `print(1); for (;;) Array.from({length: 1e5}, (_, i) => -i).sort()`,
		"fills arrays":       `print(1); for (;;) new Uint8Array(1e7).fill(1)`,
		"parses for ever":    `print(1); for (;;) JSON.parse("[" + "1,".repeat(1e5) + "1]")`,
		"joins strings":      `print(1); for (;;) "ab".repeat(1e6).split("").reverse().join("")`,
		"chains promises":    `print(1); const f = () => Promise.resolve().then(f); f()`,
		"prints for ever":    `for (;;) print(1)`,
		"writes files":       `print(1); for (;;) { writeFile("f", "x".repeat(1000)); removeFile("f") }`,
		"recurses in a tree": `print(1); const f = n => n < 2 ? n : f(n - 1) + f(n - 2); f(60)`,
		"adds big integers":  `print(1); let a = 1n; for (;;) a = a * 3n % (1n << 4000n)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, sharedEngine(t))
			ctx, stdout := untilOutput(t)
			r := b.runIn(ctx, engine.CodeRequest{Source: []byte(source), Stdout: stdout})
			if !errors.Is(r.err, context.Canceled) || errors.Is(r.err, engine.ErrQueued) {
				t.Errorf("error %v, exit %d, stderr %q", r.err, r.exit, r.stderr)
			}
			b.alive()
		})
	}
}

func TestDeadlineEndsABlockedRead(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	got := b.runIn(ctx, engine.CodeRequest{Source: []byte(`print(input())`), Stdin: cancelOnRead{r, cancel}})
	if !errors.Is(got.err, context.Canceled) {
		t.Errorf("error %v", got.err)
	}
	b.alive()
}

type cancelOnRead struct {
	io.Reader
	cancel context.CancelFunc
}

func (c cancelOnRead) Read(p []byte) (int, error) {
	c.cancel()
	return c.Reader.Read(p)
}

func TestDeadlineThatPassesWhileRunningIsNotQueued(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	started := make(chan struct{}, 1)
	r := b.runIn(ctx, engine.CodeRequest{
		Source: []byte(`print(1); for (;;);`),
		Stdout: writerFunc(func(p []byte) (int, error) { started <- struct{}{}; return len(p), nil }),
	})
	select {
	case <-started:
		if !errors.Is(r.err, context.DeadlineExceeded) || errors.Is(r.err, engine.ErrQueued) {
			t.Errorf("error %v", r.err)
		}
	default: // the machine was too busy to start it in time
		if !errors.Is(r.err, context.DeadlineExceeded) {
			t.Errorf("error %v", r.err)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestDeadlineThatPassesInTheQueueIsQueued(t *testing.T) {
	t.Parallel()
	e := newEngine(t, wasm.Config{Concurrent: 1})
	b := start(t, e)
	b.alive()
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if r := b.runIn(expired, engine.CodeRequest{Source: []byte(`print(1)`)}); !errors.Is(r.err, engine.ErrQueued) || r.stdout != "" {
		t.Errorf("expired before the call: %v", r.err)
	}

	// One program holds the only place until its input ends.
	input, release := io.Pipe()
	inside := make(chan struct{})
	held := make(chan result, 1)
	go func() {
		held <- b.runIn(t.Context(), engine.CodeRequest{
			Source: []byte(`print("in"); print(input())`), Stdin: input,
			Stdout: writerFunc(func(p []byte) (int, error) {
				if string(p) == "in\n" {
					close(inside)
				}
				return len(p), nil
			}),
		})
	}()
	<-inside
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if r := b.runIn(soon, engine.CodeRequest{Source: []byte(`print(1)`)}); !errors.Is(r.err, engine.ErrQueued) || r.stdout != "" {
		t.Errorf("waiting for a place: %v", r.err)
	}
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	if r := b.runIn(given, engine.CodeRequest{Source: []byte(`print(1)`)}); errors.Is(r.err, engine.ErrQueued) || !errors.Is(r.err, context.Canceled) {
		t.Errorf("given up by the caller, which is no deadline: %v", r.err)
	}
	_ = release.Close()
	if r := <-held; r.err != nil {
		t.Error(r.err)
	}
	b.alive()
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	e := newEngine(t, wasm.Config{MemoryBytes: 64 << 20})
	for name, source := range map[string]string{
		"endless arrays":  `const keep = []; for (;;) keep.push(new Array(1000).fill(7))`,
		"endless objects": `let o = null; for (;;) o = {o}`,
		"a giant string":  `"x".repeat(2 ** 30 - 1)`,
		"doubling":        `let s = "x"; for (;;) { s += s; s.charCodeAt(0) }`,
		"a giant buffer":  `new Uint8Array(2 ** 31)`,
		"caught in vain":  `try { new Uint8Array(2 ** 31) } catch (e) { print("caught") }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, e)
			r := b.run(source)
			if !errors.Is(r.err, engine.ErrMemory) || !strings.Contains(r.err.Error(), " MiB") || r.stderr != "" {
				t.Errorf("exit %d, error %v, stdout %q, stderr %.300q", r.exit, r.err, r.stdout, r.stderr)
			}
			b.alive()
		})
	}
	// Blocks that are a large part of the limit may be refused while the garbage
	// before them is still being collected; these are not.
	t.Run("garbage is no use of memory", func(t *testing.T) {
		t.Parallel()
		b := start(t, e)
		if got := b.prints(`let n = 0; for (let i = 0; i < 60; i++) n += new Uint8Array(1e7).length; print(n)`); got != "600000000\n" {
			t.Errorf("printed %q", got)
		}
	})
}

func TestDeepRecursionIsItsOwnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source string
		want   error
	}{
		"calls":              {`function f() { f() } f()`, engine.ErrStack},
		"calls in a catch":   {`function f() { try { f() } catch (e) { f() } } f()`, engine.ErrStack},
		"nested text":        {strings.Repeat("[", 1<<20), engine.ErrCrashed},
		"nested evaluation":  {`eval("[".repeat(1 << 20))`, engine.ErrCrashed},
		"within the allowed": {`function f(n) { return n ? 1 + f(n - 1) : 0 } print(f(3000))`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, sharedEngine(t))
			if r := b.run(c.source); !errors.Is(r.err, c.want) {
				t.Errorf("exit %d, error %v, stderr %.200q", r.exit, r.err, r.stderr)
			}
			b.alive()
		})
	}
}

func TestForgedStatusIsOnlyAStatus(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	r := b.run(`console.error("fatal error: out of memory"); console.error("runtime: goroutine stack exceeds"); exit(2)`)
	if r.err != nil || r.exit != 2 {
		t.Errorf("exit %d, error %v", r.exit, r.err)
	}
}

func TestStorageIsBounded(t *testing.T) {
	t.Parallel()
	e := newEngine(t, wasm.Config{StorageBytes: 1000, FileBytes: 600, Entries: 5})
	b := start(t, e) // the work directory is an entry
	if got := b.prints(`
		for (const [name, size] of [["a", 601], ["a", 600], ["b", 401]])
			try { writeFile(name, "x".repeat(size)); print(name, "written") } catch (e) { print(name, e.code) }
		writeFile("b", "x".repeat(400));
		removeFile("a"); print(listFiles().length)`); got != "a ENOSPC\na written\nb ENOSPC\n1\n" {
		t.Errorf("printed %q", got)
	}
	ctx := t.Context()
	if err := b.Write(ctx, at("/work/c"), strings.NewReader(strings.Repeat("x", 601)), 601); !errors.Is(err, engine.ErrNoSpace) {
		t.Errorf("a file over the cap: %v", err)
	}
	b.write("/work/c", strings.Repeat("x", 600))
	if err := b.Write(ctx, at("/work/d"), strings.NewReader("x"), 1); !errors.Is(err, engine.ErrNoSpace) {
		t.Errorf("one byte over the sum: %v", err)
	}
	b.write("/work/c", strings.Repeat("y", 599)) // replacing counts what it replaces
	b.write("/work/d", "x")
	b.write("/work/e", "")
	if err := b.Write(ctx, at("/work/f"), strings.NewReader(""), 0); !errors.Is(err, engine.ErrNoSpace) {
		t.Errorf("one entry too many: %v", err)
	}
	if got := b.prints(`try { writeFile("f", "") } catch (e) { print(e.code) }`); got != "ENOSPC\n" {
		t.Errorf("printed %q", got)
	}
}
