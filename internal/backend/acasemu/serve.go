package acasemu

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/fault"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// call is one request on its way through the emulator.
type call struct {
	op      wire.Op
	plane   wire.Plane
	version wire.Version
	node    *node
	seg     wire.Segments
	query   query
	request *http.Request
	control *http.ResponseController
	body    []byte // of a document; files are streamed
	fault   fault.Effect
	now     time.Time
	// id and trace are how the service calls the request.
	id, trace string
}

// FaultHeader is the request header that makes a request misbehave.
const FaultHeader = "X-Emulator-Fault"

func (e *Emulator) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, controlPrefix) && !throughPort(r) {
		e.control(w, r)
		return
	}
	c := &call{plane: planeOf(r.URL.Path), query: parseQuery(r.URL.RawQuery), request: r, control: http.NewResponseController(w), id: newID(), trace: newTrace(), now: e.cfg.Clock.Now().UTC()}
	version, _ := c.query.get("api-version")
	c.version = wire.Version(version)
	if c.node, c.seg = e.routes.find(r.URL.EscapedPath()); c.node != nil {
		c.op = c.node.likely(r.Method, c.version)
	}
	var own []*fault.Fault
	if text := r.Header.Get(FaultHeader); text != "" {
		f, err := fault.Parse(text)
		if err != nil {
			e.write(w, c, c.no(invalid("%s: %v", FaultHeader, err)))
			return
		}
		own = append(own, f)
	}
	c.fault = e.faults.Meet(fault.Request{Op: c.op.String(), Method: r.Method, Path: r.URL.Path}, own...)
	c.now = c.now.Add(c.fault.Skew)

	entry := e.log.begin(c)
	if c.fault.Latency > 0 && wait(r.Context(), c.fault.Latency) != nil {
		return
	}
	if c.fault.Drop == "before" {
		abort(w)
		return
	}
	a := e.answer(c) //nolint:contextcheck // the request of c has it
	e.log.end(entry, c, a.status)
	if a.cut || c.fault.Drop == "after" || errors.Is(r.Context().Err(), context.Canceled) {
		if a.stream != nil {
			a.stream.Close()
		}
		abort(w)
		return
	}
	e.write(w, c, a)
}

// answer judges a request in the order in which the service does: who asks, in what
// version, for what, and only then how.
func (e *Emulator) answer(c *call) answer {
	if throughPort(c.request) {
		return c.no(portsAreNotPlayed())
	}
	if err := e.admit(c); err != nil {
		return c.no(err)
	}
	if c.fault.Status != 0 {
		return c.injected()
	}
	if !spoken(c.plane, c.version) {
		return c.no(refuse(http.StatusBadRequest, "UnsupportedApiVersion", "api-version %q is not one of %s", string(c.version), versions(c.plane)))
	}
	if c.node == nil && wantsStream(c.request) {
		return c.no(streamsAreNotPlayed())
	}
	if c.node == nil {
		return c.no(refuse(http.StatusNotFound, "NotFound", "there is no such path"))
	}
	op, allowed, known := c.node.operation(c.request.Method, c.version)
	if !known {
		if len(allowed) == 0 {
			return c.no(refuse(http.StatusNotFound, "NotFound", "there is no such path in this version"))
		}
		return c.no(&refusal{
			status: http.StatusMethodNotAllowed, code: "MethodNotAllowed", detail: "the path does not take this method", allow: strings.Join(allowed, ", "),
		})
	}
	c.op = op
	if err := e.readBody(c); err != nil {
		return c.no(err)
	}
	ctx := c.request.Context()
	if !readOnly(c.request.Method) {
		detached, cancel := e.detached(ctx)
		defer cancel()
		ctx = detached
	}
	a, err := e.handlers[op](ctx, c)
	if err != nil {
		return c.no(err)
	}
	return a
}

func versions(p wire.Plane) string {
	words := make([]string, 0, 2)
	for _, v := range p.Versions() {
		words = append(words, string(v))
	}
	return strings.Join(words, ", ")
}

func spoken(p wire.Plane, v wire.Version) bool {
	return slices.Contains(p.Versions(), v)
}

