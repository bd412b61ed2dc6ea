package eventlog

import (
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Options bound what a [Writer] writes.
type Options struct {
	// MaxBytes is the most that is written; 0 is 64 MiB. What comes after it is
	// counted, and told as lost by [Writer.Close], which may go beyond the bound by two
	// lines.
	MaxBytes int64
}

const defaultMaxBytes = 64 << 20

// Writer writes entries, each with one Write. It is safe for concurrent use, starts
// nothing, and waits for nothing but the writer behind it. Make one with [NewWriter].
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	room int64
	err  error
	// full: the bound was met. Nothing but summaries is written after it.
	full, closed bool
	untold       [2]uint64 // refused and allowed
	last         time.Time
}

// NewWriter makes a writer in front of to, which stays the caller's to close.
func NewWriter(to io.Writer, o Options) *Writer {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return &Writer{to: to, room: o.MaxBytes}
}

// For is an observer of the events of one sandbox, and of one program in it where
// that is known.
func (w *Writer) For(of Sandbox, program string) egress.Observer {
	return observer{w, Entry{Sandbox: of, Program: program}}
}

type observer struct {
	to *Writer
	of Entry
}

func (o observer) Observe(e egress.Event) {
	entry := o.of
	entry.Event = e
	o.to.Write(entry)
}

// Observe writes an event of which nobody says whose it is.
func (w *Writer) Observe(e egress.Event) { w.Write(Entry{Event: e}) }

// Write writes one entry. One that makes too long a line is written as a summary,
// without what was asked for, and an end of a tunnel not at all. Errors are told by
// [Writer.Close]; after the first, which may have left half a line behind, nothing is
// written any more.
func (w *Writer) Write(e Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := encoded(e)
	switch {
	case w.closed, e.End != nil && errors.Is(err, errTooLong):
		return
	case w.err != nil || w.full:
		w.leave(e)
	case err != nil:
		w.err = err
		w.leave(e)
	case int64(len(b)) > w.room:
		w.full = true
		w.leave(e)
	default:
		w.pass(b)
	}
}

// Untold is how many decisions were not written, so far: beyond the bound, or after
// an error.
func (w *Writer) Untold() (allowed, refused uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.untold[1], w.untold[0]
}

// Close writes how many decisions are not in the log, and returns the first error
// there was. Nothing is written after it. The writer behind is left open.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.err
	}
	w.closed = true
	for i, n := range w.untold {
		if n == 0 || w.err != nil {
			continue
		}
		allowed := i == 1
		b, err := Encode(Entry{Event: egress.Event{
			Time: w.last, Allowed: allowed, Layer: egress.LayerConnection, Count: int(min(n, math.MaxInt32)), Summary: true, Lost: true,
		}})
		if err != nil {
			w.err = err
			break
		}
		w.pass(b)
	}
	return w.err
}

// leave counts what is not written.
func (w *Writer) leave(e Entry) {
	i := 0
	if e.Allowed {
		i = 1
	}
	w.untold[i] += uint64(max(e.Count, 0))
	w.last = e.Time
}

func (w *Writer) pass(b []byte) {
	n, err := w.to.Write(b)
	w.room -= int64(n)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	w.err = err
}

var errTooLong = errors.New("an event is longer than a line of the log")

// encoded is an entry as a line of at most [MaxLine].
func encoded(e Entry) ([]byte, error) {
	b, err := Encode(e)
	switch {
	case err != nil || len(b) <= MaxLine:
		return b, err
	case e.End != nil:
		return nil, errTooLong // it is no decision, and has no sum
	}
	e.Host, e.Port, e.Method, e.Path, e.Change, e.Found, e.Rule, e.Summary = "", 0, "", "", "", "", "", true
	if b, err = Encode(e); err == nil && len(b) > MaxLine {
		e.Program, e.Sandbox = "", Sandbox{}
		b, err = Encode(e)
	}
	if err == nil && len(b) > MaxLine {
		err = errTooLong
	}
	return b, err
}
