package backend_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestInputThatFailsIsNotPassedOffAsWhole(t *testing.T) {
	t.Parallel()
	// As with a pipe, the program sees an end where its input fails.
	copies := func(_ context.Context, _ *sandboxtest.View, stdin io.Reader, stdout io.Writer) (int, error) {
		if stdin != nil {
			_, _ = io.Copy(stdout, stdin)
		}
		return 0, nil
	}
	e := sandboxtest.NewEngine(sandboxtest.Options{
		Exec: func(ctx context.Context, v *sandboxtest.View, r engine.ExecRequest) (int, error) {
			return copies(ctx, v, r.Stdin, r.Stdout)
		},
		RunCode: func(ctx context.Context, v *sandboxtest.View, r engine.CodeRequest) (int, error) {
			return copies(ctx, v, r.Stdin, r.Stdout)
		},
	})
	b, err := backend.New(e, sandboxtest.Declarations(e))
	if err != nil {
		t.Fatal(err)
	}
	acquired, err := b.Acquire(t.Context(), sandbox.AcquireRequest{
		Owner: "tests", Key: sandbox.Key{Scope: "s", Thread: "t", Agent: "a"},
		Spec:       sandbox.Spec{Kind: "probe", Requires: sandboxtest.Declarations(e).Capabilities},
		SpecDigest: "sha256:" + strings.Repeat("1", 64), PolicyDigest: "sha256:" + strings.Repeat("2", 64),
	})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the source failed")
	for name, run := range map[string]func(io.Reader) (sandbox.ExecResult, error){
		"exec": func(stdin io.Reader) (sandbox.ExecResult, error) {
			return acquired.Session.Exec(t.Context(), sandbox.Command{Args: []string{"cat"}, Stdin: stdin})
		},
		"run code": func(stdin io.Reader) (sandbox.ExecResult, error) {
			return acquired.Session.RunCode(t.Context(), sandbox.Program{Stdin: stdin})
		},
	} {
		if _, err := run(io.MultiReader(strings.NewReader("half"), failing{broken})); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
		if result, err := run(strings.NewReader("whole")); err != nil || string(result.Stdout) != "whole" {
			t.Errorf("%s of input that ends well: %q, %v", name, result.Stdout, err)
		}
		if _, err := run(nil); err != nil {
			t.Errorf("%s without input: %v", name, err)
		}
	}
}
