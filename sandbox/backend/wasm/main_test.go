package wasm_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/wasm"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// shared is the engine of the tests that need no settings of their own. The
// default cache keeps the suite from compiling the interpreter in each run.
var shared = sync.OnceValues(func() (*wasm.Engine, error) { return wasm.NewEngine(wasm.Config{}) })

func TestMain(m *testing.M) {
	code := m.Run()
	if e, err := shared(); err == nil {
		if err := e.Close(context.Background()); err != nil {
			panic(err)
		}
	}
	if err := goleak.Find(); code == 0 && err != nil {
		panic(err)
	}
	os.Exit(code)
}

func sharedEngine(tb testing.TB) *wasm.Engine {
	tb.Helper()
	e, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// newEngine makes an engine with settings of its own. The shared one compiles
// first, so that the others find the code in the cache instead of all compiling
// at once.
func newEngine(tb testing.TB, config wasm.Config) *wasm.Engine {
	tb.Helper()
	if config.Interpreter == nil && !config.NoCache {
		start(tb, sharedEngine(tb))
	}
	e, err := wasm.NewEngine(config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return e
}

// box is one sandbox under test.
type box struct {
	engine.Guest
	t testing.TB
}

func start(tb testing.TB, e *wasm.Engine) box {
	tb.Helper()
	name := "t-" + sandbox.Echo(tb.Name())
	started, err := e.Start(tb.Context(), engine.StartRequest{Name: name, WorkDir: "/work"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Delete(context.Background(), started.Guest.ID()); err != nil {
			tb.Error(err)
		}
	})
	return box{started.Guest, tb}
}

type result struct {
	exit           int
	stdout, stderr string
	err            error
}

func (b box) runIn(ctx context.Context, req engine.CodeRequest) result {
	b.t.Helper()
	runner, ok := b.Guest.(engine.CodeRunner)
	if !ok {
		b.t.Fatal("the guest runs no code")
	}
	var stdout, stderr bytes.Buffer
	if req.Stdout == nil {
		req.Stdout = &stdout
	}
	if req.Stderr == nil {
		req.Stderr = &stderr
	}
	exit, err := runner.RunCode(ctx, req)
	return result{exit, stdout.String(), stderr.String(), err}
}

func (b box) run(source string) result {
	b.t.Helper()
	return b.runIn(b.t.Context(), engine.CodeRequest{Source: []byte(source)})
}

// prints runs a program that must end well and answers what it prints.
func (b box) prints(source string) string {
	b.t.Helper()
	r := b.run(source)
	if r.err != nil || r.exit != 0 {
		b.t.Fatalf("%s: exit %d, error %v, stderr %q", source, r.exit, r.err, r.stderr)
	}
	return r.stdout
}

func (b box) alive() {
	b.t.Helper()
	if got := b.prints("print(6*7)"); got != "42\n" {
		b.t.Errorf("the next program printed %q", got)
	}
}

func at(path string) engine.FileRef {
	return engine.FileRef{
		Root: "/work", Path: filepath.ToSlash(path),
		Access: engine.Access{As: sandbox.PrincipalGuest, Links: engine.Beneath},
	}
}

func (b box) write(path, content string) {
	b.t.Helper()
	if err := b.Write(b.t.Context(), at(path), bytes.NewReader([]byte(content)), int64(len(content))); err != nil {
		b.t.Fatal(err)
	}
}

func (b box) read(path string) string {
	b.t.Helper()
	r, info, err := b.Open(b.t.Context(), at(path))
	if err != nil {
		b.t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil || int64(len(content)) != info.Size {
		b.t.Fatalf("%d bytes of %d, error %v", len(content), info.Size, err)
	}
	return string(content)
}

// announce cancels a context as soon as anything is written to it.
type announce struct{ cancel context.CancelFunc }

func (a announce) Write(p []byte) (int, error) {
	a.cancel()
	return len(p), nil
}

// untilOutput is a context that ends when the program first prints, and the
// writer that notices. The deadline only keeps a broken engine from hanging the
// suite.
func untilOutput(t *testing.T) (context.Context, io.Writer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx, announce{cancel}
}
