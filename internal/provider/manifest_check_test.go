package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// manifestOf is a manifest of workloads under the policy agents.
func manifestOf(workloads map[string]any) map[string]any {
	return map[string]any{"policy": agents(), "workloads": workloads}
}

// spec is the workload report without a policy.
func spec(changes map[string]any) map[string]any {
	s := with(report(nil), changes)
	delete(s, "policy")
	return s
}

func TestManifestDocumentIsWhatHostsRead(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	attrs := with(manifestOf(map[string]any{"report": spec(nil), "other": spec(map[string]any{"kind": "bicep"})}), map[string]any{"generation": 7})
	planned, diags := s.plan(t, "sandbox_manifest", nil, attrs)
	if failed(diags) {
		t.Fatal(render(diags))
	}
	document := []byte(text(t, planned, "document"))
	m, err := manifest.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	if string(manifest.DigestOf(document)) != text(t, planned, "digest") {
		t.Error("the digest is not that of the document")
	}
	if m.Generation != 7 || m.Policy.Name != "agents" || m.HostPolicy != nil || !slices.Equal(m.WorkloadNames(), []string{"other", "report"}) {
		t.Errorf("the document holds %+v", m)
	}
	if m.Workloads["report"].Kind != "codeact" || !m.Workloads["report"].Outputs["chart"].Optional {
		t.Errorf("workload report is %+v", m.Workloads["report"])
	}
}

// The gate: whatever policy a workload's own resource was given, the manifest
// judges under its own.
func TestManifestJudgesUnderItsOwnPolicy(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	loosened := with(agents(), map[string]any{"minimum_isolation": "none", "egress_mode": "unrestricted"})
	workload := with(report(loosened), map[string]any{"minimum_isolation": "runtime"})
	planned, diags := s.plan(t, "sandbox_workload", nil, workload)
	if failed(diags) {
		t.Fatalf("the loosened copy admits its workload: %s", render(diags))
	}
	strict := with(agents(), map[string]any{"minimum_isolation": "container"})
	_, diags = s.plan(t, "sandbox_manifest", nil, map[string]any{
		"policy": strict,
		"workloads": map[string]any{
			"report": spec(map[string]any{"minimum_isolation": "runtime", "digest": text(t, planned, "digest")}),
		},
	})
	if got, want := locators(diags), []string{`isolation.below_floor at workloads["report"].backend`}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q\n%s", got, want, render(diags))
	}
	if len(diags) > 0 && !strings.HasPrefix(diags[0].Detail, "Workload \"report\":\n") {
		t.Errorf("the refusal does not name its workload: %s", diags[0].Detail)
	}
}

func TestManifestReportsEveryWorkload(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	diags := s.validate(t, "sandbox_manifest", manifestOf(map[string]any{
		"a": spec(map[string]any{"requires": []string{"exec", "files_out"}}),
		"b": spec(nil),
		"c": spec(map[string]any{"backend": "wsam"}),
		"d": nil,
	}))
	want := []string{
		`value.null at workloads["d"]`,
		`capability.missing at workloads["a"].requires`,
		`backend.unknown at workloads["c"].backend`,
	}
	if got := locators(diags); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestManifestNeedsAWorkloadAndAGenerationInRange(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name, c := range map[string]struct {
		changes map[string]any
		want    string
	}{
		"no workloads":      {map[string]any{"workloads": map[string]any{}}, "value.missing at workloads"},
		"generation 0":      {map[string]any{"generation": 0}, "value.out_of_range at generation"},
		"generation -1":     {map[string]any{"generation": -1}, "value.out_of_range at generation"},
		"generation 2^53":   {map[string]any{"generation": int64(1) << 53}, "value.out_of_range at generation"},
		"generation 1":      {map[string]any{"generation": 1}, ""},
		"generation 2^53-1": {map[string]any{"generation": int64(1)<<53 - 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(locators(s.validate(t, "sandbox_manifest", with(manifestOf(map[string]any{"a": spec(nil)}), c.changes))), ", ")
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

func TestManifestWarnsOnlyWhereNoWorkloadResourceDid(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	policy := map[string]any{"minimum_evidence": "documented"}
	acas := map[string]any{"backend": "acas", "kind": "codeact"}
	resource, diags := s.plan(t, "sandbox_workload", nil, with(acas, map[string]any{"policy": policy}))
	if failed(diags) || len(diags) == 0 {
		t.Fatalf("the workload does not warn: %s", render(diags))
	}
	_, diags = s.plan(t, "sandbox_manifest", nil, map[string]any{"policy": policy, "workloads": map[string]any{
		"plain": acas, "resource": with(acas, map[string]any{"digest": text(t, resource, "digest")}),
	}})
	if got, want := locators(diags), []string{`egress.guarantee_missing at workloads["plain"].egress_mode`}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestNothingIsAdmittedUnderAPolicyThatIsNone(t *testing.T) {
	t.Parallel()
	typ := newServer(t, offline()).types["sandbox_workload"]
	policy := with(agents(), map[string]any{"never_reaches": []string{"bad..host"}})
	object := value(t, typ, report(policy))
	a := admit(readPolicy(attribute(object, "policy"), false), nil, planning)
	if j := a.judge(readWorkload(object, false), planning); j.Verdict != sandbox.Deny {
		t.Errorf("a workload under a malformed policy is judged %s", j.Verdict)
	}
}
