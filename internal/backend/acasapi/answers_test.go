package acasapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const jsonType = "application/json"

func TestARenamedFieldIsRefusedAndNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, field string
		call        func(context.Context, *acasapi.Sandbox) error
	}{
		"stat": {
			`{"path":"/x","name":"x","size":1,"isDirectory":false,"isSymlink":false}`, "isDirectory",
			func(ctx context.Context, s *acasapi.Sandbox) error { return second(s.StatFile(ctx, "/x")) },
		},
		"list": {
			`{"path":"/","items":[]}`, "items",
			func(ctx context.Context, s *acasapi.Sandbox) error { return second(s.ListFiles(ctx, "/")) },
		},
		"sandbox": {
			`{"id":"sb-1","status":"Running"}`, "status",
			func(ctx context.Context, s *acasapi.Sandbox) error { return second(s.Get(ctx)) },
		},
		"another case": {
			`{"id":"sb-1","State":"Running"}`, "State",
			func(ctx context.Context, s *acasapi.Sandbox) error { return second(s.Get(ctx)) },
		},
		"egress": {
			`{"default":"Deny","hostRules":[]}`, "default",
			func(ctx context.Context, s *acasapi.Sandbox) error {
				return second(s.SetEgress(ctx, wire.EgressPolicy{DefaultAction: wire.EgressDeny}))
			},
		},
	} {
		srv := newServer(t)
		var told []string
		r := srv.rig(t, func(c *acasapi.Config) {
			c.Unfamiliar = func(op wire.Op, field string) { told = append(told, field) }
		})
		srv.answer(says(http.StatusOK, jsonType, c.body))
		err := c.call(t.Context(), must(r.group(t, "g").Sandbox("sb-1"))(t))
		if !errors.Is(err, sandbox.CodeServiceAnswerInvalid) || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(told, []string{c.field}) {
			t.Errorf("%s: told of %q", name, told)
		}
	}
}

