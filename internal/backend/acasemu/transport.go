package acasemu

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Transport reaches the emulator without a network: it has the method that azcore
// wants of a transporter, and that of an [http.RoundTripper].
type Transport struct{ emulator *Emulator }

// Transport is the way into this emulator from its own process.
func (e *Emulator) Transport() *Transport { return &Transport{emulator: e} }

// errCut is a connection that was broken off.
var errCut = errors.New("the connection was broken off")

// RoundTrip is [Transport.Do].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.Do(r) }

// Do answers a request. Its answer's body has to be closed; the emulator's work on
// it has ended then.
func (t *Transport) Do(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, fmt.Errorf("the emulator is asked over https, not %s", r.URL.Scheme)
	}
	if !t.emulator.begin() {
		return nil, errors.New("the emulator is closed")
	}
	in := r.Clone(r.Context())
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	reader, writer := io.Pipe()
	w := &localWriter{header: http.Header{}, body: writer, begun: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer t.emulator.work.Done()
		defer close(done)
		defer in.Body.Close()
		t.emulator.serve(w, in)
		w.finish()
	}()
	select {
	case <-w.begun:
	case <-r.Context().Done():
		w.Abort()
		return nil, r.Context().Err()
	}
	if w.cut() {
		<-done
		return nil, errCut
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &localBody{PipeReader: reader, done: done}, ContentLength: lengthOf(w.sent), Request: r,
	}, nil
}

// localBody ends the emulator's work on an answer when it is closed.
type localBody struct {
	*io.PipeReader
	done chan struct{}
}

// Close lets the emulator write into the void and waits until it has noticed.
func (b *localBody) Close() error {
	err := b.PipeReader.Close()
	<-b.done
	return err
}

func lengthOf(h http.Header) int64 {
	var n int64
	if _, err := fmt.Sscan(h.Get("Content-Length"), &n); err != nil {
		return -1
	}
	return n
}

// localWriter is the other end of a [Transport].
type localWriter struct {
	header, sent http.Header
	status       int
	body         *io.PipeWriter
	begun        chan struct{}

	mu      sync.Mutex
	started bool
	broken  bool
}

func (w *localWriter) Header() http.Header { return w.header }

func (w *localWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.started {
		w.started, w.status, w.sent = true, status, w.header.Clone()
		close(w.begun)
	}
}

// breakOff ends what has not begun. The header is the handler's, which may be
// writing it while its client goes away.
func (w *localWriter) breakOff() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = true
	if !w.started {
		w.started = true
		close(w.begun)
	}
}

func (w *localWriter) cut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken && w.status == 0
}

func (w *localWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Abort breaks the answer off: before its header nothing arrives, after it the body
// ends in an error.
func (w *localWriter) Abort() {
	w.breakOff()
	w.body.CloseWithError(io.ErrUnexpectedEOF)
}

// finish ends the body, unless it was broken off.
func (w *localWriter) finish() {
	w.mu.Lock()
	answered := w.status != 0
	w.mu.Unlock()
	if !answered {
		w.Abort()
		return
	}
	_ = w.body.Close() // an error of Abort stands
}
