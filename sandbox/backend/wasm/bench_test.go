package wasm_test

import (
	"bytes"
	"context"
	"strconv"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/wasm"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func acquire(b *testing.B, e *wasm.Engine, name string) {
	b.Helper()
	started, err := e.Start(b.Context(), engine.StartRequest{Name: name, WorkDir: "/work"})
	if err != nil {
		b.Fatal(err)
	}
	if got := (box{started.Guest, b}).prints(`print(1+1)`); got != "2\n" {
		b.Fatal(got)
	}
	if err := e.Delete(b.Context(), started.Guest.ID()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAcquireCold is a new engine, its first sandbox and print(1+1), with
// an empty cache and with a filled one.
func BenchmarkAcquireCold(b *testing.B) {
	for name, config := range map[string]wasm.Config{"compile": {NoCache: true}, "cached": {}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e, err := wasm.NewEngine(config)
				if err != nil {
					b.Fatal(err)
				}
				acquire(b, e, "cold")
				if err := e.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAcquireWarm is a new sandbox of a running engine and print(1+1).
func BenchmarkAcquireWarm(b *testing.B) {
	e := newEngine(b, wasm.Config{})
	acquire(b, e, "first")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		acquire(b, e, "warm"+strconv.Itoa(i))
	}
}

// BenchmarkRunCode is one program in a sandbox that exists.
func BenchmarkRunCode(b *testing.B) {
	const fib = `function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) } print(fib(24))`
	sandbox := start(b, sharedEngine(b))
	for name, source := range map[string]string{
		"print": `print(1+1)`,
		"fib24": fib,
		"files": `writeFile("x", "y".repeat(1e6)); print(readFile("x").length)`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var out bytes.Buffer
				if r := sandbox.runIn(b.Context(), engine.CodeRequest{Source: []byte(source), Stdout: &out}); r.err != nil || r.exit != 0 {
					b.Fatal(r)
				}
			}
		})
	}
}
