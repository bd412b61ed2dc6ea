package acasapi_test

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// What other clients need stands beside it in docs/acas-benchmarks.md, as .ci/interop
// counts it.
func TestAnOperationIsOneRequest(t *testing.T) {
	t.Parallel()
	onEach(t, how{}, anOperationIsOneRequest)
}

func anOperationIsOneRequest(t *testing.T, o *other) {
	t.Helper()
	w := newWorld(t, o)
	ctx := t.Context()
	requests := func(what string, want int, do func() error) {
		t.Helper()
		before := len(w.other.trace(t, w.name))
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if got := len(w.other.trace(t, w.name)) - before; got != want {
			t.Errorf("%s: %d requests, not %d", what, got, want)
		} else {
			t.Logf("%s: %d", what, got)
		}
	}
	told := toldRequests(t)
	var s *acasapi.Sandbox
	requests("create", told["create"], func() error {
		made, err := w.g.CreateSandbox(ctx, smallest(), acasapi.Making{})
		if err != nil {
			return err
		}
		s, err = w.g.Sandbox(made.ID)
		return err
	})
	requests("exec true", told["exec"], func() error { return second(s.ExecShell(ctx, wire.ShellCommand{Command: "true"})) })
	requests("write 8 MiB", told["write"], func() error {
		return s.WriteFile(ctx, "/app/big", bytes.NewReader(make([]byte, 8<<20)), acasapi.Writing{Size: 8 << 20})
	})
	requests("read 8 MiB", 1, func() error { return drain(s.ReadFile(ctx, "/app/big")) })
	requests("delete", 2, func() error { return s.Delete(ctx, acasapi.Wait{}) }) // and a look that it is gone
}

// toldRequests is what the page for readers says of this client.
func toldRequests(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile("../../../docs/acas-benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSpace(cells[2])); err == nil {
			told[strings.TrimSpace(cells[1])] = n
		}
	}
	if len(told) != 3 {
		t.Fatalf("the page tells of %v", told)
	}
	return told
}

// A file passes through this process without being held in it.
func TestFilesAreStreamedBothWays(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	const size = 128 << 20
	srv := newServer(t)
	r := srv.rig(t)
	s := must(r.group(t, "g").Sandbox("sb-1"))(t)
	before := allocated()
	if err := s.WriteFile(t.Context(), "/app/big", &zeros{left: size}, acasapi.Writing{Size: size}); err != nil {
		t.Fatal(err)
	}
	if err := drain(s.ReadFile(t.Context(), "/big")); err != nil {
		t.Fatal(err)
	}
	if grown := allocated() - before; grown > size/2 {
		t.Errorf("moving %d bytes twice allocated %d", size, grown)
	}
	if got := srv.received("/app/big"); got != size {
		t.Errorf("%d bytes arrived", got)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
