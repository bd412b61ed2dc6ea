package main

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// through is what a client is answered that asks an emulator with a flaw, and what
// arrived there.
func through(t *testing.T, name, method, path, body, kind, answer string) (status int, header http.Header, got, arrived string) {
	t.Helper()
	emulator := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		arrived = r.Method + " " + r.RequestURI + " " + r.Host + " " + string(b)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(emulator.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: emulator.Certificate().Raw})
	for _, f := range flaws() {
		if f.name != name {
			continue
		}
		proxy, err := newProxy(emulator.URL, ca, f)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, "https://example.test"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		proxy.ServeHTTP(w, r)
		return w.Code, w.Header(), w.Body.String(), arrived
	}
	t.Fatalf("no flaw %q", name)
	return 0, nil, "", ""
}

func TestAFlawChangesWhatItNamesAndNothingElse(t *testing.T) {
	t.Parallel()
	const doc = `{"empty":[],"full":[{"isDir":true}],"policy":{"defaultAction":"Allow"},"n":1e3}`
	for _, row := range []struct{ flaw, method, path, want string }{
		{"none", "GET", "/g/sandboxes", doc},
		{"null-lists", "GET", "/g/sandboxes", `{"empty":null,"full":[{"isDir":true}],"n":1e3,"policy":{"defaultAction":"Allow"}}`},
		{"stat-in-words", "GET", "/s/files/stat", `{"empty":[],"full":[{"isDir":"true"}],"n":1e3,"policy":{"defaultAction":"Allow"}}`},
		{"stat-in-words", "GET", "/s/files", doc},
		{"egress-for-show", "GET", "/s", `{"empty":[],"full":[{"isDir":true}],"n":1e3,"policy":{"defaultAction":"Deny"}}`},
		{"delete-says-gone", "GET", "/g/sandboxes/id", doc},
		{"delete-says-gone", "DELETE", "/g/volumes/v", doc},
		{"exec-as-bytes", "POST", "/s/executeShellCommand", doc},
	} {
		t.Run(row.flaw+" "+row.method+" "+row.path, func(t *testing.T) {
			t.Parallel()
			status, _, got, arrived := through(t, row.flaw, row.method, row.path+"?a=b;c&d=+%zz", "", "application/json", doc)
			if status != http.StatusOK || got != row.want {
				t.Errorf("%d %s", status, got)
			}
			if want := row.method + " " + row.path + "?a=b;c&d=+%zz example.test "; arrived != want {
				t.Errorf("%q arrived, not %q", arrived, want)
			}
		})
	}
}

func TestWhatIsNoDocumentPassesAsItIs(t *testing.T) {
	t.Parallel()
	if _, _, got, _ := through(t, "null-lists", "GET", "/s/files", "", "application/octet-stream", "[]"); got != "[]" {
		t.Errorf("a file is %q", got)
	}
}

func TestACommandsResultIsGivenAnotherType(t *testing.T) {
	t.Parallel()
	if _, h, _, _ := through(t, "exec-as-bytes", "POST", "/s/executeShellCommand", "{}", "application/json", "{}"); h.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("it is %q", h)
	}
	if _, h, _, _ := through(t, "exec-as-bytes", "POST", "/s/stop", "{}", "application/json", "{}"); h.Get("Content-Type") != "application/json" {
		t.Errorf("another's is %q", h)
	}
}

func TestADeleteOfASandboxDoesNotArrive(t *testing.T) {
	t.Parallel()
	status, _, _, arrived := through(t, "delete-says-gone", "DELETE", "/g/sandboxes/id", "", "application/json", "{}")
	if status != http.StatusNotFound || arrived != "" {
		t.Errorf("%d, %q arrived", status, arrived)
	}
}

func TestAPolicyArrivesOpen(t *testing.T) {
	t.Parallel()
	_, _, _, arrived := through(t, "egress-for-show", "PUT", "/g/sandboxes", `{"egressPolicy":{"defaultAction":"Deny"}}`, "application/json", "{}")
	if !strings.HasSuffix(arrived, ` {"egressPolicy":{"defaultAction":"Allow"}}`) {
		t.Errorf("%q arrived", arrived)
	}
}
