package acasapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// answer is a success.
type answer struct {
	status int
	header http.Header
	body   []byte
	stream *stream // with call.stream, instead of body
	// repeated says that an earlier attempt may have been carried out too.
	repeated bool

	op     wire.Op
	object string
	ids    Error // the correlation ids alone
}

func newAnswer(resp *http.Response, o outgoing) *answer {
	a := &answer{status: resp.StatusCode, header: resp.Header, op: o.op, object: o.object, ids: idsOf(resp.Header)}
	a.ids.ClientRequestID = o.id
	return a
}

func readAnswer(resp *http.Response, o outgoing) (*answer, *Error) {
	a := newAnswer(resp, o)
	body, err := io.ReadAll(io.LimitReader(resp.Body, wire.MaxAnswer+1))
	drop(resp)
	failure := a.ids
	failure.Status = a.status
	switch {
	case err != nil:
		failure.Class, failure.Err = sandbox.CodeServiceUnavailable, fmt.Errorf("the answer broke off: %w", err)
		return nil, &failure
	case len(body) > wire.MaxAnswer:
		failure.Class, failure.Err = sandbox.CodeServiceTooLarge, wire.ErrTooLarge
		return nil, &failure
	case len(body) > 0 && !wire.Whole(body):
		failure.Class, failure.Err = sandbox.CodeServiceAnswerInvalid, errBroken
		return nil, &failure
	}
	a.body = body
	return a, nil
}

// errBroken is an answer that was cut or replaced on its way.
var errBroken = errors.New("the answer is not one whole JSON document")

// judge makes an error of every answer that is no success.
func (p *plane) judge(resp *http.Response, op wire.Op) *Error {
	if succeeded(resp.StatusCode) {
		return nil
	}
	body, _ := io.ReadAll(resp.Body) // bounded by the transport; what is missing is not said
	complaint := wire.ReadComplaint(body)
	e := idsOf(resp.Header)
	e.Status, e.Class, e.outcome = resp.StatusCode, classOf(resp.StatusCode, complaint), outcomeOf(resp.StatusCode)
	e.Code, e.Number = word(complaint.Code), complaint.ErrorCode
	e.RetryAfter = retryAfter(resp.Header, p.client.cfg.Clock.Now())
	if e.RequestID == "" {
		e.RequestID = word(complaint.RequestID)
	}
	switch {
	case e.Status >= 300 && e.Status < 400:
		e.Text = "a redirect, which is not followed"
	case complaint.Text == "":
	case op.Operation().Secret:
		e.Text = "(its text is withheld: the request held values nobody may see)"
	default:
		e.Text = sandbox.Echo(complaint.Text)
	}
	return &e
}

func idsOf(h http.Header) Error {
	first := func(names ...string) string {
		for _, n := range names {
			if v := h.Get(n); v != "" {
				return word(v)
			}
		}
		return ""
	}
	return Error{
		RequestID:     first("x-ms-request-id"),
		CorrelationID: first("mise-correlation-id", "x-ms-correlation-request-id"),
	}
}

// drop closes a body, reading a little of what is left so that the connection can
// be used again.
func drop(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody)
	_ = resp.Body.Close()
}

// retryAfter reads how long the service asks to wait: its own header in
// milliseconds first, then the standard one in seconds or as a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	for _, name := range []string{"x-ms-retry-after-ms", "retry-after-ms"} {
		if ms, err := strconv.ParseUint(h.Get(name), 10, 31); err == nil && ms > 0 {
			return time.Duration(ms) * time.Millisecond
		}
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// read decodes an answer into a document, and refuses one that cannot be used.
func read[T any](p *plane, a *answer, check func(*T) error) (T, error) {
	return readWith(p, a, func(b []byte) (T, error) {
		var doc T
		err := wire.Decode(b, &doc)
		return doc, err
	}, check)
}

func readWith[T any](p *plane, a *answer, decode func([]byte) (T, error), check func(*T) error) (T, error) {
	var none T
	doc, err := decode(a.body)
	if err != nil {
		return none, a.unusable(err, nil)
	}
	p.client.canary.note(a.op, &doc)
	if check != nil {
		if err := check(&doc); err != nil {
			return none, a.unusable(err, wire.Unknown(&doc))
		}
	}
	return doc, nil
}

// unusable is the refusal of an answer that arrived and cannot be read. What it
// answers may have been carried out.
func (a *answer) unusable(err error, unknown []string) error {
	e := a.ids
	e.Op, e.Object, e.Class, e.Status, e.Err = a.op, a.object, sandbox.CodeServiceAnswerInvalid, a.status, err
	if len(unknown) > 0 {
		e.Text = "a field may have been renamed: not known here are " + sandbox.Echo(strings.Join(unknown, ", "))
	}
	return e.refuse()
}

// stream is a file on its way from the service. It ends with io.EOF only after as
// many bytes as the service announced.
type stream struct {
	body   io.ReadCloser
	cancel context.CancelFunc
	left   int64 // -1 when the service announced no length
}

// Read gives the file's next bytes.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if s.left >= 0 {
		s.left = max(0, s.left-int64(n))
	}
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF):
		err = fmt.Errorf("the file broke off: %w", err)
	case s.left > 0:
		err = fmt.Errorf("the file broke off: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}

// Close ends the transfer, also in the middle.
func (s *stream) Close() error {
	s.cancel()
	return s.body.Close()
}
