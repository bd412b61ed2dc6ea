package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

type outputsIn struct {
	Declared, Outputs []outputIn
	AtCallTime        bool `json:"outputs_named_at_call_time"`
	Files             map[string]fileIn
	Limits            *limitsIn
	Sink              bool
	Normalization     string
	SinkError         *struct {
		At    int
		Error string
	} `json:"sink_error"`
	PerCall bool    `json:"per_call"`
	CallID  *string `json:"call_id"`
}

// fileIn is what stands at a path of the guest, or what asking for it raises.
type fileIn struct {
	Kind      string
	Size      *int64
	Bytes     *int64 // really read
	StatError string `json:"stat_error"`
	ReadError string `json:"read_error"`
}

type outputsOut struct {
	refusal
	Landed   []struct{ Name string }
	Calls    [][]json.RawMessage
	Accepted []struct {
		Name      text
		Kind      string
		MediaType *string `json:"media_type"`
		Bytes     int64
	}
}

// collected is the comparable outcome of one collection.
type collected struct {
	Refused string
	// Asked is what the guest was asked, Landed what the sink has in the end.
	Asked, Landed []string
}

// outputClass names the reference's error for our codes of collection.
var outputClass = map[sandbox.Code]string{
	sandbox.CodeOutputMissing:         "SandboxOutputMissing",
	sandbox.CodeOutputNotRegular:      "SandboxOutputNotRegular",
	sandbox.CodeOutputSizeUnknown:     "SandboxOutputSizeUnknown",
	sandbox.CodeOutputUnreachable:     "SandboxOutputUnreachable",
	sandbox.CodeOutputNotConfined:     "SandboxOutputNotConfined",
	sandbox.CodeTransferCap:           "SandboxTransferCapExceeded",
	sandbox.CodeArtifactNameInvalid:   "SandboxArtifactNameInvalid",
	sandbox.CodeArtifactNameCollision: "SandboxArtifactNameCollision",
	sandbox.CodeOutputSinkRequired:    "SandboxOutputSinkRequired",
	sandbox.CodeOutputUndeclared:      "ValueError",
	sandbox.CodeLandingExists:         "SandboxLandingExists",
	sandbox.CodeLandingNotConfined:    "SandboxLandingNotConfined",
}

// guestErrors are the reference's errors of a guest call in our words. What is
// not here, no guest call of ours can answer.
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

var errSink = errors.New("the sink's own failure")

func judgeOutputs(v *vector) (answer, error) {
	var in outputsIn
	var out outputsOut
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	theirs := out.collected()
	ours, refused, err := in.collect(out.Mentions)
	return answer{ours: asText(ours), theirs: asText(theirs), refusal: refused}, err
}

// collected leaves working directories out: ours are the session's own.
func (o *outputsOut) collected() collected {
	c := collected{Refused: o.Error}
	for _, call := range o.Calls {
		var parts []string
		for _, part := range call {
			var word text
			if json.Unmarshal(part, &word) != nil {
				word = text(part) // a number
			}
			parts = append(parts, string(word))
		}
		switch parts[0] {
		case "stat":
			c.Asked = append(c.Asked, "stat "+parts[1])
		case "read":
			c.Asked = append(c.Asked, "read "+parts[1]+" "+parts[3])
		}
	}
	for _, a := range o.Accepted {
		media := ""
		if a.MediaType != nil {
			media = *a.MediaType
		}
		c.Landed = append(c.Landed, landing(string(a.Name), a.Kind, media, a.Bytes))
	}
	return c
}

func landing(name, kind, media string, size int64) string {
	return fmt.Sprintf("%q of %s, %q, %d bytes", name, kind, media, size)
}

