package acasapi

import (
	"errors"
	"fmt"
	"io"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// upload is a file on its way to the service: read once, never held, and exactly
// as long as it was said to be. It can be sent a second time only if its source can
// be read a second time.
type upload struct {
	source io.Reader
	size   int64
	object string

	start int64 // where a seekable source stood
	read  int64
	begun bool
	wrong *sandbox.Refusal
}

func newUpload(source io.Reader, size int64, object string) (*upload, error) {
	if size < 0 {
		return nil, refusal(sandbox.CodeOutOfRange, object, "a negative size", "the size of the content in bytes", "")
	}
	u := &upload{source: source, size: size, object: object}
	if s, ok := source.(io.Seeker); ok {
		at, err := s.Seek(0, io.SeekCurrent)
		if err != nil { // a pipe in the clothes of a file
			u.source = struct{ io.Reader }{source}
		}
		u.start = at
	}
	if size == 0 { // no body is sent, so nobody would look
		if err := u.end(); !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return u, nil
}

func (u *upload) seekable() bool {
	_, ok := u.source.(io.Seeker)
	return ok
}

// rewind starts over.
func (u *upload) rewind() error {
	if !u.begun {
		u.begun = true
		return nil
	}
	s, ok := u.source.(io.Seeker)
	if !ok {
		return errOnce
	}
	u.read, u.wrong = 0, nil
	_, err := s.Seek(u.start, io.SeekStart)
	return err
}

var errOnce = errors.New("the content can be read only once")

// Read gives the content and holds it to its size: the last bytes are given only
// once the source is seen to end with them.
func (u *upload) Read(p []byte) (int, error) {
	if u.read == u.size {
		return 0, u.end()
	}
	if left := u.size - u.read; int64(len(p)) > left {
		p = p[:left]
	}
	n, err := u.source.Read(p)
	u.read += int64(n)
	switch {
	case u.read == u.size:
		if err := u.end(); !errors.Is(err, io.EOF) {
			return 0, err
		}
		return n, io.EOF
	case errors.Is(err, io.EOF):
		return n, u.differs(fmt.Sprintf("it ended after %d bytes", u.read))
	default:
		return n, err
	}
}

// end is io.EOF if the source has no more.
func (u *upload) end() error {
	for range 16 {
		n, err := u.source.Read(make([]byte, 1))
		switch {
		case n > 0:
			return u.differs("it goes on")
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}

func (u *upload) differs(found string) error {
	u.wrong = refusal(sandbox.CodeFileSize, u.object, found, fmt.Sprintf("%d bytes, as was said", u.size), "")
	return u.wrong
}

// Seek answers what azcore asks in order to learn the length, and nothing else.
func (u *upload) Seek(offset int64, whence int) (int64, error) {
	switch {
	case offset == 0 && whence == io.SeekEnd:
		return u.size, nil
	case offset == 0 && whence != io.SeekEnd && u.read == 0:
		return 0, nil
	default:
		return 0, errOnce
	}
}

// Close leaves the source to whoever opened it.
func (*upload) Close() error { return nil }

// blame prefers a size that did not fit to what the transport made of it.
func (u *upload) blame(e *Error) *Error {
	if u != nil && u.wrong != nil {
		e.Class, e.Err = u.wrong.Code, u.wrong
	}
	return e
}
