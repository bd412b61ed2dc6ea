package guestagent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// attempt is one call to cancel, with what stands before it and what must be true
// after it.
type attempt struct {
	before func()
	call   func(ctx context.Context) error
	after  func(err error)
}

func (b *box) attempts(t *testing.T) map[string]attempt {
	t.Helper()
	const size = 2 << 20
	whole := strings.Repeat("n", size)
	var out ran
	var got int64
	var entries int
	nothing := func() {}
	counts := func(what string, n *int64, want int64) func(error) {
		return func(err error) {
			if err == nil && *n != want {
				t.Errorf("%s: %d, not %d", what, *n, want)
			}
		}
	}
	return map[string]attempt{
		"exec": {nothing, func(ctx context.Context) error {
			out = b.run(ctx, bytes.NewReader(make([]byte, 1<<20)), "/bin/sh", "-c", "cat; sleep 0.01 & wait; exit 3")
			return out.err
		}, func(err error) {
			if err == nil && (out.code != 3 || len(out.stdout) != 1<<20) {
				t.Errorf("exec: exit %d after %d bytes", out.code, len(out.stdout))
			}
		}},
		"write": {func() { b.write("file", "before") }, func(ctx context.Context) error {
			return b.Write(ctx, b.ref("file"), strings.NewReader(whole), size)
		}, func(err error) {
			if now := b.read("file"); err == nil && now != whole || err != nil && now != "before" {
				t.Errorf("write: %v, and the file has %d bytes", err, len(now))
			}
		}},
		"open": {nothing, func(ctx context.Context) error {
			r, _, err := b.Open(ctx, b.ref("big"))
			if err != nil {
				return err
			}
			defer r.Close()
			got, err = io.Copy(io.Discard, r)
			return err
		}, counts("open", &got, 3_000_000)},
		"list": {func() { entries = 0 }, func(ctx context.Context) error {
			return b.List(ctx, b.ref("many"), func(engine.Info) bool {
				entries++
				return true
			})
		}, func(err error) {
			if err == nil && entries != 100 {
				t.Errorf("list: %d entries", entries)
			}
		}},
		"stat": {nothing, func(ctx context.Context) error {
			_, err := b.Stat(ctx, b.ref("big"))
			return err
		}, func(error) {}},
		"remove": {func() { b.sh("cp -r many tree") }, func(ctx context.Context) error {
			return b.Remove(ctx, b.ref("tree"), true)
		}, func(err error) {
			if _, left := b.Stat(t.Context(), b.ref("tree")); err == nil && !errors.Is(left, engine.ErrNotExist) {
				t.Errorf("remove: %v", left)
			}
			b.sh("rm -rf tree")
		}},
	}
}

// TestCallCancelledAtAnyMomentIsDoneOrUndone ends the context of each call later
// and later, so that some end before their calls began and some after.
func TestCallCancelledAtAnyMomentIsDoneOrUndone(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{Answer: time.Minute})
	b.sh("head -c 3000000 /dev/zero >big; mkdir many; cd many; for i in $(seq 100); do : >$i; done")
	for name, a := range b.attempts(t) {
		ended := 0
		for i := range 40 {
			a.before()
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*i)*20*time.Microsecond)
			err := a.call(ctx)
			cancel()
			a.after(err)
			switch {
			case err == nil:
			case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, guestagent.ErrUnanswered):
				ended++
			default:
				t.Errorf("%s: %v", name, err)
			}
		}
		if ended == 0 {
			t.Errorf("%s: no call was cancelled", name)
		}
	}
	for name := range b.list("") {
		if strings.HasPrefix(name, ".sandbox") {
			t.Errorf("%s is left", name)
		}
	}
	// The agent and the three that look; what was killed may take a moment to go.
	for running := ""; running != "4"; {
		if t.Context().Err() != nil {
			t.Fatalf("%s processes run", running)
		}
		running = strings.TrimSpace(b.sh("cat /proc/[0-9]*/stat | grep -vc ' Z '").stdout)
	}
}

func TestClientClosedAtAnyMomentEndsEveryCall(t *testing.T) {
	t.Parallel()
	for i := range 10 {
		b := start(t, asFirst(), guestagent.Options{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for b.Err() == nil {
				_ = b.run(context.Background(), strings.NewReader("x"), "cat")
				_ = b.Write(context.Background(), b.ref("file"), zeros(1<<20), 1<<20)
				if r, _, err := b.Open(context.Background(), b.ref("file")); err == nil {
					_, _ = io.Copy(io.Discard, r)
					_ = r.Close()
				}
			}
		}()
		for range i {
			_, _ = b.Stat(t.Context(), b.ref(""))
		}
		if i%2 == 0 {
			_ = b.Close()
		} else {
			_ = b.cmd.Process.Signal(os.Kill)
		}
		<-ended
		<-b.Done()
	}
}
