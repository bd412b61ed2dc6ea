package wasm_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/wasm"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestStartAnswersTheSandboxThatExists(t *testing.T) {
	t.Parallel()
	e := newEngine(t, wasm.Config{})
	ctx := t.Context()
	req := engine.StartRequest{Name: "one", Labels: map[string]string{"owner": "a"}, WorkDir: "/home/user/work"}
	first, err := e.Start(ctx, req)
	if err != nil || first.Origin != sandbox.OriginCreated {
		t.Fatalf("%+v, %v", first, err)
	}
	req.Labels = map[string]string{"owner": "b"}
	second, err := e.Start(ctx, req)
	if err != nil || second.Origin != sandbox.OriginAdopted || second.Labels["owner"] != "a" || second.Guest.ID() != first.Guest.ID() {
		t.Fatalf("%+v, %v", second, err)
	}
	if err := e.Delete(ctx, first.Guest.ID()); err != nil {
		t.Fatal(err)
	}
	third, err := e.Start(ctx, req)
	if err != nil || third.Origin != sandbox.OriginCreated || third.Guest.ID() == first.Guest.ID() {
		t.Fatalf("after deletion: %+v, %v", third, err)
	}
	if err := e.Delete(ctx, first.Guest.ID()); err != nil {
		t.Errorf("deleting what is gone: %v", err)
	}
	b := box{third.Guest, t}
	if got := b.prints(`writeFile("x", "1"); print(readFile("/home/user/work/x"))`); got != "1\n" {
		t.Errorf("printed %q", got)
	}
}

