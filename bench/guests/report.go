package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/template"
	"time"
)

//go:embed guests.md.tmpl
var pageTemplate string

// page is everything one run found.
type page struct {
	Machine    string
	Go         string
	Bubblewrap string
	Runsc      string
	Reference  bool
	Rounds     int
	rows       []row
	loads      []load
	neighbours []neighbour
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

// Work is the table of what each piece of work took.
func (p *page) Work() string {
	var b strings.Builder
	b.WriteString("| work | who | median | p99 | rate | ratio |\n|---|---|--:|--:|--:|--:|\n")
	last := ""
	for _, r := range p.rows {
		task, name, rate := r.task, r.name, ""
		if task == last {
			task = ""
		}
		last = r.task
		if r.note != "" {
			name += ", " + r.note
		}
		if r.bytes > 0 {
			rate = fmt.Sprintf("%.0f MB/s", float64(r.bytes)/1e6/r.median.Seconds())
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.1f× |\n", task, name, took(r.median), took(r.p99), rate, r.ratio)
	}
	return b.String()
}

// Load is the table of the 500 sandboxes.
func (p *page) Load() string {
	var b strings.Builder
	b.WriteString("| who | in all | each | memory after 50, after 500 | descriptors after 50, after 500 |\n|---|--:|--:|--:|--:|\n")
	for _, l := range p.loads {
		fmt.Fprintf(&b, "| %s | %.1f s | %s | %.0f MiB, %.0f MiB | %d, %d |\n", l.name, l.took.Seconds(), took(l.took/loadSandboxes),
			float64(l.memory[0])/(1<<20), float64(l.memory[1])/(1<<20), l.descriptors[0], l.descriptors[1])
	}
	return b.String()
}

// Neighbours is the table of the attacks.
func (p *page) Neighbours() string {
	var b strings.Builder
	b.WriteString("| who | the other sandbox runs | median | p99 | what became of it |\n|---|---|--:|--:|---|\n")
	for _, n := range p.neighbours {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", n.name, n.attack, took(n.median), took(n.p99), n.ended)
	}
	return b.String()
}

func took(d time.Duration) string {
	switch {
	case d == 0:
		return "not taken"
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d.Nanoseconds())/1e3)
	default:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	}
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
