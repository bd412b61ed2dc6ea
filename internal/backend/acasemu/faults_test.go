package acasemu_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
)

func (w *world) fault(t *testing.T, spec string) {
	t.Helper()
	w.emulator.ClearFaults()
	if err := w.emulator.Fault(spec); err != nil {
		t.Fatal(err)
	}
}

func (w *world) count(op wire.Op) int {
	n := 0
	for _, x := range w.emulator.Requests() {
		if x.Operation == op.String() {
			n++
		}
	}
	return n
}

func TestALostAnswerToACreateLeavesASandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce(), Faults: []string{"lost-create"}})
	w.group(t, "g")
	if resp, err := w.http.Do(w.request(t, "PUT", w.data("g")+"/sandboxes", smallest)); err == nil {
		resp.Body.Close()
		t.Errorf("it was answered %d", resp.StatusCode)
	}
	if r := w.get(t, w.data("g")+"/sandboxes?labels=run=42"); strings.Count(string(r.body), `"state"`) != 1 {
		t.Errorf("there are %s", r.body)
	}
	w.sandbox(t, "g") // the next one is answered
	if n := w.count(wire.SandboxCreate); n != 2 {
		t.Errorf("%d creates arrived", n)
	}
}

func TestARoleTakesItsTimeToArrive(t *testing.T) {
	t.Parallel()
	now := newClock()
	w := newWorld(t, acasemu.Config{Clock: now, Pace: atOnce(), Faults: []string{"role-delay"}})
	w.group(t, "g")
	if r := w.get(t, w.data("g")+"/sandboxes"); r.status != http.StatusForbidden || len(r.body) != 0 {
		t.Errorf("at once: %d %q", r.status, r.body)
	}
	if r := w.get(t, w.arm("g")); r.status != http.StatusOK {
		t.Errorf("on ARM: %d", r.status)
	}
	now.pass(30 * time.Second)
	if r := w.get(t, w.data("g")+"/sandboxes"); r.status != http.StatusOK {
		t.Errorf("later: %d", r.status)
	}
}

func TestFaultsOfAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	path := w.data("g") + "/sandboxes/" + w.sandbox(t, "g")
	w.fault(t, "throttle,op=sandbox.get,times=1")
	if r := w.get(t, path); r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") != "1" {
		t.Errorf("throttled: %d %v", r.status, r.header)
	}
	if r := w.get(t, path); r.status != http.StatusOK {
		t.Errorf("after it: %d", r.status)
	}
	w.fault(t, "error-once")
	if r := w.get(t, path); r.status != http.StatusInternalServerError || r.header.Get("Content-Type") != wire.ProblemContentType {
		t.Errorf("an error: %d", r.status)
	}
	w.fault(t, "status=502,body=html")
	if r := w.get(t, path); r.status != http.StatusBadGateway || r.header.Get("Content-Type") != "text/html" {
		t.Errorf("a gateway: %d", r.status)
	}
	w.fault(t, "status=503,body=empty")
	if r := w.get(t, path); r.status != http.StatusServiceUnavailable || len(r.body) != 0 {
		t.Errorf("nothing: %d %q", r.status, r.body)
	}
	w.fault(t, "redirect")
	if r := w.get(t, path); r.status != http.StatusTemporaryRedirect || r.header.Get("Location") != "https://elsewhere.example/" {
		t.Errorf("a redirect: %d to %q", r.status, r.header.Get("Location"))
	}
	w.fault(t, "truncate=1")
	if r := w.get(t, path); r.status != http.StatusOK || wire.Whole(r.body) {
		t.Errorf("broken JSON: %d %s", r.status, r.body)
	}
	w.fault(t, "token=forbidden")
	if r := w.get(t, path); r.status != http.StatusForbidden || len(r.body) != 0 {
		t.Errorf("forbidden: %d %q", r.status, r.body)
	}
	w.fault(t, "clock-skew")
	if date, err := http.ParseTime(w.get(t, path).header.Get("Date")); err != nil || time.Until(date) < 9*time.Minute {
		t.Errorf("the service says it is %v (%v)", date, err)
	}
	for _, spec := range []string{"dropped-body", "drop=before", "drop=after"} {
		w.fault(t, spec)
		resp, err := w.http.Do(w.request(t, "GET", path, ""))
		if err == nil {
			doc := make([]byte, 1<<16)
			n := 0
			for err == nil {
				var m int
				m, err = resp.Body.Read(doc[n:])
				n += m
			}
			resp.Body.Close()
			if wire.Whole(doc[:n]) {
				t.Errorf("%s: a whole answer came", spec)
			}
		}
	}
}

