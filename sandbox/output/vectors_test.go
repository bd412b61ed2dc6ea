package output_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// vector is one observation of the reference's collection.
type vector struct {
	ID string
	In struct {
		Declared, Outputs      []vectorOutput
		OutputsNamedAtCallTime bool `json:"outputs_named_at_call_time"`
		Files                  map[string]vectorFile
		Limits                 []int64
		Sink                   bool
		Normalization          string
		SinkError              *struct{ At int } `json:"sink_error"`
		PerCall                bool              `json:"per_call"`
	}
	Out struct {
		Landed []struct{ Name string }
		Error  string
		Calls  [][]any
	}
	Note string
}

type vectorOutput struct {
	Path, Disposition, Name string
	MediaType               string `json:"media_type"`
	Required                *bool
}

type vectorFile struct {
	Kind      string
	Size      *int64
	Bytes     *int64
	StatError string `json:"stat_error"`
	ReadError string `json:"read_error"`
}

// reference maps the reference's error classes to our codes.
var reference = map[string]sandbox.Code{
	"SandboxOutputMissing":         sandbox.CodeOutputMissing,
	"SandboxOutputNotRegular":      sandbox.CodeOutputNotRegular,
	"SandboxOutputSizeUnknown":     sandbox.CodeOutputSizeUnknown,
	"SandboxOutputUnreachable":     sandbox.CodeOutputUnreachable,
	"SandboxOutputNotConfined":     sandbox.CodeOutputNotConfined,
	"SandboxTransferCapExceeded":   sandbox.CodeTransferCap,
	"SandboxArtifactNameInvalid":   sandbox.CodeArtifactNameInvalid,
	"SandboxArtifactNameCollision": sandbox.CodeArtifactNameCollision,
	"SandboxOutputSinkRequired":    sandbox.CodeOutputSinkRequired,
	"ValueError":                   sandbox.CodeOutputUndeclared,
}

// differs says why a vector is not matched, empty when it is.
func (v vector) differs() string {
	if v.In.PerCall {
		return "sinks here keep calls apart by themselves and need no call id"
	}
	for path, f := range v.In.Files {
		if !v.touches(path) {
			continue
		}
		for _, e := range []string{f.StatError, f.ReadError} {
			if _, known := guestErrors[e]; e != "" && !known {
				return "an error class that a guest call here cannot answer: " + e
			}
		}
		if f.StatError == "FileNotFoundError" {
			return "a guest call here says that nothing is there in no other way"
		}
		if f.Size != nil && f.Bytes != nil && *f.Bytes > *f.Size {
			return "a file that grew since it was looked at is refused, within the caps too"
		}
		if f.Size != nil && *f.Size < 0 {
			return "a negative size never passes the confinement layer"
		}
	}
	return ""
}

// touches reports whether the reference asked the guest about the path.
func (v vector) touches(path string) bool {
	return slices.ContainsFunc(v.Out.Calls, func(c []any) bool { return c[1] == path })
}

// guestErrors are the reference's errors of a guest call in our words.
var guestErrors = map[string]sandbox.Code{
	"ValueError":                 sandbox.CodePathThroughLink,
	"OSError":                    sandbox.CodeFileRefused,
	"PermissionError":            sandbox.CodeFileRefused,
	"ConnectionError":            sandbox.CodeGuestLost,
	"TimeoutError":               sandbox.CodeGuestTimeout,
	"FileNotFoundError":          sandbox.CodeFileNotFound,
	"IsADirectoryError":          sandbox.CodeFileNotRegular,
	"NotADirectoryError":         sandbox.CodePathNotDirectory,
	"SandboxOutputMissing":       sandbox.CodeOutputMissing,
	"SandboxTransferCapExceeded": sandbox.CodeTransferCap,
}

// scripted is a guest that answers as a vector says and records what it is asked.
type scripted struct {
	sandbox.SessionOps
	files map[string]vectorFile
	calls []string
}

func (s *scripted) Stat(_ context.Context, path string) (sandbox.Entry, error) {
	s.calls = append(s.calls, "stat "+path)
	f, ok := s.files[path]
	switch {
	case !ok:
		return sandbox.Entry{}, sandbox.Finding{Code: sandbox.CodeFileNotFound}.Refusal(nil)
	case f.StatError != "":
		return sandbox.Entry{}, sandbox.Finding{Code: guestErrors[f.StatError]}.Refusal(nil)
	}
	kind := sandbox.EntryFile
	if f.Kind != "" {
		var err error
		if kind, err = sandbox.ParseEntryKind(f.Kind); err != nil {
			return sandbox.Entry{}, err
		}
	}
	entry := sandbox.Entry{Path: path, Kind: kind}
	if f.Size != nil {
		entry.Size, entry.SizeKnown = *f.Size, true
	}
	return entry, nil
}

