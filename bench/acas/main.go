// Command acas times the emulator of Azure Container Apps Sandboxes: how long until it
// answers, and what it answers in a second. `make bench-acas` runs it and writes
// docs/acas-benchmarks.md.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"text/template"
	"time"
)

//go:embed acas.md.tmpl
var pageTemplate string

func main() {
	sandboxctl := flag.String("sandboxctl", "", "the `program` that emulates")
	write := flag.String("write", "", "write the page to this `file`; standard output otherwise")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *sandboxctl, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// page is everything one run found.
type page struct {
	Machine, Go            string
	Clients, Cores, Starts int
	Start, Reads, Writes   int64
}

func run(ctx context.Context, sandboxctl, write string) error {
	p := page{Machine: machine(), Go: runtime.Version(), Clients: clients, Cores: runtime.NumCPU(), Starts: starts}
	if err := p.measure(ctx, sandboxctl); err != nil {
		return err
	}
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return err
	}
	if write == "" {
		_, err = os.Stdout.Write(out.Bytes())
		return err
	}
	return os.WriteFile(write, out.Bytes(), 0o644)
}

// machine is what the numbers were taken on, and how busy it was.
func machine() string {
	model, load := "processor unknown", "load unknown"
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(raw), " ")
		load = "load average " + first + " when the run began"
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s, %s", model, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, load, time.Now().Format("2 January 2006"))
}
