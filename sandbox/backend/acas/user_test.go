package acas_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
)

func (w *world) backend(t *testing.T) *backend.Backend {
	t.Helper()
	b, err := acas.New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return b
}

func acquireRequest(requires ...sandbox.Capability) sandbox.AcquireRequest {
	set := sandbox.SetOf(requires...)
	digest := "sha256:" + strings.Repeat("0", 64)
	return sandbox.AcquireRequest{
		Owner: "o", Key: sandbox.Key{Scope: "s", Thread: "t", Agent: "a"}, SpecDigest: digest, PolicyDigest: digest,
		Spec: sandbox.Spec{Kind: "k", Requires: &set, Image: sandbox.Image{Prebuilt: "ubuntu"}, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}},
	}
}

func TestTheGuestsUserDecidesWhatIsServed(t *testing.T) {
	t.Parallel()
	const exec, out, remove = sandbox.CapabilityExec, sandbox.CapabilityFilesOut, sandbox.CapabilityFilesDelete
	for name, c := range map[string]struct {
		uid      string
		requires []sandbox.Capability
		refused  string
		warnings int
	}{
		"root leaves outputs":          {"0", []sandbox.Capability{exec, out}, "", 0},
		"another leaves none":          {"1000", []sandbox.Capability{exec, out}, "uid 1000", 0},
		"another executes":             {"1000", []sandbox.Capability{exec}, "", 1},
		"who does not say may try":     {"nobody", []sandbox.Capability{exec, out}, "", 0},
		"who does not say must not rm": {"nobody", []sandbox.Capability{remove}, "nobody knows", 0},
		"root may have files removed":  {"0", []sandbox.Capability{remove}, "", 0},
		"another only takes files":     {"1000", []sandbox.Capability{sandbox.CapabilityFilesIn}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.uid = c.uid
			acquired, err := w.backend(t).Acquire(t.Context(), acquireRequest(c.requires...))
			if c.refused == "" {
				if err != nil || len(acquired.Findings) != c.warnings || len(w.Guests()) != 1 {
					t.Errorf("%v, %v, %q", err, acquired.Findings, w.Guests())
				}
				return
			}
			if !errors.Is(err, sandbox.CodeImageUserUnfit) || !strings.Contains(err.Error(), c.refused) || len(w.Guests()) != 0 {
				t.Errorf("%v, left %q", err, w.Guests())
			}
		})
	}
}
