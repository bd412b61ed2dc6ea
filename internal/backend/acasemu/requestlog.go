package acasemu

import (
	"slices"
	"strings"
	"sync"
	"time"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// Exchange is one request as it arrived, and what it was answered. Tokens and
// secrets are not in it.
type Exchange struct {
	Seq int       `json:"seq"`
	At  time.Time `json:"at"`
	// Operation is the name of the operation in the contract, empty for what is none.
	Operation string   `json:"operation"`
	Request   Request  `json:"request"`
	Response  Response `json:"response"`
}

// Request is the first half of an [Exchange].
type Request struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	// Template is the path of the contract that it fits.
	Template string            `json:"template"`
	Query    map[string]string `json:"query"`
	Headers  map[string]string `json:"headers"`
	Body     jsontext.Value    `json:"body,omitzero"`
}

// Response is the second half. A Status of zero is no answer: the connection was
// cut, or the answer is still being made.
type Response struct {
	Status int `json:"status"`
}

// requestLog is the last requests, in a ring.
type requestLog struct {
	mu      sync.Mutex
	most    int
	seq     int
	entries []*Exchange
	// size is about how many bytes the entries hold, sizes of which.
	size  int
	sizes []int
}

// maxLogSize bounds what all entries hold: clients choose how long their paths,
// headers and bodies are.
const maxLogSize = 32 << 20

func newRequestLog(most int) *requestLog { return &requestLog{most: most} }

func (l *requestLog) begin(c *call) *Exchange {
	r := c.request
	x := &Exchange{At: c.now, Operation: c.op.String(), Request: Request{
		Method: r.Method, Path: r.URL.Path, Query: map[string]string{}, Headers: map[string]string{},
	}}
	if form, ok := c.op.Form(c.version); ok {
		x.Request.Template = form.Path
	}
	for _, p := range c.query {
		x.Request.Query[bounded(p.name)] = bounded(p.value)
	}
	for name, values := range r.Header {
		if name = strings.ToLower(name); slices.Contains(loggedHeaders, name) {
			x.Request.Headers[name] = bounded(strings.Join(values, ", "))
		}
	}
	if token, ok := bearer(r.Header); ok {
		read, _ := claimsOf(token)
		x.Request.Headers["authorization"] = "Bearer <aud=" + bounded(read.Audience) + ">"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	x.Seq = l.seq
	if len(l.entries) >= l.most {
		l.forget(max(1, l.most/10))
	}
	l.entries, l.sizes = append(l.entries, x), append(l.sizes, 0)
	l.grow(x, sizeOf(&x.Request))
	return x
}

// sizeOf is about what a request holds without its body.
func sizeOf(r *Request) int {
	size := 512 + len(r.Path)
	for _, all := range []map[string]string{r.Query, r.Headers} {
		for name, value := range all {
			size += len(name) + len(value)
		}
	}
	return size
}

// grow adds to what an entry holds. The oldest make room; the entry itself stays,
// unless it was forgotten already.
func (l *requestLog) grow(x *Exchange, by int) {
	i := len(l.entries) - 1
	for i >= 0 && l.entries[i] != x { // it is among the newest
		i--
	}
	if i < 0 {
		return
	}
	l.sizes[i] += by
	l.size += by
	drop := 0
	for size := l.size; size > maxLogSize && drop < i; drop++ {
		size -= l.sizes[drop]
	}
	l.forget(drop)
}

// forget drops the oldest.
func (l *requestLog) forget(n int) {
	for _, size := range l.sizes[:n] {
		l.size -= size
	}
	l.entries, l.sizes = slices.Delete(l.entries, 0, n), slices.Delete(l.sizes, 0, n)
}

func (l *requestLog) end(x *Exchange, c *call, status int) {
	body := hideSecrets(c.op, c.body)
	l.mu.Lock()
	defer l.mu.Unlock()
	x.Request.Body, x.Response.Status = body, status
	l.grow(x, len(body))
}

func (l *requestLog) all() []Exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Exchange, 0, len(l.entries))
	for _, x := range l.entries {
		all = append(all, *x)
	}
	return all
}

func (l *requestLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries, l.sizes, l.size = nil, nil, 0
}

// loggedHeaders are the headers that are remembered: what else a client sends, such as
// a cookie or a key for something on the way, may be a secret.
var loggedHeaders = []string{
	"accept", "accept-encoding", "connection", "content-length", "content-type", "user-agent", "if-match", "if-none-match", "range", "repeatability-first-sent",
	"repeatability-request-id", "traceparent", "x-ms-client-request-id", "x-ms-correlation-request-id", "x-ms-date",
	"x-ms-return-client-request-id", "x-ms-useragent",
}

// maxLoggedText bounds a value of a query or a header.
const maxLoggedText = 1 << 10

func bounded(text string) string {
	if len(text) <= maxLoggedText {
		return text
	}
	return strings.ToValidUTF8(text[:maxLoggedText], "") + "…"
}

// maxLogged is the largest body that is remembered.
const maxLogged = 64 << 10

// hideSecrets is a body with what nobody may see replaced. Where the whole
// operation is about secrets, only the shape of the body is left.
func hideSecrets(op wire.Op, body []byte) jsontext.Value {
	if len(body) == 0 || len(body) > maxLogged || !wire.Whole(body) {
		return nil
	}
	var doc any
	if wire.DecodeText(body, &doc) != nil {
		return nil
	}
	all := op == wire.SecretPut || op == wire.CredentialPut || op == wire.ConnectionCreate
	hidden, err := json.Marshal(hide(doc, all), json.Deterministic(true))
	if err != nil {
		return nil
	}
	return hidden
}

// secretMembers are members whose value, or whose every value, is a secret.
var secretMembers = []string{"values", "environment", "token", "anthropicApiKey", "registryCredentials", "value"}

// secretMember takes a name in any letters: what the service would not know is a
// client's mistake, and its value is as secret.
func secretMember(name string) bool {
	return slices.ContainsFunc(secretMembers, func(known string) bool { return strings.EqualFold(known, name) })
}

func hide(v any, all bool) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = hide(inner, all || secretMember(name))
		}
	case []any:
		for i, inner := range v {
			v[i] = hide(inner, all)
		}
	default:
		if all && v != nil {
			return "***"
		}
	}
	return v
}
