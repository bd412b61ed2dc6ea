package acasemu_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
)

var names = regexp.MustCompile(`\{\w+\}`)

// plain sends a request as it is given, with what admits it.
func (w *world) plain(tb testing.TB, method, target, audience, body string) reply {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), method, w.url+target, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	if audience != "" {
		req.Header.Set("Authorization", token(audience))
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return w.send(tb, req)
}

func audienceOf(op wire.Op) string {
	if op.Operation().Plane == wire.ARM {
		return armAudience
	}
	return dataAudience
}

func TestEveryOperationOfTheContractIsServedInEachOfItsVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	for _, op := range wire.Ops() {
		for _, v := range op.Operation().Plane.Versions() {
			form, ok := op.Form(v)
			if !ok {
				continue
			}
			r := w.plain(t, form.Method, names.ReplaceAllString(form.Path, "some-name")+"?api-version="+string(v), audienceOf(op), "")
			if strings.Contains(string(r.body), "there is no such path") || r.status == http.StatusMethodNotAllowed || r.status >= 500 {
				t.Errorf("%s in %s: %d %s", op, v, r.status, r.body)
			}
		}
	}
}

func TestAPathThatIsNoneIsNotFoundAndAMethodThatIsNoneIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	for _, path := range []string{"/", "//", w.data("g") + "/nothing", w.data("g") + "/sandboxes/", w.data("g") + "//sandboxes", "/subscriptions/%2e%2e/x"} {
		if r := w.get(t, path); r.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	if r := w.ask(t, "PATCH", w.data("g")+"/sandboxes", "{}"); r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") != "GET, PUT" {
		t.Errorf("%d, allowed are %q", r.status, r.header.Get("Allow"))
	}
	// The older version makes sandboxes by PUT and the newer one by POST.
	if r := w.plain(t, "POST", w.data("g")+"/sandboxes?api-version=2026-09-01-preview", dataAudience, smallest); r.status != http.StatusCreated {
		t.Errorf("POST in the newer version: %d %s", r.status, r.body)
	}
	if r := w.post(t, w.data("g")+"/sandboxes", smallest); r.status != http.StatusMethodNotAllowed {
		t.Errorf("POST in the older version: %d", r.status)
	}
}

func TestPathsDifferByMoreThanCase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "Mine")
	id := w.sandbox(t, "mine")
	if r := w.get(t, "/Subscriptions/S/resourcegroups/RG/SANDBOXGROUPS/MINE/Sandboxes/"+id); r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestWhoAsksIsAskedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce(), Clock: newClock()})
	w.group(t, "g")
	data, arm := w.data("g")+"/sandboxes?"+version, w.arm("g")+"?"+version
	expired := "https://dynamicsessions.io\",\"exp\":1,\"x\":\""
	for name, c := range map[string]struct {
		target, audience string
		status           int
	}{
		"no token":                     {data, "", 401},
		"no token, no version":         {w.data("g") + "/sandboxes", "", 401},
		"no token on ARM":              {arm, "", 401},
		"another's audience":           {data, "https://graph.example", 401},
		"ARM's audience on data":       {data, armAudience, 401},
		"data's audience on ARM":       {arm, dataAudience, 401},
		"an expired token":             {data, expired, 401},
		"the audience":                 {data, dataAudience, 200},
		"the audience with a slash":    {data, dataAudience + "/", 200},
		"the other audience":           {data, "https://management.azuredevcompute.io", 200},
		"ARM's audience":               {arm, armAudience, 200},
		"no version":                   {w.data("g") + "/sandboxes", dataAudience, 400},
		"a version of the other plane": {w.data("g") + "/sandboxes?api-version=2026-07-01", dataAudience, 400},
		"ARM's stable version":         {w.arm("g") + "?api-version=2026-07-01", armAudience, 200},
		"a group that is none":         {w.data("none") + "/sandboxes?" + version, dataAudience, 404},
	} {
		r := w.plain(t, "GET", c.target, c.audience, "")
		if r.status != c.status {
			t.Errorf("%s: %d %s, not %d", name, r.status, r.body, c.status)
		}
		if c.status < 400 {
			continue
		}
		if strings.Contains(c.target, "/providers/") {
			inner, _ := r.doc(t)["error"].(map[string]any)
			if inner["code"] == nil || inner["message"] == nil {
				t.Errorf("%s: %s is no error of ARM", name, r.body)
			}
		} else if doc := r.doc(t); doc["title"] == nil || doc["status"] != float64(c.status) || r.header.Get("Content-Type") != wire.ProblemContentType {
			t.Errorf("%s: %s %s is no problem document", name, r.header.Get("Content-Type"), r.body)
		}
		if c.status == 401 && r.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: no challenge", name)
		}
	}
}

