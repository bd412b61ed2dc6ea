package acasemu_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Whatever arrives is answered: with a status of the service's, soon, and when it is
// JSON then with all of it.
func FuzzWhateverArrivesIsAnswered(f *testing.F) {
	bodies := []string{
		"", "{}", "null", "[]", smallest, `{"location":"eastus"}`, `{"values":{"k":"v"}}`, `{"command":"say x"}`, `{"port":80}`, `{"path":"/a/b"}`,
		`{"type":"DataDisk","size":"1Gi"}`, `{"volumeMount":{"volumeName":"v","mountpoint":"/m"}}`, `{"image":{"base":"r.example/a:1"}}`,
		`{"autoDeletePolicy":{"enabled":true,"deleteIntervalInDays":999999999}}`, `{"defaultAction":"Deny","hostRules":[{"pattern":"*","action":"Allow"}]}`,
		`{"labels":{"a":"b"}}`, `{"ports":[{"port":1,"url":"x"}]}`, `{"properties":{"subnetId":"/s"}}`, `{"contentPackageId":"x","targetPath":"/y"}`,
	}
	for i, op := range wire.Ops() {
		for _, v := range op.Operation().Plane.Versions() {
			if form, ok := op.Form(v); ok {
				f.Add(form.Method, strings.NewReplacer("{group}", "g", "{sandbox}", "ID").Replace(form.Path),
					"api-version="+string(v)+"&path=/a&labels=k=v&Page=1&PageSize=2&recursive=true", bodies[i%len(bodies)], "")
			}
		}
	}
	f.Add("GET", "/subscriptions/%zz/%00//../x", "a;b&&=&%", "\xff", "status=200,body=html")
	f.Add("POST", "/_emulator/faults", "", `{"fault":"latency=0"}`, "drop=mid")
	guests := memguests.New(memguests.Options{Exec: func(context.Context, *memguests.View, engine.ExecRequest) (int, error) { return 0, nil }, MaxBytes: 1 << 20})
	e, err := acasemu.New(acasemu.Config{State: filepath.Join(f.TempDir(), "state.db"), Guests: guests, Pace: atOnce()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = e.Close(context.Background()) })
	w := &world{emulator: e, url: "https://embedded.invalid", http: &http.Client{Transport: e.Transport()}}
	id := ""
	f.Fuzz(func(t *testing.T, method, path, query, body, fault string) {
		if strings.Contains(fault, "latency") || strings.Contains(body, "latency") {
			return // that is asking to be kept waiting
		}
		e.ClearFaults()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if id == "" || !strings.Contains(string(w.get(t, w.data("g")+"/sandboxes/"+id).body), "Running") {
			w.group(t, "g")
			id = w.sandbox(t, "g")
		}
		path = strings.Replace(path, "ID", id, 1)
		req := httptest.NewRequestWithContext(ctx, "GET", "https://embedded.invalid/", strings.NewReader(body))
		req.Method, req.URL.Path, req.URL.RawPath, req.URL.RawQuery = method, path, "", query
		if strings.Contains(strings.ToLower(path), "microsoft.app") {
			req.Header.Set("Authorization", token(armAudience))
		} else {
			req.Header.Set("Authorization", token(dataAudience))
		}
		req.Header.Set("Content-Type", "application/json")
		if fault != "" {
			req.Header.Set(acasemu.FaultHeader, fault)
		}
		answer := httptest.NewRecorder()
		e.ServeHTTP(answer, req)
		if ctx.Err() != nil {
			t.Fatalf("%s %s?%s kept its client waiting", method, path, query)
		}
		if answer.Code < 200 || answer.Code > 599 || (answer.Code == http.StatusInternalServerError && fault == "") {
			t.Errorf("%s %s?%s %q: %d %s", method, path, query, body, answer.Code, answer.Body)
		}
		kind := answer.Header().Get("Content-Type")
		if broken := fault != "" || slices.Contains([]string{"", "application/octet-stream"}, kind); !broken && !wire.Whole(answer.Body.Bytes()) {
			t.Errorf("%s %s: %s %q is not whole", method, path, kind, answer.Body)
		}
	})
}
