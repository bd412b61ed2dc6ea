// Command guests times what a host pays for a sandbox on this machine: making one,
// a program in it, files in and out, a question about a file. It sets the process
// backend beside what there is without it: a plain fork and exec, the bare bwrap
// and runsc commands, and the reference's bubblewrap backend. `make bench-guests`
// runs it and writes docs/guest-benchmarks.md.
//
// It then makes, uses and disposes of 500 sandboxes, and looks on while a neighbour
// attacks the machine. Run it as root; sandboxes do not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	var o options
	flag.StringVar(&o.write, "write", "", "write the page to this `file`; standard output otherwise")
	flag.StringVar(&o.python, "python", "", "a `Python` that has the reference's bubblewrap backend; empty skips it")
	flag.StringVar(&o.runsc, "runsc", "", "gVisor's `runsc`; empty skips it")
	flag.IntVar(&o.rounds, "rounds", 60, "how often each piece of work is timed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	write, python, runsc string
	rounds               int
}

func run(ctx context.Context, o options) error {
	if os.Geteuid() != 0 {
		return errors.New("run as root: the comparison drops to an unprivileged user by itself, and the reference binds a directory")
	}
	page, err := measureAll(ctx, o)
	if err != nil {
		return err
	}
	text, err := page.render()
	if err != nil {
		return err
	}
	if o.write == "" {
		_, err = os.Stdout.Write(text)
		return err
	}
	return os.WriteFile(o.write, text, 0o644)
}
