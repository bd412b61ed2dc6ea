package egressproxy

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// denial is why a request is not answered by its server. It becomes the answer to
// the guest and the event for the observer.
type denial struct {
	code   sandbox.Code
	status int
	// request is what was asked for, as far as it could be read; host is the guest's
	// own text where no host could be.
	request egress.Request
	host    string
	// rule is the rule that came nearest, if any.
	rule string
	// found is what was wrong, in our words.
	found string
	// change is the smallest addition to the workload's rules that would admit it.
	change string
}

// Error is the code and what was found.
func (d *denial) Error() string { return string(d.code) + ": " + d.found }

func deny(code sandbox.Code, status int, found string) *denial {
	return &denial{code: code, status: status, found: found}
}

// about says of what request the denial is.
func (d *denial) about(r egress.Request) *denial {
	c := *d
	c.request = r
	return &c
}

// answer is the body that a guest gets.
type answer struct {
	Code    sandbox.Code `json:"code"`
	Summary string       `json:"summary"`
	// Host reads "api.example.com:443 (GET /v1)" and has no query.
	Host  string `json:"host,omitempty"`
	Rule  string `json:"rule,omitempty"`
	Found string `json:"found,omitempty"`
	// Change is an edit of the workload that would admit the request.
	Change string `json:"change,omitempty"`
}

// body is the answer as JSON, one line.
func (d *denial) body() []byte {
	a := answer{Code: d.code, Summary: d.code.Summary(), Host: d.host, Rule: shownRule(d.rule), Found: d.found, Change: d.change}
	if text := requestText(d.request); text != "" {
		a.Host = text
	}
	var b bytes.Buffer
	json.NewEncoder(&b).Encode(a) //nolint:errcheck,errchkjson // strings into a buffer
	return b.Bytes()
}

// header is what goes with the body. A denied request ends its connection, since
// what follows it may have been meant as a part of it.
func (d *denial) header() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"}}
}

func requestText(r egress.Request) string {
	return egress.Witness{Host: r.Host, Addr: r.Addr, Port: r.Port, Method: bounded(r.Method), Path: bounded(r.Path)}.String()
}

// bounded is guest text inside a longer one; the empty text stays empty.
func bounded(text string) string {
	if text == "" {
		return ""
	}
	return shown(text)
}

func shownRule(name string) string { return bounded(name) }
