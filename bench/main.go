// Command bench times the decision, the matcher and the subset proof beside their
// peers: OPA's Go library, cedar-go and the reference Python package. All engines
// must agree on every question that they can express, which is checked before
// anything is timed. `make bench-peers` runs it.
//
// It is a module of its own, so that the peers never enter the product's.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	write := flag.String("write", "", "write the page to this `file`; standard output otherwise")
	python := flag.String("python", "", "a `Python` that has the reference package; empty skips it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *write, *python); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, write, python string) error {
	var r results
	r.machine = describeMachine()
	var err error
	if r.sections, r.python, err = decisions(ctx, python); err != nil {
		return err
	}
	for _, n := range []int{100, 1_000, 10_000} {
		s, err := hosts(ctx, n)
		if err != nil {
			return err
		}
		r.sections = append(r.sections, s)
	}
	proofs, err := subset(ctx)
	if err != nil {
		return err
	}
	r.sections = append(r.sections, proofs...)
	page, err := r.page()
	if err != nil {
		return err
	}
	if write == "" {
		_, err = os.Stdout.Write(page)
		return err
	}
	return os.WriteFile(write, page, 0o644)
}