func TestFaultsOfThings(t *testing.T) {
	t.Parallel()
	now := newClock()
	w := newWorld(t, acasemu.Config{Clock: now, Pace: atOnce()})
	w.group(t, "g")
	build := func() string {
		return fmt.Sprintf("%s/diskimages/%v", w.data("g"), w.must(t, w.request(t, "PUT", w.data("g")+"/diskimages", `{"image":{"base":"r.example/a:1"}}`)).doc(t)["id"])
	}
	w.fault(t, "stuck-build")
	image := build()
	for range 5 {
		now.pass(time.Hour)
		if r := w.get(t, image); !strings.Contains(string(r.body), `"Building"`) {
			t.Errorf("a stuck build is %s", r.body)
		}
	}
	w.fault(t, "expired-image,op=image.create")
	image = build()
	from := strings.NewReplacer(`"name":"ubuntu","isPublic":true`, `"id":"`+image[strings.LastIndex(image, "/")+1:]+`"`).Replace(smallest)
	if r := w.put(t, w.data("g")+"/sandboxes", from); r.status != http.StatusNotFound || r.doc(t)["title"] != "DiskImageExpired" {
		t.Errorf("an expired image starts %d %s", r.status, r.body)
	}
	w.fault(t, "slow-suspend")
	path := w.data("g") + "/sandboxes/" + w.sandbox(t, "g")
	w.post(t, path+"/stop", "")
	if got := w.state(t, path); got != "Stopping" {
		t.Errorf("at once it is %s", got)
	}
	now.pass(17 * time.Second)
	if got := w.state(t, path); got != "Stopped" {
		t.Errorf("in the end it is %s", got)
	}
	w.fault(t, "sandbox=stuck")
	if got := w.state(t, w.data("g")+"/sandboxes/"+w.sandbox(t, "g")); got != "Creating" {
		t.Errorf("a stuck one is %s", got)
	}
}

func TestMissingFlagsAreMissing(t *testing.T) {
	t.Parallel()
	w := newFiles(t)
	w.fault(t, "missing-flags")
	if doc := w.get(t, w.sandboxPath+"/files/stat?path=/tmp").doc(t); doc["name"] != "tmp" || strings.Contains(fmt.Sprint(doc), "is") {
		t.Errorf("stat gave %v", doc)
	}
}

func TestARequestMayAskForItsOwnFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	req := w.request(t, "GET", w.data("g")+"/sandboxes", "")
	for spec, status := range map[string]int{"status=418": 418, "nonsense": 400, "status=418,op=sandbox.get": 200} {
		req.Header.Set(acasemu.FaultHeader, spec)
		if r := w.send(t, req); r.status != status {
			t.Errorf("%s: %d, not %d", spec, r.status, status)
		}
	}
}

func TestOnlyWhoIsAdmittedMayAskForAFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	for name, c := range map[string]struct {
		header, value string
		status        int
	}{
		"a client":           {"Accept", "*/*", 418},
		"without a token":    {"Authorization", "", 401},
		"a web page":         {"Origin", "https://page.example", 403},
		"for another's name": {"Authorization", "Bearer e30.eyJhdWQiOiJodHRwczovL290aGVyLmV4YW1wbGUifQ.", 401},
	} {
		for _, spec := range []string{"status=418", "drop=before", "nonsense"} {
			if c.status == 418 && spec != "status=418" {
				continue
			}
			req := w.request(t, "GET", w.data("g")+"/sandboxes", "")
			req.Header.Set(acasemu.FaultHeader, spec)
			req.Header.Set(c.header, c.value)
			if r := w.send(t, req); r.status != c.status {
				t.Errorf("%s, %s: %d, not %d", name, spec, r.status, c.status)
			}
		}
	}
}

func TestTheControlPathsTellWhatArrived(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	const sentinel = "sentinel-77aa"
	w.must(t, w.request(t, "PUT", w.data("g")+"/secrets/svc", `{"values":{"k":"`+sentinel+`"}}`))
	plain := func(method, path, body string) reply { return w.plain(t, method, "/_emulator/"+path, "", body) }
	if r := plain("POST", "faults", `{"fault":"status=500,times=1"}`); r.status != http.StatusNoContent {
		t.Errorf("a fault: %d %s", r.status, r.body)
	}
	if r := plain("POST", "faults", `{"fault":"nonsense"}`); r.status != http.StatusBadRequest {
		t.Errorf("nonsense: %d", r.status)
	}
	if r := plain("GET", "faults", ""); string(r.body) != `["status=500,times=1"]` {
		t.Errorf("the faults are %s", r.body)
	}
	if r := w.get(t, w.data("g")+"/secrets"); r.status != http.StatusInternalServerError {
		t.Errorf("it does nothing: %d", r.status)
	}
	r := plain("GET", "requests", "")
	for _, want := range []string{`"operation":"secret.put"`, `"status":500`, "aud=" + dataAudience, `"values":{"k":"***"}`} {
		if !strings.Contains(string(r.body), want) {
			t.Errorf("the log lacks %s: %s", want, r.body)
		}
	}
	if strings.Contains(string(r.body), sentinel) || strings.Contains(string(r.body), "e30.") {
		t.Errorf("the log tells secrets: %s", r.body)
	}
	plain("DELETE", "requests", "")
	plain("DELETE", "faults", "")
	if r := plain("GET", "requests", ""); string(r.body) != "[]" {
		t.Errorf("it does not forget: %s", r.body)
	}
	for path, status := range map[string]int{"health": 200, "nothing": 404} {
		if r := plain("GET", path, ""); r.status != status {
			t.Errorf("%s: %d", path, r.status)
		}
	}
}