// streams reports an operation whose body is a file.
func streams(op wire.Op) bool {
	return op == wire.FileWrite || op == wire.VolumeFileWrite || op == wire.PackageUpload
}

// bodyBound is how long a document may take to arrive, and a file to go on arriving.
const bodyBound = 30 * time.Second

// readBody reads the document of a request.
func (e *Emulator) readBody(c *call) error {
	if streams(c.op) || c.request.Body == nil {
		return nil
	}
	// A transport in this process has no deadlines, and needs none.
	_ = c.control.SetReadDeadline(time.Now().Add(bodyBound))
	body, err := io.ReadAll(io.LimitReader(c.request.Body, maxBody+1))
	_ = c.control.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, "InvalidRequestContent", "the body did not arrive whole")
	case len(body) > maxBody:
		return refuse(http.StatusRequestEntityTooLarge, "RequestTooLarge", "a body has at most %d bytes", maxBody)
	}
	if kind := c.request.Header.Get("Content-Type"); len(body) > 0 && !strings.Contains(strings.ToLower(kind), "json") {
		return refuse(http.StatusUnsupportedMediaType, "UnsupportedMediaType", "a body is application/json here")
	}
	c.body = body
	return nil
}

// document reads the body of a request into v; an empty one leaves v alone where
// the operation can do without.
func (c *call) document(v any, optional bool) error {
	if len(strings.TrimSpace(string(c.body))) == 0 {
		if optional {
			return nil
		}
		return invalid("a body is required")
	}
	if err := wire.Decode(c.body, v); err != nil {
		return &refusal{
			status: http.StatusBadRequest, code: wire.TitleValidationErrorsPresent, detail: "the body does not fit: " + err.Error(),
			fields: map[string][]string{"$": {err.Error()}},
		}
	}
	return nil
}

// no is the answer that an error stands for. What is the emulator's own failure is
// told without the paths and values in it.
func (c *call) no(err error) answer {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		r = ownFailure(err)
	}
	a := answer{status: r.status}
	a.doc, a.kind = r.document(c.plane, c.id, c.trace)
	if r.status == http.StatusForbidden && r.detail == "" {
		a.doc, a.kind = nil, ""
	}
	if r.status == http.StatusUnauthorized {
		a.set("WWW-Authenticate", "Bearer")
	}
	if r.allow != "" {
		a.set("Allow", r.allow)
	}
	return a
}

func ownFailure(err error) *refusal {
	if u, ok := errors.AsType[*Unsupported](err); ok {
		return &refusal{status: http.StatusNotImplemented, code: u.Title, detail: u.Detail}
	}
	if errors.Is(err, store.ErrBusy) {
		return &refusal{status: http.StatusServiceUnavailable, code: "EmulatorBusy", detail: store.ErrBusy.Error()}
	}
	for _, known := range []error{store.ErrDamaged, store.ErrKeyGone, store.ErrWrongKey, store.ErrUnusable} {
		if errors.Is(err, known) {
			return &refusal{status: http.StatusServiceUnavailable, code: wire.EmulatorState, detail: known.Error()}
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &refusal{status: http.StatusServiceUnavailable, code: "EmulatorClosing", detail: "the emulator gave the request up"}
	}
	return &refusal{status: http.StatusInternalServerError, code: "InternalError", detail: "the emulator failed"}
}

// injected is the answer that a fault gives in place of one.
func (c *call) injected() answer {
	a := answer{status: c.fault.Status}
	switch c.fault.Body {
	case "empty":
	case "html":
		a.raw, a.kind = []byte("<html><body>bad gateway</body></html>"), "text/html"
	default:
		r := &refusal{status: c.fault.Status, code: "InjectedFault", detail: "a fault that was switched on"}
		a.doc, a.kind = r.document(c.plane, c.id, c.trace)
	}
	for name, value := range map[string]string{
		"Retry-After": c.fault.RetryAfter, "x-ms-retry-after-ms": c.fault.RetryAfterMS, "Location": c.fault.Location,
	} {
		if value != "" {
			a.set(name, value)
		}
	}
	return a
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
