package output_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestDeclaredOutputsLandInTheOrderOfTheirNames(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	s.declare(t, "report/b.txt", "a.txt")
	s.spec.Outputs["chart"] = sandbox.Output{Path: "never.png", Optional: true, MediaType: "image/png"}
	landed, err := s.collect(t)
	if err != nil {
		t.Fatal(err)
	}
	if len(landed) != 2 || landed[0].Name != "a.txt" || landed[1].Name != "report/b.txt" {
		t.Fatalf("landed %+v", landed)
	}
	for _, l := range landed {
		got, err := os.ReadFile(l.Handle)
		if err != nil || string(got) != l.Name || l.Size != int64(len(got)) {
			t.Errorf("%s holds %q, %v", l.Handle, got, err)
		}
	}
	if landed[0].Display != "a.txt (5 bytes)" || strings.Contains(landed[0].Display, s.root) {
		t.Errorf("shown as %q", landed[0].Display)
	}
	if files := s.tree(t); len(files) != 2 {
		t.Errorf("%v in the sink", files)
	}
}

func TestNothingIsAskedOfTheGuestForOutputsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*scene)
		options []output.CollectOption
		code    sandbox.Code
	}{
		"a path outside":   {func(s *scene) { s.spec.Outputs["x"] = sandbox.Output{Path: "../x"} }, nil, sandbox.CodeArtifactNameInvalid},
		"an absolute path": {func(s *scene) { s.spec.Outputs["x"] = sandbox.Output{Path: "/etc/passwd"} }, nil, sandbox.CodeArtifactNameInvalid},
		"a path to consume outside": {func(s *scene) {
			s.spec.Outputs["x"] = sandbox.Output{Path: "../x", Disposition: sandbox.DispositionConsume}
		}, nil, sandbox.CodeArtifactNameInvalid},
		"a landing name outside": {func(s *scene) { s.spec.Outputs["x"] = sandbox.Output{Path: "x", Name: "../x"} }, nil, sandbox.CodeArtifactNameInvalid},
		"a delete character":     {func(s *scene) { s.spec.Outputs["x"] = sandbox.Output{Path: "x\u007f"} }, nil, sandbox.CodeOutputInvalid},
		"names that differ by case": {func(s *scene) {
			s.spec.Outputs["x"] = sandbox.Output{Path: "A.TXT"}
		}, nil, sandbox.CodeArtifactNameCollision},
		"call-time names without leave": {func(*scene) {}, []output.CollectOption{
			output.Named(map[string]sandbox.Output{"x": {Path: "x"}}),
		}, sandbox.CodeOutputUndeclared},
		"a call-time name that collides": {func(s *scene) { s.spec.OutputsNamedAtCallTime = true }, []output.CollectOption{
			output.Named(map[string]sandbox.Output{"x": {Path: "a.TXT"}}),
		}, sandbox.CodeArtifactNameCollision},
		"no sink": {func(s *scene) { s.sink = nil }, nil, sandbox.CodeOutputSinkRequired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{})
			s.declare(t, "a.txt")
			test.change(s)
			before := len(s.engine.Requests())
			var sink output.Sink
			if s.sink != nil {
				sink = s.sink
			}
			_, err := output.Collect(t.Context(), s.Session, s.spec, sink, test.options...)
			wantCode(t, err, test.code)
			if after := len(s.engine.Requests()); after != before {
				t.Errorf("the engine was asked %d times", after-before)
			}
			s.wantNothing(t)
		})
	}
}

func TestOutputsToConsumeNeedNoSinkAndAreNotRead(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	s.declare(t, "a.txt")
	s.spec.Outputs["a.txt"] = sandbox.Output{Path: "a.txt", Disposition: sandbox.DispositionConsume}
	landed, err := output.Collect(t.Context(), s.Session, s.spec, nil)
	if err != nil || landed != nil {
		t.Errorf("%+v, %v", landed, err)
	}
	s.wantNothingRead(t)
	s.spec.FilesOut = &sandbox.TransferLimits{MaxBytesPerFile: 1, MaxTotalBytes: 100, MaxFiles: 1}
	_, err = output.Collect(t.Context(), s.Session, s.spec, nil)
	wantCode(t, err, sandbox.CodeTransferCap)
}

func TestEverythingIsLookedAtBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	s.declare(t, "a", "b", "c")
	s.spec.Outputs["d"] = sandbox.Output{Path: "missing"}
	_, err := s.collect(t)
	wantCode(t, err, sandbox.CodeOutputMissing)
	s.wantNothingRead(t)
	s.wantNothing(t)
}

func TestWhatStandsAtAnOutputsPathIsJudged(t *testing.T) {
	t.Parallel()
	const at = sandbox.DefaultWorkDir + "/out"
	for name, test := range map[string]struct {
		plant func(*sandboxtest.View) error
		code  sandbox.Code
	}{
		"a link":           {func(v *sandboxtest.View) error { return v.Symlink(at, "/etc/passwd") }, sandbox.CodeOutputNotRegular},
		"a pipe":           {func(v *sandboxtest.View) error { return v.Mkfifo(at) }, sandbox.CodeOutputNotRegular},
		"a directory":      {func(v *sandboxtest.View) error { return v.Mkdir(at) }, sandbox.CodeOutputNotRegular},
		"no known size":    {func(v *sandboxtest.View) error { return v.ForgetSize(at) }, sandbox.CodeOutputSizeUnknown},
		"nothing":          {func(v *sandboxtest.View) error { return v.Remove(at) }, sandbox.CodeOutputMissing},
		"a linked parent":  {func(v *sandboxtest.View) error { return v.Symlink(sandbox.DefaultWorkDir, "/etc") }, sandbox.CodeOutputNotConfined},
		"a file as parent": {func(v *sandboxtest.View) error { return v.WriteFile(sandbox.DefaultWorkDir, nil) }, sandbox.CodeOutputUnreachable},
		"too large":        {func(v *sandboxtest.View) error { return v.WriteFile(at, make([]byte, 9<<20)) }, sandbox.CodeTransferCap},
		"a size that lies": {func(v *sandboxtest.View) error { return v.ClaimSize(at, 1) }, sandbox.CodeTransferCap},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{})
			s.declare(t, "out")
			if err := test.plant(s.guest); err != nil {
				t.Fatal(err)
			}
			_, err := s.collect(t)
			wantCode(t, err, test.code)
			if got := sandbox.RefusalOf(err).Path.String(); got != `outputs["out"]` {
				t.Errorf("refused at %q", got)
			}
			s.wantNothing(t)
		})
	}
}

func TestAFileThatChangesAfterTheLookDoesNotLand(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		op     sandboxtest.Op
		change func(*sandboxtest.View) error
		code   sandbox.Code
	}{
		"it grows before it is opened":     {sandboxtest.OpOpen, grow, sandbox.CodeTransferCap},
		"it grows while it is read":        {sandboxtest.OpRead, grow, sandbox.CodeTransferCap},
		"it vanishes":                      {sandboxtest.OpOpen, func(v *sandboxtest.View) error { return v.Remove(last) }, sandbox.CodeOutputUnreachable},
		"it becomes a link":                {sandboxtest.OpOpen, func(v *sandboxtest.View) error { return v.Symlink(last, "/etc") }, sandbox.CodeOutputNotConfined},
		"it is cut short while it is read": {sandboxtest.OpRead, func(v *sandboxtest.View) error { return v.Truncate(last, 0) }, sandbox.CodeOutputUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{})
			s.declare(t, "first", "last")
			s.engine.Intercept(func(r sandboxtest.Request) error {
				if r.Op == test.op && r.Ref.Path == last {
					return test.change(s.guest)
				}
				return nil
			})
			_, err := s.collect(t)
			wantCode(t, err, test.code)
			s.wantNothing(t) // the first one was staged by then
		})
	}
}

const last = sandbox.DefaultWorkDir + "/last"

func grow(v *sandboxtest.View) error { return v.Append(last, []byte("more")) }