func (in *outputsIn) collect(mentions []string) (collected, *sandbox.Finding, error) {
	guest, sink := &scripted{files: in.Files}, &recorder{failAt: -1}
	if in.SinkError != nil {
		sink.failAt = in.SinkError.At
	}
	can := sandbox.SetOf(sandbox.CapabilityFilesOut)
	session := sandbox.NewSession(sandbox.SessionInfo{Kind: probedKind, WorkDir: sandbox.DefaultWorkDir, Capabilities: can}, guest)
	declared, err := numbered(in.Declared)
	if err != nil {
		return collected{}, nil, err
	}
	named, err := numbered(in.Outputs)
	if err != nil {
		return collected{}, nil, err
	}
	spec := sandbox.Spec{
		Kind: probedKind, Requires: &can, FilesOut: in.Limits.limits(),
		Outputs: declared, OutputsNamedAtCallTime: in.AtCallTime,
	}
	options := []output.CollectOption{output.Named(named)}
	if in.Normalization == "none" {
		options = append(options, output.KeepNames())
	}
	if in.CallID != nil {
		options = append(options, output.ForCall(*in.CallID))
	}
	var to output.Sink
	if in.Sink {
		to = sink
	}
	_, err = output.Collect(context.Background(), session, spec, to, options...)
	c := collected{Asked: guest.calls, Landed: sink.landed}
	f := sandboxFinding(err)
	switch {
	case errors.Is(err, errSink):
		c.Refused = "the sink's own"
	case f != nil:
		c.Refused = outputClass[f.Code]
		if c.Refused == "" {
			c.Refused = string(f.Code)
		}
		c.Refused += unnamed(*f, mentions)
	case err != nil:
		return c, nil, err
	}
	return c, f, nil
}

// numbered gives outputs names in their order.
func numbered(list []outputIn) (map[string]sandbox.Output, error) {
	outputs := map[string]sandbox.Output{}
	for i, o := range list {
		out, err := o.output()
		if err != nil {
			return nil, err
		}
		outputs[fmt.Sprintf("%04d", i)] = out
	}
	return outputs, nil
}

// scripted is a guest that answers as a vector says and notes what it is asked.
type scripted struct {
	sandbox.SessionOps
	files map[string]fileIn
	calls []string
}

func (s *scripted) Stat(_ context.Context, path string) (sandbox.Entry, error) {
	s.calls = append(s.calls, "stat "+path)
	f, exists := s.files[path]
	switch {
	case !exists:
		return sandbox.Entry{}, sandbox.Finding{Code: sandbox.CodeFileNotFound}.Refusal(nil)
	case f.StatError != "":
		return sandbox.Entry{}, sandbox.Finding{Code: guestErrors[f.StatError]}.Refusal(nil)
	}
	entry := sandbox.Entry{Path: path, Kind: sandbox.EntryFile}
	if f.Kind != "" {
		var err error
		if entry.Kind, err = sandbox.ParseEntryKind(f.Kind); err != nil {
			return entry, err
		}
	}
	if f.Size != nil {
		entry.Size, entry.SizeKnown = *f.Size, true
	}
	return entry, nil
}

func (s *scripted) Open(_ context.Context, path string, most int64) (io.ReadCloser, sandbox.Entry, error) {
	s.calls = append(s.calls, fmt.Sprintf("read %s %d", path, most))
	f := s.files[path]
	if f.ReadError != "" {
		return nil, sandbox.Entry{}, sandbox.Finding{Code: guestErrors[f.ReadError]}.Refusal(nil)
	}
	size := *f.Size
	if f.Bytes != nil {
		size = *f.Bytes
	}
	if size > most {
		return nil, sandbox.Entry{}, sandbox.Finding{Code: sandbox.CodeTransferCap, Found: path}.Refusal(nil)
	}
	entry := sandbox.Entry{Path: path, Kind: sandbox.EntryFile, Size: size, SizeKnown: true}
	return io.NopCloser(bytes.NewReader(make([]byte, max(size, 0)))), entry, nil
}

// recorder is a sink that keeps what it took, and can fail.
type recorder struct {
	staged, landed []string
	failAt         int // -1: never
}

func (r *recorder) Begin(context.Context, output.Origin) (output.Delivery, error) { return r, nil }

func (r *recorder) Stage(_ context.Context, a output.Artifact, content io.Reader) (output.Landed, error) {
	if len(r.staged) == r.failAt {
		return output.Landed{}, errSink
	}
	n, err := io.Copy(io.Discard, content)
	r.staged = append(r.staged, landing(a.Name, a.Kind, a.MediaType, n))
	return output.Landed{Name: a.Name, Size: n}, err
}

func (r *recorder) Commit(context.Context) error { r.landed = r.staged; return nil }
func (r *recorder) Abort() error                 { return nil }
