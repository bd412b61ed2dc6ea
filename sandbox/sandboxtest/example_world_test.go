package sandboxtest_test

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// exampleTest is a test's T where an example has none. What it is not asked for here,
// it does not have.
type exampleTest struct {
	testing.TB
	ctx     context.Context
	cleanup []func()
}

func (*exampleTest) Helper() {}

func (t *exampleTest) Context() context.Context {
	if t.ctx == nil {
		var cancel context.CancelFunc
		t.ctx, cancel = context.WithCancel(context.Background())
		t.Cleanup(cancel)
	}
	return t.ctx
}

func (t *exampleTest) TempDir() string {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("%v", err)
		}
	})
	return dir
}

func (t *exampleTest) Cleanup(f func()) { t.cleanup = append(t.cleanup, f) }

// Fatalf ends the example, which fails it.
func (*exampleTest) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Errorf fails the example by what it writes.
func (*exampleTest) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// end cleans up, the last first.
func (t *exampleTest) end() {
	for len(t.cleanup) > 0 {
		last := t.cleanup[len(t.cleanup)-1]
		t.cleanup = t.cleanup[:len(t.cleanup)-1]
		last()
	}
}