func (s *scripted) Open(_ context.Context, path string, maxBytes int64) (io.ReadCloser, sandbox.Entry, error) {
	s.calls = append(s.calls, fmt.Sprintf("read %s %d", path, maxBytes))
	f := s.files[path]
	if f.ReadError != "" {
		return nil, sandbox.Entry{}, sandbox.Finding{Code: guestErrors[f.ReadError]}.Refusal(nil)
	}
	size := *f.Size
	if f.Bytes != nil {
		size = *f.Bytes
	}
	if size > maxBytes {
		return nil, sandbox.Entry{}, sandbox.Finding{Code: sandbox.CodeTransferCap}.Refusal(nil)
	}
	return io.NopCloser(bytes.NewReader(make([]byte, size))), sandbox.Entry{Path: path, Kind: sandbox.EntryFile, Size: size, SizeKnown: true}, nil
}

// recorder is a sink that keeps names and sizes.
type recorder struct {
	staged, landed []string
	failAt         int // -1: never
}

var errSink = errors.New("the sink's own failure")

func (r *recorder) Begin(context.Context, output.Origin) (output.Delivery, error) { return r, nil }

func (r *recorder) Stage(_ context.Context, a output.Artifact, content io.Reader) (output.Landed, error) {
	if len(r.staged) == r.failAt {
		return output.Landed{}, errSink
	}
	n, err := io.Copy(io.Discard, content)
	r.staged = append(r.staged, fmt.Sprintf("deliver %s %d", a.Name, n))
	return output.Landed{Name: a.Name, Size: n}, err
}

func (r *recorder) Commit(context.Context) error { r.landed = r.staged; return nil }
func (r *recorder) Abort() error                 { return nil }

func TestCollectionDoesWhatTheReferenceDoes(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/outputs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	ran, skipped := 0, 0
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.differs() != "" {
			skipped++
			continue
		}
		ran++
		t.Run(v.ID+" "+v.Note, func(t *testing.T) { t.Parallel(); v.check(t) })
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d vectors, %d deliberately different", ran, skipped)
	if ran < 100 {
		t.Errorf("only %d vectors were run", ran)
	}
}

func (v vector) check(t *testing.T) {
	t.Helper()
	guest, sink := &scripted{files: v.In.Files}, &recorder{failAt: -1}
	if v.In.SinkError != nil {
		sink.failAt = v.In.SinkError.At
	}
	can := sandbox.SetOf(sandbox.CapabilityFilesOut)
	session := sandbox.NewSession(sandbox.SessionInfo{WorkDir: sandbox.DefaultWorkDir, Capabilities: can}, guest)
	spec := sandbox.Spec{
		Kind: "wk", Requires: &can, Outputs: numbered(t, v.In.Declared), OutputsNamedAtCallTime: v.In.OutputsNamedAtCallTime,
	}
	if l := v.In.Limits; l != nil {
		spec.FilesOut = &sandbox.TransferLimits{MaxBytesPerFile: l[0], MaxTotalBytes: l[1], MaxFiles: l[2]}
	}
	options := []output.CollectOption{output.Named(numbered(t, v.In.Outputs))}
	if v.In.Normalization == "none" {
		options = append(options, output.KeepNames())
	}
	var to output.Sink
	if v.In.Sink {
		to = sink
	}
	landed, err := output.Collect(t.Context(), session, spec, to, options...)

	if v.In.SinkError != nil && v.Out.Error != "" {
		// The reference leaves what was delivered before; here nothing lands.
		if !errors.Is(err, errSink) || len(sink.landed) > 0 {
			t.Errorf("got %v with %v landed, want the sink's own error and nothing", err, sink.landed)
		}
		return
	}
	if v.Out.Error != "" {
		want, ok := reference[v.Out.Error]
		if !ok {
			t.Fatalf("no code for %s", v.Out.Error)
		}
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if len(sink.landed) > 0 {
			t.Errorf("landed %v although refused", sink.landed)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var names, wantNames []string
	for _, l := range landed {
		names = append(names, l.Name)
	}
	for _, l := range v.Out.Landed {
		wantNames = append(wantNames, l.Name)
	}
	if !slices.Equal(names, wantNames) {
		t.Errorf("landed %q, want %q", names, wantNames)
	}
	if got, want := append(guest.calls, sink.landed...), v.calls(); !slices.Equal(got, want) {
		t.Errorf("calls\n got %q\nwant %q", got, want)
	}
}

// numbered gives outputs names in their order.
func numbered(t *testing.T, outputs []vectorOutput) map[string]sandbox.Output {
	t.Helper()
	named := map[string]sandbox.Output{}
	for i, o := range outputs {
		out := sandbox.Output{Path: o.Path, Name: o.Name, MediaType: o.MediaType, Optional: o.Required != nil && !*o.Required}
		if o.Disposition != "" {
			var err error
			if out.Disposition, err = sandbox.ParseDisposition(o.Disposition); err != nil {
				t.Fatal(err)
			}
		}
		named[fmt.Sprintf("%04d", i)] = out
	}
	return named
}

// calls are the reference's, without working directories.
func (v vector) calls() []string {
	var calls []string
	for _, c := range v.Out.Calls {
		call := fmt.Sprint(c[0], " ", c[1])
		switch c[0] {
		case "read":
			call += fmt.Sprintf(" %.0f", c[3])
		case "deliver":
			call += fmt.Sprintf(" %.0f", c[2])
		}
		calls = append(calls, call)
	}
	return calls
}
