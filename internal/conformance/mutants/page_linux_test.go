package mutants_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/wasm"
)

var update = flag.Bool("update", false, "write the page of the documentation")

// page is the page of the documentation that is made here.
const page = "../../../docs/conformance.md"

// TestEveryBackendConformsAndThePageSaysSo runs every suite against the backends
// that this machine has and compares the page with what came of it.
func TestEveryBackendConformsAndThePageSaysSo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("every backend is attacked, gVisor too, which is long; make test does")
	}
	gvisor := withEgress(t, onGVisor(t, config(t)), nil)
	gvisor.Except = onGVisorExcept()
	columns := []column{
		{name: "wasm", subject: overWASM(t)},
		{name: "process", subject: withEgress(t, config(t), nil)},
		{name: "process on gVisor", subject: gvisor},
	}
	for i := range columns {
		results, err := conformance.Run(t.Context(), columns[i].subject)
		if err != nil {
			t.Fatal(err)
		}
		columns[i].results = map[string]conformance.Result{}
		for _, r := range results {
			if r.Outcome.Failed() {
				t.Errorf("%s: %s %s/%s: %s", columns[i].name, r.Outcome, r.Suite, r.Probe, r.Detail)
			}
			columns[i].results[r.Suite+"/"+r.Probe] = r
		}
	}
	if t.Failed() {
		return
	}
	text := write(columns)
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != text {
		t.Errorf("%s is not current: go test ./internal/conformance/mutants -run Page -update writes it", page)
	}
}

func overWASM(t *testing.T) conformance.Subject {
	t.Helper()
	b, err := wasm.New(wasm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return conformance.Subject{
		Backend: b, Programs: conformance.JavaScript(),
		Spec: sandbox.Spec{Kind: "probe", Requires: b.Declarations().Capabilities, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}},
	}
}

// column is one backend's.
type column struct {
	name    string
	subject conformance.Subject
	results map[string]conformance.Result
}

// write makes the page.
func write(columns []column) string {
	var b strings.Builder
	b.WriteString(`# What is attacked, and what is known to notice

<!-- Written by the tests of internal/conformance/mutants. Do not edit. -->

` + summary() + `

A backend is not believed; it is attacked. The conformance suites run against every
backend in CI, and against yours and on your machine with

    sandboxctl conformance --backend process

or, in Go, with ` + "`sandboxtest.Run`" + `. A probe that needs a capability which the backend
does not have is skipped and says so; an attack that could not be staged counts as a
failure.

The EGRESS suites give each sandbox rules and an internet that is made for the run:
names, public addresses and servers with certificates, in the attacker's own process.
What has to be refused is first seen to answer whoever is not confined, and beside
each refusal something is allowed. A guarantee that a backend declares, and that no
probe shows, counts as a failure, unless it is an emulator's word alone, which meets no
floor and no requirement; that is skipped.

## Backends

`)
	for _, s := range conformance.Suites() {
		fmt.Fprintf(&b, "| %s |", s.Name)
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", c.name)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
		for _, p := range s.Probes {
			fmt.Fprintf(&b, "| %s |", strings.ReplaceAll(p.Name, "-", " "))
			for _, c := range columns {
				r := c.results[s.Name+"/"+p.Name]
				cell := "held"
				if r.Outcome == conformance.Skip {
					cell, _, _ = strings.Cut(r.Detail, ",")
				}
				fmt.Fprintf(&b, " %s |", cell)
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	b.WriteString(`## Mutants

The suites themselves are tested by what they are for: layers, engines, programs and
sandboxes with one thing wrong. Every one of these has to be noticed, by the probe
that is named and whoever else; and every probe has to notice one of them.

`)
	for _, k := range kinds() {
		fmt.Fprintf(&b, "| what is wrong with the %s | noticed by |\n|---|---|\n", kindWord(k.name))
		for _, m := range k.mutants() {
			fmt.Fprintf(&b, "| %s | `%s` |\n", m.name, m.by)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// summary counts what attacks and what has to be noticed. The page is written only by
// tests that saw all of it noticed.
func summary() string {
	probes, mutants := 0, 0
	for _, s := range conformance.Suites() {
		probes += len(s.Probes)
	}
	for _, k := range kinds() {
		mutants += len(k.mutants())
	}
	return fmt.Sprintf("%d probes, %d broken engines, layers, programs and sandboxes: all noticed.", probes, mutants)
}

func kindWord(kind string) string {
	switch kind {
	case "exec":
		return "way programs are run"
	case "proxy":
		return "egress proxy"
	case "outlet":
		return "way to the egress proxy"
	case "real":
		return "layer in front of a real sandbox"
	}
	return kind
}
