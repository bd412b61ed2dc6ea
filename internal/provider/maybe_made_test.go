package provider

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// maybeMade is one kind of object as it is created: what is asked for, the operation
// that makes it, and the one that looks at what was made.
type maybeMade struct {
	attrs          map[string]any
	making, polled string
	// seen is how many looks come before the making.
	seen string
}

const someSubnet = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/n/subnets/a"

func maybeMadeKinds(running string) map[string]maybeMade {
	own := map[string]any{"team": "agents"}
	return map[string]maybeMade{
		"sandbox_group":  {attrs: map[string]any{"name": "other", "tags": own}, making: "group.put", polled: "group.get", seen: "1"},
		"sandbox_volume": {attrs: map[string]any{"group": "", "name": "work", "type": "DataDisk", "size": "1Gi", "labels": own}, making: "volume.put", polled: "volume.get", seen: "1"},
		"sandbox_vnet_connection": {
			attrs:  map[string]any{"group": "", "name": "net", "subnet_id": someSubnet},
			making: "vnet.put", polled: "vnet.get", seen: "1",
		},
		"sandbox_secret": {attrs: map[string]any{"group": "", "name": "api-token", "values": map[string]any{"token": "t"}}, making: "secret.put", polled: "secret.keys", seen: "0"},
		"sandbox_disk_image": {
			attrs:  map[string]any{"group": "", "image": map[string]any{"reference": "registry.example.com/tool:1"}, "labels": own},
			making: "image.create", polled: "image.get", seen: "0",
		},
		"sandbox_snapshot": {attrs: map[string]any{"group": "", "sandbox_id": running, "labels": own}, making: "sandbox.snapshot", polled: "snapshot.get", seen: "0"},
	}
}

// runningSandbox makes the group team and a sandbox in it.
func runningSandbox(t *testing.T, w *world) string {
	t.Helper()
	must[wire.Group](t)(w.outside.PutGroup(t.Context(), w.groupID("team"), wire.Group{Location: w.location}, acasapi.Wait{}))
	return must[wire.Sandbox](t)(w.group(t, "team").CreateSandbox(t.Context(), wire.CreateSandbox{
		SourcesRef: &wire.SourcesRef{DiskImage: &wire.ImageRef{Name: "ubuntu", IsPublic: true}},
		Resources:  &wire.Resources{CPU: "1000m", Memory: "2048Mi", Disk: "20480Mi"},
	}, acasapi.Making{})).ID
}

func (m maybeMade) in(w *world) map[string]any {
	attrs := maps.Clone(m.attrs)
	if _, ok := attrs["group"]; ok {
		attrs["group"] = w.groupID("team").String()
	}
	return attrs
}

// Whatever the service says after it took the request, the object is in the state or
// the next apply takes it over. Only a request that was turned away itself, and that
// came after none that may have been carried out, leaves nothing.
func TestWhatMayHaveBeenMadeIsNeverLost(t *testing.T) {
	t.Parallel()
	for kind := range maybeMadeKinds("") {
		for name, faults := range map[string][]string{
			"turned away":          {"status=403,op=MAKING"},
			"forbidden while made": {"status=403,op=POLLED,skip=SEEN"},
			"signed out meanwhile": {"status=401,op=POLLED,skip=SEEN"},
			"lost, then a conflict": {
				"drop=after,op=MAKING,times=1", "status=409,op=MAKING,skip=1", "status=403,op=POLLED,skip=SEEN",
			},
			"lost, then found": {"drop=after,op=MAKING,times=1", "status=409,op=MAKING,skip=1"},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				w, dir := servedWorld(t), t.TempDir()
				o := maybeMadeKinds(runningSandbox(t, w))[kind]
				first := creationsIn(dir, 1)
				w.provider.journal = first
				for _, fault := range faults {
					w.misbehave(strings.NewReplacer("MAKING", o.making, "POLLED", o.polled, "SEEN", o.seen).Replace(fault))
				}
				state, _ := newServer(t, w.provider).configure(t, map[string]any{"acas": w.acas}).apply(t, kind, nil, o.in(w))
				w.calm()
				if err := first.Close(); err != nil {
					t.Fatal(err)
				}
				if !state.IsNull() {
					return
				}
				w.provider.journal = creationsIn(dir, 2)
				state, diags := newServer(t, w.provider).configure(t, map[string]any{"acas": w.acas}).apply(t, kind, nil, o.in(w))
				if failed(diags) || state.IsNull() {
					t.Errorf("the next apply: %s", render(diags))
				}
			})
		}
	}
}