func TestEveryAnswerCanBeCorrelated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	req := w.request(t, "GET", w.data("none")+"/sandboxes", "")
	req.Header.Set("x-ms-client-request-id", "mine")
	r := w.send(t, req)
	if r.header.Get("x-ms-client-request-id") != "mine" || r.header.Get("x-ms-request-id") != r.doc(t)["requestId"] || r.header.Get("mise-correlation-id") == "" {
		t.Errorf("headers are %v for %s", r.header, r.body)
	}
}

// An empty list that comes as null breaks the clients of the service.
func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	id := w.sandbox(t, "g")
	for path, want := range map[string]string{
		"/diskimages": "[]", "/snapshots": "[]", "/volumes": "[]", "/connections": "[]", "/secrets": `{"secrets":[]}`,
		"/sandboxes?labels=run=none": "[]", "/sandboxes/" + id + "/ports": `{"ports":[]}`, "/volumes/count": `{"counts":[]}`,
	} {
		if r := w.get(t, w.data("g")+path); string(r.body) != want {
			t.Errorf("%s: %s, not %s", path, r.body, want)
		}
	}
	for path, want := range map[string]string{"/credentials": "[]", "/contentpackages": "[]", "/egressPolicies": `{"egressPolicies":[]}`} {
		if r := w.plain(t, "GET", w.data("g")+path+"?api-version=2026-09-01-preview", dataAudience, ""); string(r.body) != want {
			t.Errorf("%s: %s, not %s", path, r.body, want)
		}
	}
	if r := w.get(t, w.arm("g")+"/vnetConnections"); string(r.body) != `{"value":[]}` {
		t.Errorf("vnetConnections: %s", r.body)
	}
	for _, path := range []string{"/sandboxes/" + id, "/sandboxes/" + id + "/egress-decisions"} {
		if r := w.get(t, w.data("g")+path); strings.Contains(strings.ReplaceAll(string(r.body), `"stateDetails":null`, ""), "null") {
			t.Errorf("%s has a null: %s", path, r.body)
		}
	}
}

func TestPagesAreOfTheClientsHostAndComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce(), Behaviour: acasemu.Behaviour{PageSize: 2}})
	w.group(t, "g")
	for range 5 {
		w.sandbox(t, "g")
	}
	seen, next := 0, w.data("g")+"/sandboxes?"+version+"&labels=run=42"
	for range 10 {
		r := w.plain(t, "GET", next, dataAudience, "")
		doc := r.doc(t)
		items, _ := doc["value"].([]any)
		seen += len(items)
		link, more := doc["nextLink"].(string)
		if !more {
			break
		}
		u, err := url.Parse(link)
		if err != nil || "https://"+u.Host != w.url || u.Query().Get("api-version") == "" || u.Query().Get("labels") != "run=42" {
			t.Fatalf("the next page is %q", link)
		}
		next = u.RequestURI()
	}
	if seen != 5 {
		t.Errorf("%d sandboxes of 5", seen)
	}
	for query, want := range map[string]int{"Page=1&PageSize=3": 3, "page=2&pagesize=3": 2, "Page=3&PageSize=3": 0} {
		r := w.get(t, w.data("g")+"/sandboxes?"+query)
		if got := strings.Count(string(r.body), `"state"`); got != want {
			t.Errorf("%s: %d sandboxes, not %d", query, got, want)
		}
	}
	for _, query := range []string{"PageSize=0", "PageSize=x", "Page=-1&PageSize=2", "skip=x"} {
		if r := w.get(t, w.data("g")+"/sandboxes?"+query); r.status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, r.status)
		}
	}
}

// Clients of the service do not encode what they send in a query.
func TestQueriesAreReadAsTheyAreSent(t *testing.T) {
	t.Parallel()
	w := newFiles(t)
	for sent, name := range map[string]string{
		"/a b": "a b", "/a+b": "a b", "/a%20b": "a b", "/semi;colon": "semi;colon", "/a=b": "a=b", "/100%": "100%", "/a%zz": "a%zz",
		"/q?x": "q?x", "/%C3%A4": "ä", "/comma,'quote": "comma,'quote",
	} {
		raw := strings.ReplaceAll(sent, " ", "%20")
		if r := w.put(t, w.sandboxPath+"/files?createDirs=true&path="+raw, "x"); r.status != http.StatusOK {
			t.Errorf("%q: %d %s", sent, r.status, r.body)
			continue
		}
		if got := w.get(t, w.sandboxPath+"/files/stat?path="+raw).doc(t)["name"]; got != name {
			t.Errorf("%q is the file %q, not %q", sent, got, name)
		}
	}
}
