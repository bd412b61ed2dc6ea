package provider

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// declaring is a backend of which only its declarations are asked.
type declaring struct {
	router.Backend
	declared sandbox.Declarations
}

func (d declaring) Name() string                       { return d.declared.Backend }
func (d declaring) Declarations() sandbox.Declarations { return d.declared }

// What a plan relied on stands in its document, and a host refuses a backend that
// gives less of it, or with less evidence; more or other guarantees do not matter.
func TestHostRefusesABackendThatGivesLessThanThePlanReliedOn(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	workload := spec(nil)
	name, _ := workload["backend"].(string)
	planned, diags := s.plan(t, "sandbox_manifest", nil, manifestOf(map[string]any{"report": workload}))
	if failed(diags) {
		t.Fatal(render(diags))
	}
	document := []byte(text(t, planned, "document"))
	m, err := manifest.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	// Nobody demands anything, so that it is what a closed mode needs.
	closed := sandbox.SetOf(sandbox.GuaranteeDNSConfined, sandbox.GuaranteeMetadataDenied, sandbox.GuaranteeUDPDenied)
	if len(m.Guarantees) != 1 || m.Guarantees[name] != closed {
		t.Fatalf("the document relies on %v", m.Guarantees)
	}
	for _, row := range []struct {
		name   string
		change func(map[sandbox.Guarantee]sandbox.Evidence)
		want   sandbox.Code
	}{
		{"as it was", func(map[sandbox.Guarantee]sandbox.Evidence) {}, ""},
		{"without one that is relied on", func(g map[sandbox.Guarantee]sandbox.Evidence) { delete(g, sandbox.GuaranteeUDPDenied) }, sandbox.CodeEgressGuarantee},
		{"without one that is not", func(g map[sandbox.Guarantee]sandbox.Evidence) { delete(g, sandbox.GuaranteePathConfined) }, ""},
		{"with less evidence for one", func(g map[sandbox.Guarantee]sandbox.Evidence) {
			g[sandbox.GuaranteeUDPDenied] = sandbox.Evidence{Kind: sandbox.EvidenceEmulated}
		}, sandbox.CodeEgressGuarantee},
	} {
		d := declared(t, name)
		d.Guarantees = maps.Clone(d.Guarantees)
		row.change(d.Guarantees)
		r, err := router.Open(context.Background(), router.Options{
			Manifest: document, Accept: []manifest.Digest{manifest.DigestOf(document)}, Owner: "host",
			Backends: []router.Backend{declaring{declared: d}},
		})
		if row.want == "" && err != nil || row.want != "" && !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
		if err == nil {
			_ = r.Close(context.Background()) // nothing is open
		}
		for _, decision := range router.Check(m, []sandbox.Declarations{d}) {
			if err := decision.Err(); row.want != "" && !errors.Is(err, row.want) {
				t.Errorf("%s: check says %v, want %s", row.name, err, row.want)
			}
		}
	}
}

// A workload that does less relies on less, and one that does more relies on more;
// neither moves what the manifest permits beyond what the workload itself does.
func TestWhatIsReliedOnFollowsTheWorkloads(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	asks := func(changes map[string]any) string {
		planned, diags := s.plan(t, "sandbox_manifest", nil, map[string]any{
			"policy": with(agents(), map[string]any{
				"minimum_isolation": "none", "minimum_evidence": "documented", "missing_guarantees": "warn",
				"egress_mode": "allowlist", "egress_hosts": []string{"a.example.com"},
			}),
			"workloads": map[string]any{"report": spec(with(map[string]any{"backend": "acas", "requires": []string{"exec"}, "outputs": map[string]any{}, "image": map[string]any{"prebuilt": "python-3.13"}}, changes))},
		})
		if failed(diags) {
			t.Fatal(render(diags))
		}
		return text(t, planned, "document")
	}
	allowlist := asks(map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"a.example.com"}})
	closed := asks(nil)
	for _, side := range []struct {
		before, after   string
		widened, narrow string
	}{{allowlist, closed, "false", "true"}, {closed, allowlist, "true", "false"}} {
		got := s.call(t, "posture_diff", side.before, side.after)
		if got.of(t, "widened") != side.widened || got.of(t, "narrowed") != side.narrow {
			t.Errorf("widened %s, narrowed %s\n%s", got.of(t, "widened"), got.of(t, "narrowed"), got.value)
		}
	}
}
