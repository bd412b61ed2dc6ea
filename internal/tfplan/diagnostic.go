package tfplan

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Diagnostic is one error or warning of a plan.
type Diagnostic struct {
	Error   bool
	Summary string
	Detail  string
	// Address is the resource it is about, empty where there is none.
	Address string
	// File and Line are where it points, relative to the root module.
	File string
	Line int
	// Column, EndLine and EndColumn are the rest of its range, counted from 1; the
	// end is where the next character would stand.
	Column, EndLine, EndColumn int

	// Code and Path are set when the diagnostic is one of this provider's: they
	// are its last line, " CODE at PATH".
	Code sandbox.Code
	Path string
}

// readDiagnostics reads the lines of terraform plan -json. Lines that are not
// diagnostics, or not JSON, are passed over.
func readDiagnostics(output []byte) []Diagnostic {
	var all []Diagnostic
	for line := range bytes.Lines(output) {
		var message struct {
			Type       string `json:"type"`
			Diagnostic struct {
				Severity string `json:"severity"`
				Summary  string `json:"summary"`
				Detail   string `json:"detail"`
				Address  string `json:"address"`
				Range    *struct {
					Filename string `json:"filename"`
					Start    struct {
						Line   int `json:"line"`
						Column int `json:"column"`
					} `json:"start"`
					End struct {
						Line   int `json:"line"`
						Column int `json:"column"`
					} `json:"end"`
				} `json:"range"`
			} `json:"diagnostic"`
		}
		if json.Unmarshal(line, &message) != nil || message.Type != "diagnostic" {
			continue
		}
		d := Diagnostic{
			Error:   message.Diagnostic.Severity == "error",
			Summary: message.Diagnostic.Summary, Detail: message.Diagnostic.Detail, Address: message.Diagnostic.Address,
		}
		if r := message.Diagnostic.Range; r != nil {
			d.File, d.Line, d.Column = r.Filename, r.Start.Line, r.Start.Column
			d.EndLine, d.EndColumn = r.End.Line, r.End.Column
		}
		d.locate()
		all = append(all, d)
	}
	return all
}

// locate reads the last line, which carries code and path for programs.
func (d *Diagnostic) locate() {
	rest, last := "", d.Detail
	if at := strings.LastIndexByte(d.Detail, '\n'); at >= 0 {
		rest, last = d.Detail[:at], d.Detail[at+1:]
	}
	text, ok := strings.CutPrefix(last, " ")
	if !ok {
		return
	}
	code, path, _ := strings.Cut(text, " at ")
	if !sandbox.Code(code).Known() {
		return
	}
	d.Code, d.Path, d.Detail = sandbox.Code(code), path, strings.TrimSpace(rest)
}

// The labels that the provider puts before what a finding says.
const (
	foundLabel    = "Found: "
	requiredLabel = "Required: "
	witnessLabel  = "Would become reachable: "
)

// Finding is what a diagnostic of this provider says, taken apart again where it
// is labelled. Nothing is decided by it: it is only shown.
func (d Diagnostic) Finding() sandbox.Finding {
	f := sandbox.Finding{Code: d.Code, Verdict: sandbox.Deny}
	if !d.Error {
		f.Verdict = sandbox.Allow
	}
	var rest []string
	for line := range strings.SplitSeq(d.Detail, "\n") {
		switch {
		case strings.HasPrefix(line, foundLabel):
			f.Found = line[len(foundLabel):]
		case strings.HasPrefix(line, requiredLabel):
			f.Required = line[len(requiredLabel):]
		case strings.HasPrefix(line, witnessLabel):
			f.Witness = line[len(witnessLabel):]
		case strings.HasSuffix(line, ":") && f.Found == "" && len(rest) == 0:
			f.Subject = strings.TrimSuffix(line, ":")
		case line != "":
			rest = append(rest, line)
		}
	}
	f.Remedy = strings.Join(rest, " ")
	return f
}
