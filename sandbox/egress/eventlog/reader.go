package eventlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// ErrCutOff is what lies under the refusal of a last line that has no line break and
// is no entry: whoever wrote it was stopped in the middle. What came before it is
// whole.
var ErrCutOff = errors.New("the last line is cut off")

// Reader reads entries one after the other. Its memory does not grow with what it
// reads.
type Reader struct {
	from *bufio.Reader
	line int
	err  error
}

// NewReader reads from a stream.
func NewReader(from io.Reader) *Reader {
	return &Reader{from: bufio.NewReaderSize(from, MaxLine+len("\r\n"))}
}

// Line is the number of the line that was read last, from 1.
func (r *Reader) Line() int { return r.line }

// Next is the next entry, and [io.EOF] after the last one. Empty lines are passed
// over. A line that is no entry is a [*sandbox.Refusal] whose Subject names it, and
// nothing is read after it: a log that is not understood is not half believed.
func (r *Reader) Next() (Entry, error) {
	if r.err != nil {
		return Entry{}, r.err
	}
	e, err := r.next()
	r.err = err
	return e, err
}

func (r *Reader) next() (Entry, error) {
	for {
		r.line++
		b, err := r.from.ReadSlice('\n')
		whole := err == nil
		switch {
		case errors.Is(err, io.EOF) && len(b) == 0:
			r.line--
			return Entry{}, io.EOF
		case errors.Is(err, bufio.ErrBufferFull), err == nil, errors.Is(err, io.EOF):
		default:
			return Entry{}, fmt.Errorf("read line %d: %w", r.line, err)
		}
		if b = bytes.TrimRight(b, "\r\n"); len(b) == 0 {
			continue
		}
		e, err := Decode(b)
		if err != nil {
			return Entry{}, r.refused(err, !whole && len(b) <= MaxLine)
		}
		return e, nil
	}
}

// refused says on which line it was.
func (r *Reader) refused(err error, last bool) error {
	f := sandbox.RefusalOf(err).Finding
	f.Subject = "line " + strconv.Itoa(r.line)
	if last && (f.Code == sandbox.CodeDocumentSyntax) {
		return f.Refusal(ErrCutOff)
	}
	return f.Refusal(nil)
}
