package wasm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/wasm"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func newBackend(t *testing.T, config wasm.Config, options ...backend.Option) *backend.Backend {
	t.Helper()
	start(t, sharedEngine(t)) // so that the code is in the cache
	b, err := wasm.New(config, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func spec() sandbox.Spec {
	requires := *wasm.Declarations().Capabilities
	return sandbox.Spec{Kind: "codeact", Requires: &requires, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}}
}

func TestBackendConforms(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, sandboxtest.Subject{
		Name:     wasm.Name,
		Backend:  newBackend(t, wasm.Config{}),
		Spec:     spec(),
		Programs: sandboxtest.JavaScript(),
	})
}

func TestDeclarationsAreTheFactsThatPlansDecideWith(t *testing.T) {
	t.Parallel()
	want, err := facts.Lookup("wasm")
	if err != nil {
		t.Fatal(err)
	}
	got := wasm.Declarations()
	if got.Backend != wasm.Name || got.Isolation != want.Isolation || got.Isolation != sandbox.IsolationRuntime ||
		*got.Capabilities != *want.Capabilities || got.EgressModes != sandbox.SetOf(sandbox.EgressClosed) {
		t.Errorf("%+v", got)
	}
	small := newBackend(t, wasm.Config{StorageBytes: 4 << 20, FileBytes: 1 << 20, Entries: 10}).Declarations()
	if *small.FilesIn != (sandbox.TransferLimits{MaxBytesPerFile: 1 << 20, MaxTotalBytes: 4 << 20, MaxFiles: 10}) || *small.FilesOut != *small.FilesIn {
		t.Errorf("ceilings over the storage: %v, %v", small.FilesIn, small.FilesOut)
	}
	if large := newBackend(t, wasm.Config{}).Declarations(); *large.FilesIn != sandbox.DefaultTransferLimits() {
		t.Errorf("%v", large.FilesIn)
	}
}

// TestEachWayToMisbehaveHasItsOwnCode is what a host sees of hostile programs.
// kept reports whether what a stopped program printed was kept. One that is
// stopped by the clock may not have come to printing on a busy machine.
func kept(got, want string, timeout time.Duration) bool {
	return got == want || timeout > 0 && strings.HasPrefix(want, got)
}

func TestEachWayToMisbehaveHasItsOwnCode(t *testing.T) {
	t.Parallel()
	b := newBackend(t, wasm.Config{MemoryBytes: 64 << 20, StorageBytes: 1000}, backend.WithOutputLimit(100_000))
	acquired, err := b.Acquire(t.Context(), sandbox.AcquireRequest{
		Owner: "tests", Key: sandbox.Key{Scope: "s", Thread: "t", Agent: "a"}, Spec: spec(),
		SpecDigest:   "sha256:" + strings.Repeat("1", 64),
		PolicyDigest: "sha256:" + strings.Repeat("2", 64),
	})
	if err != nil {
		t.Fatal(err)
	}
	session := acquired.Session
	for name, c := range map[string]struct {
		source  string
		timeout time.Duration
		code    sandbox.Code
		stdout  string
	}{
		"loops":             {`print("begun"); for (;;);`, time.Second, sandbox.CodeGuestTimeout, "begun\n"},
		"sleeps":            {`print("begun"); sleep(3600e3)`, time.Second, sandbox.CodeGuestTimeout, "begun\n"},
		"matches for ever":  {`print("begun"); /^(a+)+(?!c)$/.test("a".repeat(60) + "b")`, time.Second, sandbox.CodeGuestTimeout, "begun\n"},
		"has no time":       {`print(1)`, time.Nanosecond, sandbox.CodeGuestQueuedTimeout, ""},
		"floods":            {`for (;;) print("0123456789")`, 0, sandbox.CodeGuestOutputLimit, strings.Repeat("0123456789\n", 9091)[:100_000]},
		"floods the errors": {`for (;;) console.error("0123456789")`, 0, sandbox.CodeGuestOutputLimit, ""},
		"allocates":         {`print("begun"); let s = "x"; for (;;) { s += s; s.charCodeAt(0) }`, 0, sandbox.CodeGuestMemoryLimit, "begun\n"},
		"recurses":          {`print("begun"); (function f() { f() })()`, 0, sandbox.CodeGuestStackLimit, "begun\n"},
		"nests its text":    {strings.Repeat("(", 1<<19), 0, sandbox.CodeGuestMemoryLimit, ""},
	} {
		_, err := session.RunCode(t.Context(), sandbox.Program{Source: []byte(c.source), Timeout: c.timeout})
		var stopped *sandbox.Stopped
		if !errors.Is(err, c.code) || !errors.As(err, &stopped) || !kept(string(stopped.Result.Stdout), c.stdout, c.timeout) {
			if name == "nests its text" && errors.Is(err, sandbox.CodeGuestCrashed) {
				continue // whichever bound is met first
			}
			t.Errorf("%s: %v", name, err)
		}
		result, err := session.RunCode(t.Context(), sandbox.Program{Source: []byte(`print(6*7)`)})
		if err != nil || string(result.Stdout) != "42\n" {
			t.Errorf("after one that %s: %v", name, err)
		}
	}
	if err := session.WriteFile(t.Context(), "big", strings.NewReader(strings.Repeat("x", 1001)), 1001); err == nil {
		t.Error("a file over the storage was taken")
	}
	if err := session.WriteFile(t.Context(), "fits", strings.NewReader(strings.Repeat("x", 900)), 900); err != nil {
		t.Error(err)
	}
	if err := session.WriteFile(t.Context(), "more", strings.NewReader(strings.Repeat("x", 101)), 101); !errors.Is(err, sandbox.CodeGuestStorageLimit) {
		t.Errorf("a file beside it: %v", err)
	}
}