func TestTheLimitsHoldInclusivelyAndInOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits sandbox.TransferLimits
		says   string
	}{
		"all of them exactly": {sandbox.TransferLimits{MaxBytesPerFile: 2, MaxTotalBytes: 4, MaxFiles: 2}, ""},
		"one byte a file":     {sandbox.TransferLimits{MaxBytesPerFile: 1, MaxTotalBytes: 1, MaxFiles: 1}, "max_bytes_per_file"},
		"one file":            {sandbox.TransferLimits{MaxBytesPerFile: 2, MaxTotalBytes: 3, MaxFiles: 1}, "max_files"},
		"one byte in all":     {sandbox.TransferLimits{MaxBytesPerFile: 2, MaxTotalBytes: 3, MaxFiles: 2}, "max_total_bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{})
			s.declare(t, "aa", "bb")
			s.spec.FilesOut = &test.limits
			_, err := s.collect(t)
			if test.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantCode(t, err, sandbox.CodeTransferCap)
			if r := sandbox.RefusalOf(err); !strings.Contains(r.Required, test.says) {
				t.Errorf("the refusal names %q, want %s", r.Required, test.says)
			}
		})
	}
}

func TestNamesAreNormalisedUnlessTheyAreKept(t *testing.T) {
	t.Parallel()
	const decomposed, composed = "e\u0301.txt", "\u00e9.txt"
	s := newScene(t, output.DirOptions{})
	s.declare(t, decomposed)
	landed, err := s.collect(t, output.ForCall("one"))
	if err != nil || landed[0].Name != composed {
		t.Errorf("%+v, %v", landed, err)
	}
	landed, err = s.collect(t, output.ForCall("two"), output.KeepNames())
	if err != nil || landed[0].Name != decomposed {
		t.Errorf("%+v, %v", landed, err)
	}
}

func TestTheCallersCancellationIsNobodysRefusal(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	s.declare(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	s.engine.Intercept(func(r sandboxtest.Request) error {
		if r.Op == sandboxtest.OpRead {
			cancel()
		}
		return nil
	})
	_, err := output.Collect(ctx, s.Session, s.spec, s.sink)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.wantNothing(t)
}

func TestALostSandboxKeepsItsCause(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	s.declare(t, "a")
	s.engine.FailNth(sandboxtest.OpRead, 1, engine.ErrGone)
	_, err := s.collect(t)
	wantCode(t, err, sandbox.CodeOutputUnreachable)
	wantCode(t, err, sandbox.CodeGuestLost)
}

// greedy is a sink that stops before the content ends.
type greedy struct{}

func (g *greedy) Begin(context.Context, output.Origin) (output.Delivery, error) { return g, nil }
func (g *greedy) Commit(context.Context) error                                  { return nil }
func (g *greedy) Abort() error                                                  { return nil }

func (g *greedy) Stage(_ context.Context, a output.Artifact, content io.Reader) (output.Landed, error) {
	_, err := io.CopyN(io.Discard, content, a.Size-1)
	return output.Landed{Name: a.Name, Size: a.Size}, err
}

func TestASinkThatDidNotTakeAllIsNotBelieved(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	s.declare(t, "abc")
	_, err := output.Collect(t.Context(), s.Session, s.spec, &greedy{})
	wantCode(t, err, sandbox.CodeLandingFailed)
}

func TestALargeOutputIsNeverHeldWhole(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	content := bytes.Repeat([]byte("0123456789abcdef"), 4<<16)
	s.spec.Outputs = map[string]sandbox.Output{"big": {Path: "big"}}
	if err := s.guest.WriteFile(sandbox.DefaultWorkDir+"/big", content); err != nil {
		t.Fatal(err)
	}
	landed, err := s.collect(t)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(landed[0].Handle)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	reads := 0
	for _, r := range s.engine.Requests() {
		if r.Op == sandboxtest.OpRead {
			reads++
		}
	}
	if reads < 60 {
		t.Errorf("%d bytes came in %d reads", len(content), reads)
	}
}
