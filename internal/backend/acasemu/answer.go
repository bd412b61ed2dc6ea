package acasemu

import (
	"fmt"
	"io"
	"net/http"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// answer is what a request is answered. At most one of doc, raw and stream is set;
// with none the body is empty.
type answer struct {
	status int
	header http.Header
	doc    any // a document, encoded as JSON
	raw    []byte
	kind   string // the content type, where it is not that of JSON
	stream io.ReadCloser
	size   int64 // of stream; negative when unknown
	cut    bool  // break the connection off instead
}

const (
	jsonType  = "application/json; charset=utf-8"
	octetType = "application/octet-stream"
)

func ok(doc any) (answer, error)      { return answer{status: http.StatusOK, doc: doc}, nil }
func created(doc any) (answer, error) { return answer{status: http.StatusCreated, doc: doc}, nil }
func nothing() (answer, error)        { return answer{status: http.StatusNoContent}, nil }

// made is 201 for a POST of the newer version and 200 for the PUT of the older.
func (c *call) made(doc any) (answer, error) {
	if c.version == wire.V0901 {
		return created(doc)
	}
	return ok(doc)
}

func (a *answer) set(name, value string) {
	if a.header == nil {
		a.header = http.Header{}
	}
	a.header.Set(name, value)
}

// refusal is an answer that says no, in the words of the plane it comes from.
type refusal struct {
	status int
	// code is a machine's word: title of a problem document, code of an ARM error.
	code   string
	detail string
	number *int // errorCode of a problem document
	fields map[string][]string
	allow  string // the header Allow
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.status, r.code, r.detail) }

func refuse(status int, code, detail string, args ...any) error {
	r := &refusal{status: status, code: code, detail: fmt.Sprintf(detail, args...)}
	if status == http.StatusNotFound {
		r.number = new(wire.ErrorCodeNotFound)
	}
	return r
}

func invalid(detail string, args ...any) error {
	return refuse(http.StatusBadRequest, "InvalidRequest", detail, args...)
}

// document is the refusal in a plane's own form.
func (r *refusal) document(p wire.Plane, requestID, traceID string) (doc any, kind string) {
	if p == wire.ARM {
		return wire.ARMError{Error: wire.ARMErrorBody{Code: r.code, Message: r.detail}}, jsonType
	}
	return wire.Problem{
		Title: r.code, Status: r.status, Detail: r.detail, ErrorCode: r.number, Errors: r.fields, RequestID: requestID, TraceID: traceID,
	}, wire.ProblemContentType
}
