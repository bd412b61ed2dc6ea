// Command egress times the egress proxy beside what people would take instead: a
// relay that only copies, which is the least that can stand between two sockets,
// and the goproxy and smokescreen proxies. `make bench-egress` runs it and writes
// docs/egress-benchmarks.md.
//
// Each contender is a process of its own behind a Unix socket. Client and servers
// are this process, the same for all, and contenders take turns.
//
// It is a module of its own, so that the peers never enter the product's.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	var o options
	flag.StringVar(&o.write, "write", "", "write the page to this `file`; standard output otherwise")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each transfer is timed")
	flag.IntVar(&o.asks, "asks", 5000, "how many small requests are timed")
	flag.IntVar(&o.megabytes, "size", 256, "MiB of one transfer")
	flag.IntVar(&o.tunnels, "tunnels", 1000, "how many tunnels are held open at once")
	contender := flag.String("serve", "", "internal: be this `contender`, as the command starts itself")
	dir := flag.String("dir", "", "internal: where a started contender finds its keys and sockets, the `directory` that the command made")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *contender != "" {
		err = serve(ctx, *contender, *dir)
	} else {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	write                            string
	rounds, asks, megabytes, tunnels int
}

func run(ctx context.Context, o options) (err error) {
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
