package acas_test

import (
	"crypto/x509"
	"errors"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// Neither a rung nor a guarantee is met by an emulator's word, whatever it is.
func TestAnEmulatorMeetsNoFloor(t *testing.T) {
	t.Parallel()
	requires := sandbox.SetOf(sandbox.CapabilityExec)
	for name, c := range map[string]struct {
		floor    sandbox.Isolation
		evidence sandbox.EvidenceKind
		missing  sandbox.MissingGuarantees
		asks     []sandbox.Guarantee
		code     sandbox.Code
	}{
		"no floor":                    {floor: sandbox.IsolationNone},
		"microvm":                     {floor: sandbox.IsolationMicroVM, code: sandbox.CodeIsolationEvidence},
		"microvm, as documented":      {floor: sandbox.IsolationMicroVM, evidence: sandbox.EvidenceDocumented, code: sandbox.CodeIsolationEvidence},
		"the rung that it says it is": {floor: sandbox.IsolationOSProcess, evidence: sandbox.EvidenceDocumented, code: sandbox.CodeIsolationEvidence},
		"a guarantee":                 {floor: sandbox.IsolationNone, evidence: sandbox.EvidenceDocumented, asks: []sandbox.Guarantee{sandbox.GuaranteeSNIBound}, code: sandbox.CodeEgressGuarantee},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.config.EmulatorIsolation = sandbox.IsolationMicroVM
			encoded, err := manifest.Manifest{
				Policy: sandbox.Policy{Name: "p", MinimumIsolation: c.floor, MinimumEvidence: c.evidence, MissingGuarantees: c.missing},
				Workloads: map[string]sandbox.Spec{"app": {
					Kind: "app", Backend: acas.Name, Requires: &requires, Image: sandbox.Image{Prebuilt: "ubuntu"},
					Egress: sandbox.Egress{Mode: sandbox.EgressClosed, Guarantees: sandbox.SetOf(c.asks...)},
				}},
			}.Encode()
			if err != nil {
				t.Fatal(err)
			}
			r, err := router.Open(t.Context(), router.Options{
				Manifest: encoded, Accept: []manifest.Digest{manifest.DigestOf(encoded)}, Owner: "o", Backends: []router.Backend{w.backend(t)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Attach(t.Context(), "app"); c.code == "" && err != nil || c.code != "" && !errors.Is(err, c.code) {
				t.Errorf("%v, want %q", err, c.code)
			}
		})
	}
}

// The service's domain counts label by label; what only looks like it is somebody's
// emulator.
func TestOnlyTheServicesOwnHostsAreTheService(t *testing.T) {
	t.Parallel()
	domain := acasapi.Public().DataDomain
	for endpoint, rung := range map[string]sandbox.Isolation{
		"https://management.swedencentral." + domain:              sandbox.IsolationMicroVM,
		"https://management." + domain:                            sandbox.IsolationMicroVM,
		"https://management.swedencentral." + domain + ":8443":    sandbox.IsolationNone,
		"https://management.swedencentral." + domain + ".example": sandbox.IsolationNone,
		"https://management.swedencentral.x" + domain:             sandbox.IsolationNone,
	} {
		w := newWorld(t)
		w.config.Endpoint, w.config.Transport = endpoint, nil
		if d := w.backend(t).Declarations(); d.Isolation != rung {
			t.Errorf("%s is %v, want %v", endpoint, d.Isolation, rung)
		}
	}
}

// Who is reached in this process, or vouches for itself with roots of its own, is an
// emulator under whatever name it goes.
func TestTheServiceIsReachedOverTheNetworkByTheSystemsRoots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(c *acas.Config, w *world)
		rung   sandbox.Isolation
	}{
		"by its location":     {func(*acas.Config, *world) {}, sandbox.IsolationMicroVM},
		"by a transport":      {func(c *acas.Config, w *world) { c.Transport = w }, sandbox.IsolationNone},
		"by roots of its own": {func(c *acas.Config, _ *world) { c.RootCAs = x509.NewCertPool() }, sandbox.IsolationNone},
		"by a transport and name": {func(c *acas.Config, w *world) {
			c.Transport, c.Endpoint = w, "https://management."+acasapi.Public().DataDomain
		}, sandbox.IsolationNone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.config.Endpoint, w.config.Location, w.config.Transport = "", "swedencentral", nil
			c.change(&w.config, w)
			if d := w.backend(t).Declarations(); d.Isolation != c.rung {
				t.Errorf("%v, want %v", d.Isolation, c.rung)
			}
		})
	}
}
