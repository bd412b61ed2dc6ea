package output_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	if plan, is := os.LookupEnv(childPlan); is {
		os.Exit(child(plan))
	}
	goleak.VerifyTestMain(m)
}

// scene is a sandbox whose outputs are collected into a directory.
type scene struct {
	*sandbox.Session
	engine *sandboxtest.Engine
	guest  *sandboxtest.View
	spec   sandbox.Spec
	sink   *output.DirSink
	root   string
}

const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

func newScene(t *testing.T, options output.DirOptions) *scene {
	t.Helper()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	b := sandboxtest.Backend(t, e)
	s := &scene{engine: e, spec: sandbox.Spec{Kind: "codeact", Requires: b.Declarations().Capabilities}}
	acquired, err := b.Acquire(t.Context(), sandbox.AcquireRequest{
		Owner: "reports", Key: sandbox.Key{Scope: "tenant", Thread: "conversation", Agent: "analyst"},
		Spec: s.spec, SpecDigest: digest, PolicyDigest: digest,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Session, s.guest = acquired.Session, e.View(acquired.Session.Info().InstanceID)
	s.root = t.TempDir()
	s.sink = openSink(t, s.root, options)
	return s
}

func openSink(t *testing.T, root string, options output.DirOptions) *output.DirSink {
	t.Helper()
	sink, err := output.NewDirSink(root, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
	})
	return sink
}

// declare gives the spec outputs at these paths, and the guest files that hold
// their own path.
func (s *scene) declare(t *testing.T, paths ...string) {
	t.Helper()
	s.spec.Outputs = map[string]sandbox.Output{}
	for _, path := range paths {
		s.spec.Outputs[path] = sandbox.Output{Path: path}
		if err := s.WriteFile(t.Context(), path, strings.NewReader(path), int64(len(path))); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *scene) collect(t *testing.T, options ...output.CollectOption) ([]output.Landed, error) {
	t.Helper()
	return output.Collect(t.Context(), s.Session, s.spec, s.sink, options...)
}

// tree lists the files below the sink's root, staging included.
func (s *scene) tree(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(s.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && path != s.root && (!d.IsDir() || strings.HasPrefix(d.Name(), ".")) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (s *scene) wantNothing(t *testing.T) {
	t.Helper()
	if files := s.tree(t); len(files) > 0 {
		t.Errorf("%v in the sink", files)
	}
}

// wantNothingRead checks that no file of the guest was opened.
func (s *scene) wantNothingRead(t *testing.T) {
	t.Helper()
	for _, r := range s.engine.Requests() {
		if r.Op == sandboxtest.OpOpen {
			t.Error("a file was opened")
		}
	}
}

func wantCode(t *testing.T, err error, code sandbox.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
}
