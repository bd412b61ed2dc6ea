package acasemu_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
)

// Everybody on the machine can read the log.
func TestTheLogTellsNoSecretInWhateverLettersItCame(t *testing.T) {
	t.Parallel()
	const sentinel = "sentinel-77aa"
	for name, c := range map[string]struct {
		path, body string
		header     http.Header
		told       bool
	}{
		"a secret's values":               {path: "/secrets/svc", body: `{"values":{"k":"` + sentinel + `"}}`},
		"in other letters":                {path: "/secrets/svc", body: `{"Values":{"k":"` + sentinel + `"}}`},
		"as another member":               {path: "/secrets/svc", body: `{"data":{"k":"` + sentinel + `"}}`},
		"an environment in other letters": {path: "/sandboxes", body: `{"Environment":{"k":"` + sentinel + `"}}`},
		"a label":                         {path: "/sandboxes", body: `{"labels":{"k":"` + sentinel + `"}}`, told: true},
		"a cookie":                        {path: "/sandboxes", body: `{}`, header: http.Header{"Cookie": {sentinel}}},
		"a key in a header":               {path: "/sandboxes", body: `{}`, header: http.Header{"X-Api-Key": {sentinel}}},
		"the name of a client":            {path: "/sandboxes", body: `{}`, header: http.Header{"User-Agent": {sentinel}}, told: true},
		"the end of a long query":         {path: "/sandboxes?x=" + strings.Repeat("y", 1<<11) + sentinel, body: `{}`},
		"a short query":                   {path: "/sandboxes?x=" + sentinel, body: `{}`, told: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, acasemu.Config{Pace: atOnce()})
			w.group(t, "g")
			req := w.request(t, "PUT", w.data("g")+c.path, c.body)
			maps.Copy(req.Header, c.header)
			w.send(t, req)
			log := string(w.plain(t, "GET", "/_emulator/requests", "", "").body)
			if told := strings.Contains(log, sentinel); told != c.told || !strings.Contains(log, `"method":"PUT"`) {
				t.Errorf("told %v, want %v: %s", told, c.told, log)
			}
		})
	}
}
