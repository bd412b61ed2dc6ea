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

//go:embed benchmarks.md.tmpl
var pageTemplate string

// results is everything one run found.
type results struct {
	machine  string
	python   string // empty where the reference was skipped
	sections []section
}

func (r *results) page() ([]byte, error) {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse the page's template: %w", err)
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{
		"Machine": r.machine, "Python": r.python, "Table": r.table(), "Rounds": rounds,
		"Go": runtime.Version(), "OPA": version("github.com/open-policy-agent/opa"), "Cedar": version("github.com/cedar-policy/cedar-go"),
	})
	if err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return out.Bytes(), nil
}

// table has one row for each engine at each piece of work. The first of a
// section is ours, and the last column says how many times longer a row takes.
func (r *results) table() string {
	var b strings.Builder
	b.WriteString("| work | engine | takes | allocations | ratio |\n|---|---|--:|--:|--:|\n")
	for _, s := range r.sections {
		work := s.work
		for _, t := range s.timings {
			allocations := "not counted"
			if t.allocations >= 0 {
				allocations = fmt.Sprintf("%.0f", t.allocations)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s× |\n",
				work, t.name, duration(t.nanoseconds), allocations, ratio(t.nanoseconds/s.timings[0].nanoseconds))
			work = ""
		}
	}
	return b.String()
}

func duration(nanoseconds float64) string {
	switch {
	case nanoseconds < 1e3:
		return fmt.Sprintf("%.0f ns", nanoseconds)
	case nanoseconds < 1e6:
		return fmt.Sprintf("%.2f µs", nanoseconds/1e3)
	default:
		return fmt.Sprintf("%.2f ms", nanoseconds/1e6)
	}
}

func ratio(times float64) string {
	if times < 10 {
		return fmt.Sprintf("%.1f", times)
	}
	return fmt.Sprintf("%.0f", times)
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