// talkative is the service with more in its answers than was asked for, as an Azure
// Policy or a normalising back end has it.
func talkative(t *testing.T, alter func(doc map[string]any)) *world {
	t.Helper()
	inner := embeddedWorld(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		out := r.Clone(r.Context())
		out.RequestURI, out.URL.Scheme = "", "https"
		out.URL.Host = strings.TrimPrefix(embeddedEndpoint, "https://")
		out.Host = out.URL.Host
		resp, err := inner.emulator.Transport().Do(out)
		if err != nil {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		var doc any
		if json.Unmarshal(body, &doc) == nil {
			everywhere(doc, alter)
			body, _ = json.Marshal(doc)
		}
		for key, values := range resp.Header {
			for _, v := range values {
				rw.Header().Add(key, strings.ReplaceAll(v, embeddedEndpoint, "https://"+r.Host))
			}
		}
		rw.Header().Del("Content-Length")
		rw.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(rw, bytes.NewReader(body))
	}))
	t.Cleanup(server.Close)
	p := offline()
	p.clock = newQuickClock()
	p.readFile = func(string) ([]byte, error) {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), nil
	}
	w := serviceAt(p, server.URL)
	w.emulator, w.outside = inner.emulator, inner.outside
	w.misbehave = func(spec string) { must[struct{}](t)(struct{}{}, inner.emulator.Fault(spec)) }
	w.calm = inner.emulator.ClearFaults
	return w
}

// everywhere visits each object of a document.
func everywhere(doc any, visit func(map[string]any)) {
	switch doc := doc.(type) {
	case map[string]any:
		visit(doc)
		for _, part := range doc {
			everywhere(part, visit)
		}
	case []any:
		for _, part := range doc {
			everywhere(part, visit)
		}
	}
}

// byPolicy adds to whatever has tags, labels or a size.
func byPolicy(doc map[string]any) {
	for _, name := range []string{"tags", "labels"} {
		if own, ok := doc[name].(map[string]any); ok {
			own["costcenter"] = "by-policy"
		}
	}
	if doc["size"] == "1Gi" {
		doc["size"] = "1024Mi"
	}
}

// What the service adds is no mistake of the provider's: the state has what was
// planned, and the next refresh what there is.
func TestAnAnswerWithMoreThanWasAskedForIsNoInconsistentResult(t *testing.T) {
	t.Parallel()
	for kind := range maybeMadeKinds("") {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := talkative(t, byPolicy)
			o := maybeMadeKinds(runningSandbox(t, w))[kind]
			s := newServer(t, w.provider).configure(t, map[string]any{"acas": w.acas})
			planned, diags := s.plan(t, kind, nil, o.in(w))
			if failed(diags) {
				t.Fatal(render(diags))
			}
			state, diags := s.apply(t, kind, nil, o.in(w))
			if failed(diags) || state.IsNull() {
				t.Fatal(render(diags))
			}
			got := attrsOf(t, state)
			for name, want := range attrsOf(t, planned) {
				if want.IsFullyKnown() && !want.Equal(got[name]) {
					t.Errorf("%s: planned %s, applied %s", name, want, got[name])
				}
			}
		})
	}
}

// The same through the command line, where it used to taint the group; what was added
// shows as a change.
func TestAccATagThatAPolicyAddsShowsAsAChange(t *testing.T) {
	t.Parallel()
	w := talkative(t, byPolicy)
	tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": `resource "sandbox_group" "team" {
  name = "team"
  tags = { team = "agents" }
}`})
	tf.apply(t)
	out, code := tf.plan(t)
	if code != 2 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	wants(t, out, "will be updated in-place", `- "costcenter" = "by-policy"`)
}
