package acasapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// plane is one of the two services: its origin, its version and its pipeline.
type plane struct {
	kind     wire.Plane
	version  wire.Version
	base     *url.URL
	pipeline runtime.Pipeline
	client   *Client
	time     atomic.Pointer[reading]
}

// call is one operation about to be asked for.
type call struct {
	op     wire.Op
	object string // for people: sandbox "7b0c"
	seg    wire.Segments
	query  []param
	body   any      // a document of package wire; nil for none
	upload *upload  // a file instead of a document
	stream bool     // hand the answer's body over unread
	link   *url.URL // a URL that an answer gave, instead of the operation's path
}

type param struct{ name, value string }

// send asks for an operation, again and again where that is safe. Every error is a
// [*sandbox.Refusal], except the end of the caller's context.
func (p *plane) send(ctx context.Context, c call) (*answer, error) {
	id, err := runtime.NewUUID()
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", c.op, c.object, err)
	}
	out, err := p.prepare(c, id)
	if err != nil {
		return nil, err
	}
	repeat := p.newRepetition(c)
	for attempt := 1; ; attempt++ {
		a, failure := p.attempt(ctx, out)
		if failure == nil {
			p.observe(out, attempt, 0, a.status, a.ids.RequestID)
			a.repeated = repeat.mayHaveRun
			return a, nil
		}
		failure.Op, failure.Object, failure.Attempts, failure.ClientRequestID = c.op, c.object, attempt, id
		failure.repeated, failure.emulated, failure.loopback = repeat.mayHaveRun, !p.cloud(), p.loopback()
		wait, again := repeat.next(ctx, attempt, failure)
		p.observe(out, attempt, wait, failure.Status, failure.RequestID)
		if err := ended(ctx); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", c.op, c.object, errors.Join(err, failure))
		}
		if !again {
			return nil, failure.refuse()
		}
		if err := p.client.cfg.Clock.Sleep(ctx, wait); err != nil {
			return nil, fmt.Errorf("%s of %s, waiting to ask again: %w", c.op, c.object, errors.Join(err, failure))
		}
	}
}

func (p *plane) observe(o outgoing, attempt int, wait time.Duration, status int, requestID string) {
	if tell := p.client.cfg.Observe; tell != nil {
		tell(Event{Op: o.op, Method: o.method, Attempt: attempt, Status: status, Wait: wait, RequestID: requestID})
	}
}

// outgoing is a call in the words of the plane's version.
type outgoing struct {
	call
	method  string
	url     string
	payload []byte
	id      string
}

// prepare refuses what cannot be sent before anything is.
func (p *plane) prepare(c call, id string) (outgoing, error) {
	form, ok := c.op.Form(p.version)
	if !ok {
		return outgoing{}, refusal(sandbox.CodeServiceNoOperation, c.object, c.op.String()+" in "+string(p.version), "another api-version", "")
	}
	o := outgoing{call: c, method: form.Method, id: id}
	if c.link != nil {
		o.url = c.link.String()
		return o, nil
	}
	path, err := wire.Expand(form.Path, c.seg)
	if err != nil {
		return outgoing{}, refusal(sandbox.CodeInvalidText, c.object, err.Error(), "names that can stand in a path", "")
	}
	o.url = p.base.String() + path + "?" + encodeQuery(append(c.query, param{"api-version", string(p.version)}))
	if c.body != nil {
		if o.payload, err = wire.Encode(c.body); err != nil {
			return outgoing{}, refusal(sandbox.CodeInvalidText, c.object, err.Error(), "text in UTF-8", "")
		}
	}
	return o, nil
}

// encodeQuery percent-encodes every value, a space as %20: servers disagree about a
// plus, and Go's own servers drop a pair with a bare semicolon.
func encodeQuery(params []param) string {
	pairs := make([]string, 0, len(params))
	for _, p := range params {
		pairs = append(pairs, url.QueryEscape(p.name)+"="+strings.ReplaceAll(url.QueryEscape(p.value), "+", "%20"))
	}
	return strings.Join(pairs, "&")
}

// attempt sends the request once.
func (p *plane) attempt(ctx context.Context, o outgoing) (*answer, *Error) {
	ctx, cancel := context.WithCancel(ctx)
	// A stream outlives this function, so its time-out ends with its headers.
	timeout := timeoutOf(o.op)
	timer := time.AfterFunc(timeout, cancel)
	defer timer.Stop()

	req, err := newRequest(ctx, o)
	if err != nil {
		cancel()
		failure := &Error{Class: sandbox.CodeInvalidText, Err: err, outcome: notSent}
		if errors.Is(err, errOnce) { // an earlier attempt read it
			failure.Class = sandbox.CodeServiceOutcomeUnknown
		}
		return nil, failure
	}
	resp, err := p.pipeline.Do(req)
	if err != nil {
		late := ctx.Err() != nil
		cancel()
		if late {
			err = fmt.Errorf("no answer within %s: %w", timeout, err)
		}
		return nil, o.upload.blame(fromTransport(err))
	}
	if failure := p.judge(resp, o.op); failure != nil {
		drop(resp)
		cancel()
		return nil, failure
	}
	p.noteTime(resp.Header)
	if o.stream {
		a := newAnswer(resp, o)
		a.stream = &stream{body: resp.Body, cancel: cancel, left: resp.ContentLength}
		return a, nil
	}
	defer cancel()
	return readAnswer(resp, o)
}

func newRequest(ctx context.Context, o outgoing) (*policy.Request, error) {
	req, err := runtime.NewRequest(ctx, o.method, o.url)
	if err != nil {
		return nil, err
	}
	runtime.SkipBodyDownload(req)
	header := req.Raw().Header
	header.Set("Accept", "application/json")
	header.Set("x-ms-client-request-id", o.id)
	if o.stream {
		header.Set("Accept", "*/*")
		header.Set("Accept-Encoding", "identity") // a compressed file has no length to hold it to
	}
	switch {
	case o.upload != nil:
		if err := o.upload.rewind(); err != nil {
			return nil, err
		}
		err := req.SetBody(o.upload, "application/octet-stream")
		// The transport may not start the content over by itself, not even to look at a
		// redirect that it will not follow.
		req.Raw().GetBody = nil
		return req, err
	case o.payload != nil:
		return req, req.SetBody(streaming.NopCloser(bytes.NewReader(o.payload)), "application/json")
	default:
		return req, nil
	}
}

// timeoutOf bounds one request, generously: it is there for a peer that stopped
// answering, not to decide how long work may take.
func timeoutOf(op wire.Op) time.Duration {
	switch op {
	case wire.SandboxCreate, wire.SandboxSnapshot, wire.SandboxCommit, wire.SandboxResume, wire.SandboxStop,
		wire.ExecShell, wire.ExecCommand, wire.VolumeFork:
		return 5 * time.Minute // the service's own front end gives up before this
	case wire.FileWrite, wire.VolumeFileWrite, wire.PackageUpload:
		return 15 * time.Minute
	case wire.FileRead, wire.VolumeFileRead:
		return 2 * time.Minute // until the headers; a pipe in the guest never sends any
	default:
		return time.Minute
	}
}

// succeeded are the statuses that any operation may succeed with; which of them a
// given one answers differs between versions and is not worth failing over.
func succeeded(status int) bool {
	switch status {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent:
		return true
	default:
		return false
	}
}
