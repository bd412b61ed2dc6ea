package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
)

func measureAll(ctx context.Context, o options) (p *page, err error) {
	p = &page{Machine: describeMachine(), Go: runtime.Version(), Rounds: o.rounds}
	if p.Bubblewrap, err = version(ctx, "bwrap"); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-guests-")
	if err != nil {
		return nil, err
	}
	defer func() {
		// The bare runsc leaves a mounted network namespace behind, if it ran.
		_ = syscall.Unmount(filepath.Join(dir, "state", "null-netns"), syscall.MNT_DETACH)
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	theirs, err := measureReference(ctx, o.python, o.rounds)
	if err != nil {
		return nil, err
	}
	p.Reference = theirs != nil

	subjects, bare, err := start(ctx, p, o, dir)
	defer func() {
		for _, s := range subjects {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	if err != nil {
		return nil, err
	}
	for _, t := range tasks(subjects, bare, theirs, dir) {
		fmt.Fprintln(os.Stderr, t.name)
		rows, err := t.measure(ctx, o.rounds)
		if err != nil {
			return nil, err
		}
		p.rows = append(p.rows, rows...)
	}
	return p, p.pressed(ctx, subjects)
}

// pressed adds what many sandboxes and hostile neighbours do.
func (p *page) pressed(ctx context.Context, subjects []*subject) error {
	for _, s := range subjects {
		fmt.Fprintln(os.Stderr, s.name+": many sandboxes, then a neighbour that attacks")
		l, err := measureLoad(ctx, s)
		if err != nil {
			return fmt.Errorf("many sandboxes of %s: %w", s.name, err)
		}
		n, err := measureNeighbours(ctx, s)
		if err != nil {
			return fmt.Errorf("neighbours of %s: %w", s.name, err)
		}
		p.loads, p.neighbours = append(p.loads, l), append(p.neighbours, n...)
	}
	return nil
}

// start starts the backends and answers the bare commands beside them. On an error
// it answers what was started so far.
func start(ctx context.Context, p *page, o options, dir string) (subjects []*subject, bare []contender, err error) {
	config := process.Config{Users: process.Users{First: firstUser, Count: users}}
	b, err := process.New(ctx, config)
	if err != nil {
		return nil, nil, fmt.Errorf("start the process backend: %w", err)
	}
	s, err := newSubject(ctx, "this backend", b)
	if err != nil {
		return nil, nil, err
	}
	subjects, bare = []*subject{s}, []contender{bareBubblewrap()}
	if o.runsc == "" {
		return subjects, bare, nil
	}
	if p.Runsc, err = gvisorVersion(o.runsc); err != nil {
		return subjects, nil, err
	}
	config.Runtime, config.Runsc = process.RuntimeGVisor, o.runsc
	if b, err = process.New(ctx, config); err != nil {
		return subjects, nil, fmt.Errorf("start the process backend with gVisor: %w", err)
	}
	if s, err = newSubject(ctx, "this backend, gVisor", b); err != nil {
		return subjects, nil, err
	}
	subjects = append(subjects, s)
	command, err := bareRunsc(o.runsc, dir)
	return subjects, append(bare, command), err
}

func tasks(subjects []*subject, bare []contender, theirs *reference, dir string) []task {
	each := func(of func(*subject) contender) (all []contender) {
		for _, s := range subjects {
			all = append(all, of(s))
		}
		return all
	}
	list := []task{
		{name: "make a sandbox", run: slices.Concat(bare, each((*subject).making), theirs.told(func(r *reference) float64 { return r.Acquire }))},
		{name: "run a program", run: slices.Concat([]contender{plain()}, each((*subject).running), theirs.told(func(r *reference) float64 { return r.Exec }))},
	}
	small := transfer(dir, 1<<20, 0, each)
	small[0].run = append(small[0].run, theirs.told(func(r *reference) float64 { return r.Write1MiB })...)
	small[1].run = append(small[1].run, theirs.told(func(r *reference) float64 { return r.Read1MiB })...)
	list = append(append(list, small...), transfer(dir, 100<<20, 10, each)...)
	return append(list, task{name: "ask about a file", run: slices.Concat(each((*subject).asking),
		theirs.told(func(r *reference) float64 { return r.Stat }))})
}

// transfer is a file of that size, in and then out.
func transfer(dir string, size int64, times int, each func(func(*subject) contender) []contender) []task {
	name := fmt.Sprintf("%d MiB ", size>>20)
	return []task{
		{name: name + "in", bytes: size, times: times, run: append([]contender{copied(dir, size, false)},
			each(func(s *subject) contender { return s.writing(size) })...)},
		{name: name + "out", bytes: size, times: times, run: append([]contender{copied(dir, size, true)},
			each(func(s *subject) contender { return s.reading(size) })...)},
	}
}

func version(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", program, err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, nil
}

// gvisorVersion is that of the module a program was built from; the program itself
// does not know it.
func gvisorVersion(program string) (string, error) {
	const module = "gvisor.dev/gvisor"
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", fmt.Errorf("read how %s was built: %w", program, err)
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module {
			return "gVisor " + m.Version, nil
		}
	}
	return "", fmt.Errorf("%s was not built from %s", program, module)
}
