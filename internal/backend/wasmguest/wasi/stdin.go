package wasi

import (
	"context"
	"errors"
	"io"
)

// input reads a stream that may block, without blocking the guest beyond its
// context. Bytes pass through a buffer of our own, since a read that outlives
// the run must not write into the guest's memory.
type input struct {
	from    io.Reader
	request chan int
	answer  chan chunk
	rest    []byte
	err     error
}

type chunk struct {
	data []byte
	err  error
}

// maxRead bounds one read of the input, in bytes.
const maxRead = 64 << 10

// errEnded says that the context ended before the read.
var errEnded = errors.New("context ended")

// read answers some bytes, or an error and none.
func (in *input) read(ctx context.Context, p []byte) (int, error) {
	if len(in.rest) == 0 && in.err == nil && len(p) > 0 {
		if in.from == nil {
			in.err = io.EOF
		} else if !in.fill(ctx, min(len(p), maxRead)) {
			return 0, errEnded
		}
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, in.err
}

func (in *input) fill(ctx context.Context, size int) bool {
	if in.request == nil {
		in.request, in.answer = make(chan int), make(chan chunk, 1)
		go pump(in.from, in.request, in.answer)
	}
	in.request <- size
	select {
	case c := <-in.answer:
		in.rest, in.err = c.data, c.err
		return true
	case <-ctx.Done():
		return false
	}
}

// pump serves one read at a time until request is closed. The answer never
// blocks it, so it ends as soon as the reader returns.
func pump(from io.Reader, request <-chan int, answer chan<- chunk) {
	for size := range request {
		buf := make([]byte, size)
		n, err := from.Read(buf)
		answer <- chunk{buf[:n], err}
	}
}

func (in *input) close() {
	if in.request != nil {
		close(in.request)
		in.request = nil
	}
}
