package acasapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// hostile answers every request with the same status, header and bytes.
type hostile struct {
	status        int
	name, value   string
	body          []byte
	requests      int
	createdAndRan int
}

func (h *hostile) Do(req *http.Request) (*http.Response, error) {
	h.requests++
	if strings.HasSuffix(req.URL.Path, "/executeShellCommand") {
		h.createdAndRan++
	}
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
	header := http.Header{}
	header.Set(h.name, h.value)
	return &http.Response{
		StatusCode: h.status, Header: header, Body: io.NopCloser(bytes.NewReader(h.body)), ContentLength: int64(len(h.body)), Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// Whatever a service answers, every operation ends: without a panic, in a result or
// in a refusal of one plain line, and without asking for ever.
func FuzzWhateverTheServiceAnswersEveryCallEnds(f *testing.F) {
	for _, body := range []string{
		`{"id":"sb-1","state":"Running","labels":{}}`, `{"id":"sb-1","state":"Creating"}`, `[{"id":"sb-1","state":"Running"}]`, `null`, ``, `{}`,
		`{"value":[{"id":"a","state":"b"}],"nextLink":"https://embedded.invalid/x?p=1"}`, `{"status":"InProgress"}`, `7`,
		`{"exitCode":0,"stdout":"","stderr":""}`, `{"title":"x","detail":"y","errorCode":501}`, `{"path":"/","entries":[]}`,
		`{"diskImage":{"id":"i","status":{"state":"Building"}}}`, `{"properties":{"provisioningState":"InProgress"}}`, `{"secrets":[]}`,
	} {
		f.Add(uint16(200), "Content-Type", "application/json", []byte(body))
		f.Add(uint16(202), "Azure-AsyncOperation", "https://embedded.invalid/op", []byte(body))
		f.Add(uint16(429), "Retry-After", "9999999999", []byte(body))
		f.Add(uint16(409), "x-ms-request-id", "\u202e", []byte(body))
		f.Add(uint16(503), "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", []byte(body))
		f.Add(uint16(202), "Location", "//elsewhere", []byte(body))
	}
	f.Fuzz(func(t *testing.T, status uint16, name, value string, body []byte) {
		h := &hostile{status: 200 + int(status)%400, name: name, value: value, body: body}
		r := newRig(t, "https://embedded.invalid", nil, func(c *acasapi.Config) { c.Transport = h })
		for _, call := range everyCall(t.Context(), r, r.group(t, "g")) {
			h.requests, h.createdAndRan = 0, 0
			err := call.do()
			if h.requests > 2000 || h.createdAndRan > 20 {
				t.Errorf("%s: %d requests, %d commands", call.name, h.requests, h.createdAndRan)
			}
			if err == nil {
				continue
			}
			if sandbox.RefusalOf(err) == nil {
				t.Errorf("%s: %v is no refusal", call.name, err)
			}
			for line := range strings.SplitSeq(err.Error(), "\n") { // joined errors stand on lines of their own
				if strings.ContainsAny(line, "\r\x1b\x00\u202e") || len(line) > 4000 {
					t.Errorf("%s: %q", call.name, err)
				}
			}
		}
	})
}

type namedCall struct {
	name string
	do   func() error
}

func everyCall(ctx context.Context, r *rig, g *acasapi.Group) []namedCall {
	s, err := g.Sandbox("sb-1")
	if err != nil {
		return []namedCall{{"sandbox", func() error { return err }}}
	}
	var none acasapi.Wait
	return []namedCall{
		{"group put", func() error { return second(r.PutGroup(ctx, groupID("g"), wire.Group{Location: "x"}, none)) }},
		{"group delete", func() error { return r.DeleteGroup(ctx, groupID("g"), none) }},
		{"groups", func() error { return second(gathered(r.ListGroups(ctx, subscription, ""))) }},
		{"sandbox create", func() error { return second(g.CreateSandbox(ctx, smallest(), acasapi.Making{})) }},
		{"sandbox get", func() error { return second(s.Get(ctx)) }},
		{"sandboxes", func() error { return second(gathered(g.Sandboxes(ctx, wire.Labels{"a": "b"}))) }},
		{"sandbox delete", func() error { return s.Delete(ctx, none) }},
		{"stop", func() error { return second(s.Stop(ctx, none)) }},
		{"resume", func() error { return second(s.Resume(ctx, none)) }},
		{"lifecycle", func() error { return second(s.SetLifecycle(ctx, wire.Lifecycle{})) }},
		{"exec", func() error { return second(s.ExecShell(ctx, wire.ShellCommand{Command: "true"})) }},
		{"file read", func() error {
			file, err := s.ReadFile(ctx, "/x")
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, file)
			return errors.Join(err, file.Close())
		}},
		{"file write", func() error { return s.WriteFile(ctx, "/x", strings.NewReader("x"), acasapi.Writing{Size: 1}) }},
		{"stat", func() error { return second(s.StatFile(ctx, "/x")) }},
		{"list", func() error { return second(s.ListFiles(ctx, "/x")) }},
		{"image create", func() error {
			return second(g.CreateImage(ctx, wire.CreateImage{Image: &wire.ImageSource{Base: "r.example/x:1"}}, acasapi.Making{}))
		}},
		{"commit", func() error { return second(s.Commit(ctx, nil, acasapi.Making{})) }},
		{"snapshot", func() error { return second(s.CreateSnapshot(ctx, nil, acasapi.Making{})) }},
		{"volume", func() error { return second(g.PutVolume(ctx, "v", wire.Volume{}, none)) }},
		{"attach", func() error { return s.AttachVolume(ctx, wire.VolumeMount{VolumeName: "v", Mountpoint: "/x"}) }},
		{"secrets", func() error { return second(gathered(g.Secrets(ctx))) }},
		{"peek", func() error { return second(g.PeekSecret(ctx, "abc")) }},
		{"port", func() error { return second(s.AddPort(ctx, wire.Port{Port: 80})) }},
		{"egress", func() error { return second(s.SetEgress(ctx, wire.EgressPolicy{DefaultAction: wire.EgressDeny})) }},
		{"decisions", func() error { return second(s.EgressDecisions(ctx)) }},
		{"count", func() error { return second(g.CountSandboxes(ctx)) }},
	}
}
