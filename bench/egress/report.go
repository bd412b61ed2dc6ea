package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/template"
	"time"
)

//go:embed egress.md.tmpl
var pageTemplate string

// page is everything one run found.
type page struct {
	Machine, Go, Goproxy, Smokescreen string
	Rounds, Asks, Megabytes, Tunnels  int
	transfers, asks, opens            []row
	held                              []held
}

func newPage(o options) *page {
	return &page{
		Machine: describeMachine(), Go: runtime.Version(),
		Goproxy: version("github.com/elazarl/goproxy"), Smokescreen: version("github.com/stripe/smokescreen"),
		Rounds: o.rounds, Asks: o.asks, Megabytes: o.megabytes, Tunnels: o.tunnels,
	}
}

func (p *page) render() ([]byte, error) {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse the page's template: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return out.Bytes(), nil
}

// Transfers is the table of large bodies.
func (p *page) Transfers() string {
	var b strings.Builder
	b.WriteString("| work | who | rate | of the relay's | processor time per GB |\n|---|---|--:|--:|--:|\n")
	last := ""
	for _, r := range p.transfers {
		fmt.Fprintf(&b, "| %s | %s | %.0f MB/s | %.0f %% | %.2f s |\n", once(r.work, &last), r.who,
			float64(r.bytes)/1e6/r.median.Seconds(), 100*r.against.Seconds()/r.median.Seconds(), r.spent.Seconds()/(float64(r.bytes)/1e9))
	}
	return b.String()
}

// KeptAlive is the table of small requests, Opens that of new connections.
func (p *page) KeptAlive() string { return latencies(p.asks) }

// Opens is the table of new connections.
func (p *page) Opens() string { return latencies(p.opens) }

func latencies(rows []row) string {
	var b strings.Builder
	b.WriteString("| work | who | median | p99 | added median | added p99 | ratio |\n|---|---|--:|--:|--:|--:|--:|\n")
	last := ""
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %.1f× |\n", once(r.work, &last), r.who, took(r.median), took(r.p99),
			took(r.median-r.against), took(r.p99-r.againstP99), r.median.Seconds()/r.against.Seconds())
	}
	return b.String()
}

// Held is the table of many tunnels.
func (p *page) Held() string {
	var b strings.Builder
	b.WriteString("| who | before | open | each | used | closed | median | p99 | descriptors each | left |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, h := range p.held {
		fmt.Fprintf(&b, "| %s | %s | %s | %.1f KiB | %s | %s | %s | %s | %.1f | %d |\n", h.who, mebibytes(h.memory[0]), mebibytes(h.memory[1]),
			float64(h.memory[1]-h.memory[0])/float64(p.Tunnels)/1024, mebibytes(h.memory[2]), mebibytes(h.memory[3]),
			took(h.median), took(h.p99), float64(h.descriptors[1]-h.descriptors[0])/float64(p.Tunnels), h.descriptors[2]-h.descriptors[0])
	}
	return b.String()
}

// Targets says what the proxy is held to, and what it came to.
func (p *page) Targets() string {
	var b strings.Builder
	for _, r := range p.transfers {
		if r.who == oursName && strings.HasSuffix(r.work, " a tunnel") {
			fmt.Fprintf(&b, "* %s: %.0f %% of a plain relay's throughput, where at least 80 are wanted.\n", r.work, 100*r.against.Seconds()/r.median.Seconds())
		}
	}
	for _, r := range p.asks {
		if r.who == oursName {
			fmt.Fprintf(&b, "* %s: %s more at the median and %s at p99, where less than 300 µs and 1 ms are wanted.\n", r.work, took(r.median-r.against), took(r.p99-r.againstP99))
		}
	}
	for _, h := range p.held {
		if h.who == oursName {
			fmt.Fprintf(&b, "* %d tunnels at once: %s more once they were used than when they were opened, where memory is to be flat.\n", p.Tunnels, mebibytes(h.memory[2]-h.memory[1]))
		}
	}
	return b.String()
}

// once is a text where it differs from the last.
func once(text string, last *string) string {
	if text == *last {
		return ""
	}
	*last = text
	return text
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func took(d time.Duration) string {
	if d.Abs() < time.Millisecond {
		return fmt.Sprintf("%.0f µs", float64(d.Nanoseconds())/1e3)
	}
	return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
}

// describeMachine says what the run ran on, without names.
func describeMachine() string {
	parts := []string{fmt.Sprintf("%d cores", runtime.NumCPU()), runtime.GOOS + "/" + runtime.GOARCH}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				parts = append([]string{strings.TrimSpace(value)}, parts...)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if load, _, ok := strings.Cut(string(text), " "); ok {
			parts = append(parts, "load average "+load+" when the run began")
		}
	}
	return strings.Join(append(parts, time.Now().UTC().Format("2 January 2006")), ", ")
}

// version is that of a module in this binary.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return ""
}
