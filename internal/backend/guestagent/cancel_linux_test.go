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

// TestCallCancelledAtAnyMomentIsDoneOrUndone ends the context of each call later
// and later, so that some end before their calls began and some after.
func TestCallCancelledAtAnyMomentIsDoneOrUndone(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{Answer: time.Minute})
	const before, after = "before", 2 << 20
	whole := strings.Repeat("n", after)
	b.write("file", before)
	b.sh("head -c 3000000 /dev/zero >big; mkdir many; cd many; for i in $(seq 500); do : >$i; done")
	attempts := map[string]func(ctx context.Context) error{
		"exec": func(ctx context.Context) error {
			r := b.run(ctx, bytes.NewReader(make([]byte, 1<<20)), "/bin/sh", "-c", "cat; sleep 0.01 & wait; exit 3")
			if r.err == nil && (r.code != 3 || len(r.stdout) != 1<<20) {
				t.Errorf("exec: exit %d after %d bytes", r.code, len(r.stdout))
			}
			return r.err
		},
		"write": func(ctx context.Context) error {
			b.write("file", before)
			err := b.Write(ctx, b.ref("file"), strings.NewReader(whole), after)
			if got := b.read("file"); err == nil && got != whole || err != nil && got != before {
				t.Errorf("write: %v, and the file has %d bytes", err, len(got))
			}
			return err
		},
		"open": func(ctx context.Context) error {
			r, _, err := b.Open(ctx, b.ref("big"))
			if err != nil {
				return err
			}
			defer r.Close()
			n, err := io.Copy(io.Discard, r)
			if err == nil && n != 3_000_000 {
				t.Errorf("open: %d bytes", n)
			}
			return err
		},
		"list": func(ctx context.Context) error {
			n := 0
			err := b.List(ctx, b.ref("many"), func(engine.Info) bool {
				n++
				return true
			})
			if err == nil && n != 500 {
				t.Errorf("list: %d entries", n)
			}
			return err
		},
		"stat": func(ctx context.Context) error {
			_, err := b.Stat(ctx, b.ref("file"))
			return err
		},
		"remove": func(ctx context.Context) error {
			b.sh("mkdir tree; cp -r many tree/a; cp -r many tree/b")
			err := b.Remove(ctx, b.ref("tree"), true)
			if _, left := b.Stat(t.Context(), b.ref("tree")); err == nil && !errors.Is(left, engine.ErrNotExist) {
				t.Errorf("remove: %v", left)
			}
			b.sh("rm -rf tree")
			return err
		},
	}
	for name, attempt := range attempts {
		ended, done := 0, 0
		for i := range 40 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*i)*20*time.Microsecond)
			switch err := attempt(ctx); {
			case err == nil:
				done++
			case errors.Is(err, context.DeadlineExceeded):
				ended++
			default:
				t.Errorf("%s: %v", name, err)
			}
			cancel()
		}
		if ended == 0 {
			t.Errorf("%s: no call was cancelled, %d were done", name, done)
		}
	}
	for name := range b.list("") {
		if strings.HasPrefix(name, ".sandbox") {
			t.Errorf("%s is left", name)
		}
	}
	if r := b.sh("cat /proc/[0-9]*/stat | grep -vc ' Z '"); strings.TrimSpace(r.stdout) != "4" {
		t.Errorf("beside the agent and those that look, there run %s", r.stdout)
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
