package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// tally holds what one session writes into a guest against the spec's limits.
type tally struct {
	limits sandbox.TransferLimits

	mu    sync.Mutex
	files int64
	bytes int64
}

// reserve takes a file of that size into account before a byte moves: per file,
// then how many, then how much in all. release gives it back when nothing landed.
func (t *tally) reserve(path string, size int64) (release func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	refuse := func(found, limit string, max int64) error {
		return sandbox.Finding{
			Code: sandbox.CodeTransferCap, Path: sandbox.Path("files_in_limits", limit),
			Found:    found + ", to write " + sandbox.Echo(path),
			Required: "at most " + strconv.FormatInt(max, 10),
			Remedy:   "write less, or raise files_in_limits of the workload",
		}.Refusal(nil)
	}
	switch l := t.limits; {
	case size > l.MaxBytesPerFile:
		return nil, refuse(strconv.FormatInt(size, 10)+" bytes", "max_bytes_per_file", l.MaxBytesPerFile)
	case t.files >= l.MaxFiles:
		return nil, refuse(strconv.FormatInt(t.files, 10)+" files already", "max_files", l.MaxFiles)
	case size > l.MaxTotalBytes-t.bytes:
		return nil, refuse(strconv.FormatInt(size, 10)+" bytes more than the "+strconv.FormatInt(t.bytes, 10)+" before",
			"max_total_bytes", l.MaxTotalBytes)
	}
	t.files++
	t.bytes += size
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.files--
		t.bytes -= size
	}, nil
}

var (
	errShort = errors.New("content ended early")
	errLong  = errors.New("content runs over")
)

// exactReader gives an engine exactly the bytes that were announced. It learns
// that there are more before it hands out the last of them, so that an engine
// never holds a complete file of the wrong content.
type exactReader struct {
	r         io.Reader
	remaining int64
	checked   bool
	err       error
}

func (e *exactReader) Read(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if e.remaining == 0 {
		e.err = e.end()
		return 0, e.err
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.remaining)])
	e.remaining -= int64(n)
	switch {
	case e.remaining == 0 && n > 0:
		if end := e.end(); !errors.Is(end, io.EOF) {
			e.err = end
			return 0, end
		}
		return n, nil
	case errors.Is(err, io.EOF):
		e.err = errShort
		return n, e.err
	case err != nil:
		e.err = err
		return n, err
	}
	return n, nil
}

// end answers io.EOF when the content has really ended.
func (e *exactReader) end() error {
	if e.checked {
		return io.EOF
	}
	e.checked = true
	var one [1]byte
	n, err := io.ReadFull(e.r, one[:])
	switch {
	case n > 0:
		return errLong
	case errors.Is(err, io.EOF):
		return io.EOF
	default:
		return err
	}
}

// contentError says what was wrong with the caller's own content.
func contentError(path string, size int64, err error) error {
	if !errors.Is(err, errShort) && !errors.Is(err, errLong) {
		return fmt.Errorf("reading the content of %s: %w", sandbox.Echo(path), err)
	}
	return sandbox.Finding{
		Code: sandbox.CodeFileSize, Found: err.Error() + ", to write " + sandbox.Echo(path),
		Required: "exactly " + strconv.FormatInt(size, 10) + " bytes",
		Remedy:   "say the content's exact size",
	}.Refusal(nil)
}

// fileReader streams a guest file to the host and holds it to what was judged. It
// is for one reader at a time, as readers are.
type fileReader struct {
	ctx       context.Context
	r         io.ReadCloser
	path      string
	limit     int64
	size      int64
	sizeKnown bool
	got       int64
	err       error

	done   func() error
	closed sync.Once
}

// Read never hands out a byte over the cap or the judged size.
func (f *fileReader) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	if f.ctx.Err() != nil {
		f.err = ended(f.ctx, "read "+sandbox.Echo(f.path))
		return 0, f.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	allowed := f.limit - f.got
	if f.sizeKnown {
		allowed = f.size - f.got
	}
	// One byte more than allowed tells whether the file goes on.
	n, err := f.r.Read(p[:min(int64(len(p)), allowed+1)])
	f.got += int64(n)
	switch {
	case int64(n) > allowed:
		f.err = f.grew()
		return int(allowed), f.err
	case errors.Is(err, io.EOF):
		f.err = io.EOF
		if f.sizeKnown && f.got < f.size {
			f.err = f.changed(strconv.FormatInt(f.got, 10))
		}
	case err != nil:
		f.err = mapError(f.ctx, "read "+sandbox.Echo(f.path), err)
	}
	return n, f.err
}

func (f *fileReader) grew() error {
	if f.got > f.limit {
		return overCap(f.path, "more bytes", f.limit)
	}
	return f.changed("more")
}

func (f *fileReader) changed(got string) error {
	return sandbox.Finding{
		Code:     sandbox.CodeFileChanged,
		Found:    "file " + sandbox.Echo(f.path) + " that gave " + got + " bytes",
		Required: strconv.FormatInt(f.size, 10) + " bytes, as judged",
		Remedy:   "read it when the program has finished writing",
	}.Refusal(nil)
}

// Close ends the call. It may be called more than once.
func (f *fileReader) Close() (err error) {
	f.closed.Do(func() {
		err = f.r.Close()
		if err != nil {
			err = refusalFor("close "+sandbox.Echo(f.path), err)
		}
		finish(f.done, &err)
	})
	return err
}
