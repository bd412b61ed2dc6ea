package guestagent_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// mixedLoad runs n programs and as many transfers each way at once, and checks
// every byte.
func mixedLoad(t *testing.T, b *box, n int) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		name, content := "file"+strconv.Itoa(i), bytes.Repeat([]byte{byte(i)}, 1000+i*1000)
		all.Go(func() {
			want := fmt.Sprintf("out %d\n", i)
			r := b.run(t.Context(), strings.NewReader(want), "/bin/sh", "-c", "cat; echo err >&2; exit "+strconv.Itoa(i%100))
			if r.err != nil || r.code != i%100 || r.stdout != want || r.stderr != "err\n" {
				t.Errorf("%d: %+v", i, r)
			}
		})
		all.Go(func() {
			if err := b.Write(t.Context(), b.ref(name), bytes.NewReader(content), int64(len(content))); err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			r, info, err := b.Open(t.Context(), b.ref(name))
			if err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			defer r.Close()
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, content) || info.Size != int64(len(content)) {
				t.Errorf("%d: %d of %d bytes, %v", i, len(got), len(content), err)
			}
		})
		all.Go(func() {
			if _, err := b.Stat(t.Context(), b.ref("")); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	all.Wait()
}

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			mixedLoad(t, b, 200)
			if n := len(b.list("")); n != 200 {
				t.Errorf("%d files", n)
			}
		})
	}
}

func TestMoreCallsThanMayBeOpenWait(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{Calls: 3})
	mixedLoad(t, b, 30)
}

// zeros reads as that many zero bytes.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// peak is the most memory that the agent has had, in bytes.
func (b *box) peak() int {
	b.t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(b.cmd.Process.Pid) + "/status")
	if err != nil {
		b.t.Fatal(err)
	}
	kib, err := strconv.Atoi(strings.TrimSuffix(field(string(status), "VmHWM:"), " kB"))
	if err != nil {
		b.t.Fatal(err)
	}
	return kib << 10
}

func TestMemoryIsConstantWhateverIsMoved(t *testing.T) { //nolint:paralleltest // it measures the process
	b := start(t, asSelf(), guestagent.Options{})
	const size = 100 << 20
	move := func() {
		if err := b.Write(t.Context(), b.ref("big"), zeros(size), size); err != nil {
			t.Fatal(err)
		}
		r, info, err := b.Open(t.Context(), b.ref("big"))
		if err != nil || info.Size != size {
			t.Fatal(err)
		}
		defer r.Close()
		if n, err := io.Copy(io.Discard, r); n != size || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
		if r := b.run(t.Context(), nil, "/bin/sh", "-c", "head -c 100000000 /dev/zero | md5sum; cat big | md5sum"); r.err != nil || r.code != 0 {
			t.Fatalf("%+v", r)
		}
	}
	move()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	agent := b.peak()
	move()
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 24<<20 {
		t.Errorf("the host allocated %d bytes for two hundred megabytes", grown)
	}
	if b.peak() > agent+8<<20 || b.peak() > 64<<20 {
		t.Errorf("the agent had %d bytes, then %d", agent, b.peak())
	}
}

// stuck is a writer that waits at its first byte until it may go on.
type stuck struct {
	once  sync.Once
	begun chan struct{}
	goOn  chan struct{}
	n     int
}

func newStuck() *stuck { return &stuck{begun: make(chan struct{}), goOn: make(chan struct{})} }

func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(func() {
		close(s.begun)
		<-s.goOn
	})
	s.n += len(p)
	return len(p), nil
}

func TestStuckReaderHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	out, done := newStuck(), make(chan error, 1)
	go func() {
		code, err := b.Exec(t.Context(), engine.ExecRequest{
			Args: []string{"head", "-c", "20000000", "/dev/zero"}, Dir: b.dir, Env: []string{path}, Stdout: out,
		})
		if code != 0 {
			err = errors.Join(err, fmt.Errorf("exit %d", code))
		}
		done <- err
	}()
	<-out.begun
	mixedLoad(t, b, 20)
	close(out.goOn)
	if err := <-done; err != nil || out.n != 20_000_000 {
		t.Errorf("%v, %d bytes", err, out.n)
	}
}

func TestUnreadFileHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	b.sh("head -c 20000000 /dev/zero >big")
	var open []io.ReadCloser
	for range 20 {
		r, _, err := b.Open(t.Context(), b.ref("big"))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, r)
	}
	mixedLoad(t, b, 10)
	for i, r := range open {
		if i%2 == 0 {
			if n, err := io.Copy(io.Discard, r); n != 20_000_000 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := r.Read(make([]byte, 1)); err == nil {
			t.Error("a closed stream was read")
		}
	}
	b.alive()
}