func TestListFindsByEveryLabel(t *testing.T) {
	t.Parallel()
	e := newEngine(t, wasm.Config{})
	ctx := t.Context()
	for name, labels := range map[string]map[string]string{
		"a": {"owner": "x", "kind": "1"}, "b": {"owner": "x", "kind": "2"}, "c": {"owner": "y", "kind": "1"},
	} {
		if _, err := e.Start(ctx, engine.StartRequest{Name: name, Labels: labels, WorkDir: "/work"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		match map[string]string
		want  int
	}{
		{map[string]string{"owner": "x"}, 2},
		{map[string]string{"owner": "x", "kind": "1"}, 1},
		{map[string]string{"owner": "z"}, 0},
		{map[string]string{"none": ""}, 0},
		{nil, 3},
	} {
		found, err := e.List(ctx, c.match)
		if err != nil || len(found) != c.want {
			t.Errorf("%v: %d found, %v", c.match, len(found), err)
		}
	}
}

func TestStartRefusesWhatItCannotServe(t *testing.T) {
	t.Parallel()
	e := sharedEngine(t)
	for name, req := range map[string]engine.StartRequest{
		"an image":                      {WorkDir: "/work", Image: sandbox.Image{Prebuilt: "python-3.13"}},
		"a network":                     {WorkDir: "/work", Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist}},
		"no directory":                  {},
		"a relative directory":          {WorkDir: "work"},
		"the root":                      {WorkDir: "/"},
		"a directory with dots":         {WorkDir: "/work/../etc"},
		"an endless directory":          {WorkDir: "/" + strings.Repeat("x", 300)},
		"more directories than entries": {WorkDir: strings.Repeat("/x", 5000)},
	} {
		req.Name = "refused"
		if _, err := e.Start(t.Context(), req); err == nil {
			t.Errorf("%s was served", name)
		}
		found, err := e.List(t.Context(), nil)
		for _, f := range found {
			if err != nil || f.Name == "refused" {
				t.Errorf("%s left something behind: %v, %v", name, f, err)
			}
		}
	}
}

func TestDeleteEndsWhatRuns(t *testing.T) {
	t.Parallel()
	e := newEngine(t, wasm.Config{})
	b := start(t, e)
	inside := make(chan struct{})
	ended := make(chan result, 1)
	go func() {
		ended <- b.runIn(context.Background(), engine.CodeRequest{
			Source: []byte(`print(1); for (;;);`),
			Stdout: writerFunc(func(p []byte) (int, error) { close(inside); return len(p), nil }),
		})
	}()
	<-inside
	if err := e.Delete(t.Context(), b.ID()); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; !errors.Is(r.err, engine.ErrGone) {
		t.Errorf("the program: %v", r.err)
	}
	if r := b.run(`print(1)`); !errors.Is(r.err, engine.ErrGone) {
		t.Errorf("a later program: %v", r.err)
	}
	if _, err := b.Stat(t.Context(), at("/work")); !errors.Is(err, engine.ErrGone) {
		t.Errorf("a later stat: %v", err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	start(t, sharedEngine(t)) // so that the code is in the cache
	e, err := wasm.NewEngine(wasm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	started, err := e.Start(t.Context(), engine.StartRequest{Name: "x", WorkDir: "/work"})
	if err != nil {
		t.Fatal(err)
	}
	b := box{started.Guest, t}
	inside := make(chan struct{})
	ended := make(chan result, 1)
	go func() {
		ended <- b.runIn(context.Background(), engine.CodeRequest{
			Source: []byte(`print(1); sleep(3600e3)`),
			Stdout: writerFunc(func(p []byte) (int, error) { close(inside); return len(p), nil }),
		})
	}()
	<-inside
	for range 2 {
		if err := e.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if r := <-ended; !errors.Is(r.err, engine.ErrGone) {
		t.Errorf("the program: %v", r.err)
	}
	if _, err := e.Start(t.Context(), engine.StartRequest{Name: "y", WorkDir: "/work"}); !errors.Is(err, engine.ErrGone) {
		t.Errorf("a start after the end: %v", err)
	}
}

func TestCloseBeforeUseIsNothing(t *testing.T) {
	t.Parallel()
	e, err := wasm.NewEngine(wasm.Config{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestStartGivesUpWithItsContextWhileCompiling(t *testing.T) {
	t.Parallel()
	e := newEngine(t, wasm.Config{NoCache: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Start(ctx, engine.StartRequest{Name: "x", WorkDir: "/work"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFilePlane(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	ctx := t.Context()
	steps := []struct {
		name string
		do   func() error
		want error
	}{
		{"write where the parent is missing", func() error { return b.Write(ctx, at("/work/d/f"), strings.NewReader("x"), 1) }, engine.ErrNotExist},
		{"mkdir", func() error { return b.Mkdir(ctx, at("/work/d")) }, nil},
		{"mkdir again", func() error { return b.Mkdir(ctx, at("/work/d")) }, nil},
		{"write", func() error { return b.Write(ctx, at("/work/d/f"), strings.NewReader("x"), 1) }, nil},
		{"mkdir over a file", func() error { return b.Mkdir(ctx, at("/work/d/f")) }, engine.ErrNotDirectory},
		{"write through a file", func() error { return b.Write(ctx, at("/work/d/f/g"), strings.NewReader("x"), 1) }, engine.ErrNotDirectory},
		{"write over a directory", func() error { return b.Write(ctx, at("/work/d"), strings.NewReader("x"), 1) }, engine.ErrIsDirectory},
		{"content too short", func() error { return b.Write(ctx, at("/work/d/f"), strings.NewReader("ab"), 3) }, engine.ErrSize},
		{"content too long", func() error { return b.Write(ctx, at("/work/d/f"), strings.NewReader("ab"), 1) }, engine.ErrSize},
		{"content that fails", func() error { return b.Write(ctx, at("/work/d/f"), failing{}, 5) }, errFull},
		{"list a file", func() error { return b.List(ctx, at("/work/d/f"), func(engine.Info) bool { return true }) }, engine.ErrNotDirectory},
		{"open a directory", func() error { _, _, err := b.Open(ctx, at("/work/d")); return err }, engine.ErrNotRegular},
		{"open nothing", func() error { _, _, err := b.Open(ctx, at("/work/none")); return err }, engine.ErrNotExist},
		{"stat nothing", func() error { _, err := b.Stat(ctx, at("/work/none")); return err }, engine.ErrNotExist},
		{"outside the root", func() error { _, err := b.Stat(ctx, at("/etc")); return err }, engine.ErrPermission},
		{"beside the root", func() error { _, err := b.Stat(ctx, at("/workx")); return err }, engine.ErrPermission},
		{"a path with dots", func() error { _, err := b.Stat(ctx, at("/work/../etc")); return err }, engine.ErrPermission},
		{"remove a directory", func() error { return b.Remove(ctx, at("/work/d"), false) }, engine.ErrIsDirectory},
		{"remove nothing", func() error { return b.Remove(ctx, at("/work/none"), true) }, engine.ErrNotExist},
		{"remove the work directory", func() error { return b.Remove(ctx, at("/work"), true) }, engine.ErrPermission},
		{"the file stands", func() error {
			if got := b.read("/work/d/f"); got != "x" {
				return errors.New(got)
			}
			return nil
		}, nil},
		{"remove recursively", func() error { return b.Remove(ctx, at("/work/d"), true) }, nil},
		{"it is gone", func() error { _, err := b.Stat(ctx, at("/work/d/f")); return err }, engine.ErrNotExist},
	}
	for _, s := range steps {
		if err := s.do(); !errors.Is(err, s.want) {
			t.Errorf("%s: %v", s.name, err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := b.Stat(ended, at("/work")); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFull }

func TestStreamShowsTheFileAsItWasOpened(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	b.write("/work/f", "before")
	r, info, err := b.Open(t.Context(), at("/work/f"))
	if err != nil || info.Size != 6 || info.Kind != sandbox.EntryFile || !info.SizeKnown {
		t.Fatalf("%+v, %v", info, err)
	}
	b.prints(`writeFile("f", "AFTER and longer"); removeFile("f"); writeFile("f", "again")`)
	content, err := io.ReadAll(r)
	if err != nil || string(content) != "before" {
		t.Errorf("%q, %v", content, err)
	}
	if got := b.read("/work/f"); got != "again" {
		t.Errorf("%q", got)
	}
}

func TestProgramAndHostShareFilesByteForByte(t *testing.T) {
	t.Parallel()
	b := start(t, sharedEngine(t))
	all := make([]byte, 0, 1<<16)
	for i := range 1 << 16 {
		all = append(all, byte(i), byte(i>>8))
	}
	if err := b.Write(t.Context(), at("/work/in"), bytes.NewReader(all), int64(len(all))); err != nil {
		t.Fatal(err)
	}
	b.prints(`writeFile("out", readFile("in", "bytes"))`)
	if got := b.read("/work/out"); got != string(all) {
		t.Error("the bytes differ")
	}
	var names []string
	err := b.List(t.Context(), at("/work"), func(i engine.Info) bool { names = append(names, i.Name); return true })
	if err != nil || strings.Join(names, " ") != "in out" {
		t.Errorf("%v, %v", names, err)
	}
}
