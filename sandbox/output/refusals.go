package output

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

func refuse(code sandbox.Code, o guestpath.OutputAt, found, required, remedy string, err error) *sandbox.Refusal {
	return sandbox.Finding{Code: code, Path: o.At, Found: found, Required: required, Remedy: remedy}.Refusal(err)
}

// translate puts a guest call's failure in the words of outputs, with its cause.
// The caller's own cancellation, a missing capability and what is already said in
// these words pass through.
func translate(ctx context.Context, o guestpath.OutputAt, err error) error {
	refusal := sandbox.RefusalOf(err)
	switch {
	case ctx.Err() != nil, refusal == nil, errors.Is(err, sandbox.CodeUnsupported), strings.HasPrefix(string(refusal.Code), "output."):
		return err
	case errors.Is(err, sandbox.CodeTransferCap):
		finding := refusal.Finding
		finding.Path = o.At
		return finding.Refusal(refusal.Err)
	case errors.Is(err, sandbox.ErrValue):
		return refuse(sandbox.CodeOutputNotConfined, o, sandbox.Echo(o.Path)+" in the guest", "a place below the work directory, without links",
			"write the output as a plain file below the work directory", err)
	default:
		return refuse(sandbox.CodeOutputUnreachable, o, "a failure to read "+sandbox.Echo(o.Path), "a readable file",
			"see the underlying refusal", err)
	}
}

// tally holds files of one collection against the limits: each file's bytes, then
// how many there are, then the bytes of all. Every limit is inclusive.
type tally struct {
	limits sandbox.TransferLimits
	files  int64
	bytes  int64
}

func (t *tally) left() int64 { return t.limits.MaxTotalBytes - t.bytes }

func (t *tally) add(o guestpath.OutputAt, size int64) error {
	over := func(limit, found string, most int64) error {
		return refuse(sandbox.CodeTransferCap, o, found+", with "+sandbox.Echo(o.Path),
			"files_out_limits."+limit+" of "+strconv.FormatInt(most, 10), "write less, or raise files_out_limits."+limit, nil)
	}
	switch l := t.limits; {
	case size > l.MaxBytesPerFile:
		return over("max_bytes_per_file", strconv.FormatInt(size, 10)+" bytes", l.MaxBytesPerFile)
	case t.files >= l.MaxFiles:
		return over("max_files", strconv.FormatInt(t.files+1, 10)+" files", l.MaxFiles)
	case size > t.left():
		return over("max_total_bytes", strconv.FormatInt(size, 10)+" bytes on top of "+strconv.FormatInt(t.bytes, 10), l.MaxTotalBytes)
	}
	t.files++
	t.bytes += size
	return nil
}