func TestAnUnknownFieldOfAnEgressPolicyIsSurfacedWhereverItStands(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"defaultAction":"Deny","hostRules":[],"x":1}`:                                                  "x",
		`{"defaultAction":"Deny","hostRules":[{"pattern":"a","action":"Allow","x":1}]}`:                  "hostRules[0].x",
		`{"defaultAction":"Deny","hostRules":[],"rules":[{"match":{"x":1},"action":{"type":"Allow"}}]}`:  "rules[0].match.x",
		`{"defaultAction":"Deny","hostRules":[],"rules":[{"match":{},"action":{"type":"Allow","x":1}}]}`: "rules[0].action.x",
		`{"defaultAction":"Deny","hostRules":[],"http":{"defaultAction":"Deny","hostRules":[],"x":[]}}`:  "http.x",
		`{"DefaultAction":"Allow","defaultAction":"Deny","hostRules":[]}`:                                "DefaultAction",
	} {
		srv := newServer(t)
		srv.answer(says(http.StatusOK, jsonType, `{"id":"sb-1","state":"Running","egressPolicy":`+body+`}`))
		s := must(srv.rig(t).group(t, "g").Sandbox("sb-1"))(t)
		policy, unknown, err := s.Egress(t.Context())
		if err != nil || policy == nil || !slices.Equal(unknown, []string{want}) {
			t.Errorf("%s: %+v, unknown %q, %v", body, policy, unknown, err)
		}
	}
	srv := newServer(t)
	srv.answer(says(http.StatusOK, jsonType, `{"id":"sb-1","state":"Running","egressPolicy":{"defaultAction":"Deny","defaultAction":"Allow"}}`))
	s := must(srv.rig(t).group(t, "g").Sandbox("sb-1"))(t)
	if _, _, err := s.Egress(t.Context()); !errors.Is(err, sandbox.CodeServiceAnswerInvalid) {
		t.Errorf("a policy that says two things: %v", err)
	}
}

func TestTheCanaryIsBounded(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	calls := 0
	r := srv.rig(t, func(c *acasapi.Config) { c.Unfamiliar = func(wire.Op, string) { calls++ } })
	s := must(r.group(t, "g").Sandbox("sb-1"))(t)
	for i := range 2 {
		var b strings.Builder
		for j := range 300 {
			fmt.Fprintf(&b, `,"f%d-%d\n":1`, i, j)
		}
		srv.answer(says(http.StatusOK, jsonType, `{"id":"sb-1","state":"Running"`+b.String()+`}`))
		must(s.Get(t.Context()))(t)
	}
	if met := r.Unfamiliar(); len(met) != 256 || calls != 256 || strings.Contains(met[0].Field, "\n") {
		t.Errorf("%d fields kept, %d told, the first is %q", len(met), calls, met[0].Field)
	}
}

func TestAnAnswerForAnotherSandboxIsRefused(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	srv.answer(says(http.StatusOK, jsonType, `{"id":"sb-2","state":"Running"}`))
	s := must(srv.rig(t).group(t, "g").Sandbox("sb-1"))(t)
	if _, err := s.Get(t.Context()); !errors.Is(err, sandbox.CodeServiceAnswerInvalid) {
		t.Error(err)
	}
}

// What is read as an empty list is taken for gone.
func TestAListIsNeverReadAsEmptyByMistake(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`null`, `{}`, `{"items":[]}`, `{"value":null}`, `{"value":{}}`, `"x"`, `0`, `{"value":[],"nextLink":7}`, `[{"state":"Running"}]`, `[null]`} {
		srv := newServer(t)
		srv.answer(says(http.StatusOK, jsonType, body))
		if _, err := gathered(srv.rig(t).group(t, "g").Sandboxes(t.Context(), nil)); !errors.Is(err, sandbox.CodeServiceAnswerInvalid) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, body := range []string{`[]`, `{"value":[]}`, `{"value":[],"nextLink":null}`, `{"value":[],"nextLink":""}`} {
		srv := newServer(t)
		srv.answer(says(http.StatusOK, jsonType, body))
		if got, err := gathered(srv.rig(t).group(t, "g").Sandboxes(t.Context(), nil)); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
}

func TestPagesThatLeadInACircleEnd(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	for range 5 {
		srv.answer(says(http.StatusOK, jsonType, `{"value":[],"nextLink":"`+srv.url+`/sandboxGroups/g/sandboxes?api-version=1&p=1"}`))
	}
	_, err := gathered(srv.rig(t).group(t, "g").Sandboxes(t.Context(), nil))
	if !errors.Is(err, sandbox.CodeServiceAnswerInvalid) || len(srv.requests()) != 2 {
		t.Errorf("%v after %d", err, len(srv.requests()))
	}
}

func TestAServiceThatIgnoresPageNumbersIsListedOnce(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t, func(c *acasapi.Config) { c.PageSize = 2 })
	g := r.group(t, "g")
	for range 2 { // exactly a page, so that a second one is asked for
		must(g.CreateSandbox(t.Context(), smallest(), acasapi.Making{}))(t)
	}
	if all := must(gathered(g.Sandboxes(t.Context(), nil)))(t); len(all) != 2 {
		t.Errorf("%d sandboxes of 2", len(all))
	}
}

func TestAListCanBeLeftEarly(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	g := r.group(t, "g")
	for range 3 {
		must(g.CreateSandbox(t.Context(), smallest(), acasapi.Making{}))(t)
	}
	for one, err := range g.Sandboxes(t.Context(), wire.Labels{"run": "42"}) {
		if err != nil || one.ID != "sb-1" {
			t.Errorf("%+v, %v", one, err)
		}
		break
	}
}

func TestNamesThatCouldLeadElsewhereAreNotSent(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	g := r.group(t, "g")
	for _, id := range []string{"", ".", "..", "a/b", `a\b`, "a%2fb", "a?b", "a#b", "a\x00", "a b", "a\n", "..a", strings.Repeat("x", 300), "\xff"} {
		for name, err := range map[string]error{
			"sandbox": second(g.Sandbox(id)), "image": second(g.Image(t.Context(), id)), "snapshot": second(g.Snapshot(t.Context(), id)),
			"volume": second(g.Volume(t.Context(), id)), "secret": second(g.SecretKeys(t.Context(), id)),
			"public image": second(g.PublicImage(t.Context(), id)), "group": second(r.Group(groupID(id))),
			"connection": g.DeleteConnection(t.Context(), id),
		} {
			if !errors.Is(err, sandbox.CodeInvalidText) {
				t.Errorf("%s %q: %v", name, id, err)
			}
		}
	}
	for _, labels := range []wire.Labels{{"": "x"}, {"a=b": "x"}, {"a,b": "x"}, {"a": "b,c"}, {"a": strings.Repeat("x", 64)}, {"a": "b\n"}} {
		body := smallest()
		body.Labels = labels
		if _, err := g.CreateSandbox(t.Context(), body, acasapi.Making{}); !errors.Is(err, sandbox.CodeInvalidText) {
			t.Errorf("%q: %v", labels, err)
		}
		if _, err := gathered(g.Sandboxes(t.Context(), labels)); !errors.Is(err, sandbox.CodeInvalidText) {
			t.Errorf("filter %q: %v", labels, err)
		}
	}
	if n := len(srv.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	body := smallest()
	body.Labels = wire.Labels{"a": strings.Repeat("ü", 63)}
	must(g.CreateSandbox(t.Context(), body, acasapi.Making{}))(t)
}

func TestAGroupIsNamedByItsResourceID(t *testing.T) {
	t.Parallel()
	id := must(acasapi.ParseGroupID("/subscriptions/" + subscription + "/resourcegroups/rg-1/providers/microsoft.app/SANDBOXGROUPS/g-1"))(t)
	if id != (acasapi.GroupID{Subscription: subscription, ResourceGroup: "rg-1", Name: "g-1"}) {
		t.Errorf("%+v", id)
	}
	if again := must(acasapi.ParseGroupID(id.String()))(t); again != id {
		t.Errorf("%+v", again)
	}
	for _, bad := range []string{
		"", id.String() + "/", id.String() + "/x", strings.Replace(id.String(), subscription, "x", 1),
		strings.Replace(id.String(), "rg-1", "..", 1), strings.Replace(id.String(), "/g-1", "/-g", 1), "x" + id.String(),
	} {
		if _, err := acasapi.ParseGroupID(bad); !errors.Is(err, sandbox.CodeInvalidText) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAnOperationOfAnotherVersionIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t, func(c *acasapi.Config) { c.ARMVersion = wire.V0701 })
	g := r.group(t, "g")
	s := must(g.Sandbox("sb-1"))(t)
	for name, err := range map[string]error{
		"stop async":   second(s.StopAsync(t.Context(), acasapi.Wait{})),
		"patch ports":  second(s.PatchPorts(t.Context(), nil)),
		"named policy": second(g.EgressPolicy(t.Context(), "p")),
		"identity": second(r.PutGroup(t.Context(), groupID("g"), wire.Group{
			Location: "swedencentral", Identity: &wire.GroupIdentity{Type: wire.IdentityNone},
		}, acasapi.Wait{})),
	} {
		if !errors.Is(err, sandbox.CodeServiceNoOperation) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(srv.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	_, err := acasapi.New(acasapi.Config{Credential: &credential{}, DataVersion: "2020-01-01"})
	if !errors.Is(err, sandbox.CodeUnknownWord) {
		t.Error(err)
	}
}

// inProcess is a service in this process: no socket, no certificate.
type inProcess struct{ http.Handler }

func (p inProcess) Do(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if req.Body == nil {
		req.Body = io.NopCloser(strings.NewReader(""))
	}
	p.ServeHTTP(w, req)
	return w.Result(), nil
}

func TestAServiceInThisProcessNeedsNoSocket(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := newRig(t, "https://embedded.invalid", nil, func(c *acasapi.Config) { c.Transport = inProcess{srv} })
	made := must(r.group(t, "g").CreateSandbox(t.Context(), smallest(), acasapi.Making{}))(t)
	if err := must(r.group(t, "g").Sandbox(made.ID))(t).Delete(t.Context(), acasapi.Wait{}); err != nil {
		t.Error(err)
	}
}

func TestAClosedClientLeavesNothingRunning(t *testing.T) { //nolint:paralleltest // it counts what runs
	before := goleak.IgnoreCurrent()
	srv := newServer(t)
	r := srv.rig(t)
	s := must(r.group(t, "g").Sandbox("sb-1"))(t)
	must(s.ExecShell(t.Context(), wire.ShellCommand{Command: "true"}))(t)
	if err := drain(s.ReadFile(t.Context(), "/x")); err != nil {
		t.Error(err)
	}
	r.Close()
	srv.close()
	goleak.VerifyNone(t, before)
}
