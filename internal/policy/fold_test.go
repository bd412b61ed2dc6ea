package policy_test

import (
	"reflect"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// The fold stands in for two policies in force at once, so it admits nothing
// that the two refuse together.
func TestFoldAdmitsNothingThatTheTwoRefuse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := foldPolicy(t, "a"), foldPolicy(t, "b")
		spec, declared := foldSpec(t), foldBackend(t)
		folded, conflicts := policy.Strictest(a, b)
		if len(conflicts) > 0 {
			return
		}
		if both := foldVerdict(t, declared, spec, a, b); both != sandbox.Allow && foldVerdict(t, declared, spec, folded) == sandbox.Allow {
			t.Fatalf("the fold allows what the two decide as %s\nfold %+v", both, folded)
		}
	})
}

// Under two allowlists the fold admits exactly what both admit, also where rules
// overlap without one lying within the other.
func TestFoldOfAllowlistsIsExact(t *testing.T) {
	t.Parallel()
	allowlist := func(t *rapid.T, label string) sandbox.Policy {
		e := sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{}}
		for i := range rapid.IntRange(1, 4).Draw(t, label+" rules") {
			some := func(what string, of ...string) []string {
				if rapid.Bool().Draw(t, label+" any "+what) {
					return []string{"*"}
				}
				return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 1, 2, rapid.ID).Draw(t, label+" "+what)
			}
			e.Rules[strconv.Itoa(i)] = sandbox.EgressRule{
				Host:  rapid.SampledFrom([]string{"a.example", "*.example", "*.a.example", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3"}).Draw(t, label+" host"),
				Ports: some("ports", "443", "80", "8000-8099", "8050-9000"), Methods: some("methods", "GET", "POST"), Paths: some("paths", "/v1", "/v2/x"),
			}
		}
		return sandbox.Policy{Egress: e}
	}
	var requests []egress.Request
	for _, host := range []string{"a.example", "b.a.example", "b.example", "10.0.0.1", "10.1.0.1", "10.1.2.3"} {
		for _, port := range []uint16{443, 80, 8001, 8060, 8200} {
			for _, method := range []string{"", "GET", "POST", "PUT"} {
				for _, path := range []string{"", "/v1", "/v1/x", "/v2/x", "/v3"} {
					name, addr, _ := egress.ParseRequestHost(host)
					requests = append(requests, egress.Request{Host: name, Addr: addr, Port: port, Method: method, Path: path})
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := allowlist(t, "a"), allowlist(t, "b")
		both, findings := policy.CompilePolicy(policy.Layer{Policy: a}, policy.Layer{Policy: b})
		if len(findings) > 0 {
			t.Skip("not sound policies")
		}
		folded, conflicts := policy.Strictest(a, b)
		fold, findings := policy.CompilePolicy(policy.Layer{Policy: folded})
		if len(conflicts)+len(findings) > 0 {
			t.Fatalf("%v %v", conflicts, findings)
		}
		for _, r := range requests {
			if want, got := both.Admits(r), fold.Admits(r); want != got {
				t.Fatalf("%+v: both %s, the fold %s\n%+v", r, want, got, folded.Egress)
			}
		}
	})
}

func TestFoldOfAllowlistsThatCannotBeJoinedIsClosed(t *testing.T) {
	t.Parallel()
	entangled := func(first int) sandbox.Policy {
		p := sandbox.Policy{Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{}}}
		for i := range 600 {
			p.Egress.Rules[strconv.Itoa(i)] = sandbox.EgressRule{
				Host: "a.example", Ports: []string{strconv.Itoa(first+i) + "-" + strconv.Itoa(first+20_000+i)}, Methods: []string{"*"}, Paths: []string{"*"},
			}
		}
		return p
	}
	folded, conflicts := policy.Strictest(entangled(1), entangled(10_000))
	if folded.Egress.Mode != sandbox.EgressClosed || len(conflicts) != 1 || conflicts[0].Code != sandbox.CodeEgressTooComplex {
		t.Errorf("%s with %v", folded.Egress.Mode, conflicts)
	}
	one := sandbox.Policy{Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"a.example"}}}
	if folded, conflicts := policy.Strictest(entangled(1), one); folded.Egress.Mode != sandbox.EgressAllowlist || len(conflicts) > 0 {
		t.Errorf("%s with %v", folded.Egress.Mode, conflicts)
	}
}

func TestFoldOfAPolicyWithItselfDecidesTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, spec, declared := foldPolicy(t, "a"), foldSpec(t), foldBackend(t)
		folded, conflicts := policy.Strictest(a, a)
		if len(conflicts) > 0 {
			t.Fatalf("a policy conflicts with itself: %v", conflicts)
		}
		if before, after := foldVerdict(t, declared, spec, a), foldVerdict(t, declared, spec, folded); before != after {
			t.Fatalf("%s became %s\npolicy %+v\nfold %+v", before, after, a, folded)
		}
	})
}

func TestFoldKeepsTheStricterOfEachRule(t *testing.T) {
	t.Parallel()
	a := sandbox.Policy{
		Name: "a", MinimumIsolation: sandbox.IsolationContainer, MissingGuarantees: sandbox.MissingGuaranteesWarn,
		EgressMatch: sandbox.EgressMatchAtLeast, NeverReaches: []string{"x.example.com"},
		FilesIn: &sandbox.TransferLimits{MaxBytesPerFile: 5, MaxTotalBytes: 50, MaxFiles: 1},
		Egress:  sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"*.example.com", "only-a.example.org"}},
		Images:  sandbox.ImagePolicy{Registries: []string{"one.example.com", "two.example.com"}, Prebuilt: sandbox.PrebuiltAllow},
	}
	b := sandbox.Policy{
		MinimumIsolation: sandbox.IsolationMicroVM, MissingGuarantees: sandbox.MissingGuaranteesRefuse,
		EgressMatch: sandbox.EgressMatchExact, NeverReaches: []string{"y.example.com", "x.example.com"},
		FilesIn: &sandbox.TransferLimits{MaxBytesPerFile: 4, MaxTotalBytes: 60, MaxFiles: 2},
		Egress:  sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"api.example.com", "only-b.example.org"}},
		Images:  sandbox.ImagePolicy{Registries: []string{"two.example.com"}, Prebuilt: sandbox.PrebuiltDeny, RequireDigest: true},
	}
	got, conflicts := policy.Strictest(a, b)
	want := sandbox.Policy{
		Name: "a", MinimumIsolation: sandbox.IsolationMicroVM, MissingGuarantees: sandbox.MissingGuaranteesRefuse,
		EgressMatch: sandbox.EgressMatchExact, NeverReaches: []string{"x.example.com", "y.example.com"},
		FilesIn: &sandbox.TransferLimits{MaxBytesPerFile: 4, MaxTotalBytes: 50, MaxFiles: 1},
		Egress: sandbox.Egress{
			Mode: sandbox.EgressAllowlist, Hosts: []string{"api.example.com"},
		},
		Images: sandbox.ImagePolicy{Registries: []string{"two.example.com"}, Prebuilt: sandbox.PrebuiltDeny, RequireDigest: true},
	}
	if len(conflicts) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("fold is\n%+v\nwant\n%+v\n%v", got, want, conflicts)
	}
	b.Egress.Hosts = []string{"only-b.example.org"}
	if got, _ := policy.Strictest(a, b); got.Egress.Mode != sandbox.EgressClosed {
		t.Errorf("two allowlists without anything in common fold to %+v", got.Egress)
	}
}

func TestFoldRefusesUsersThatNoImageCanBe(t *testing.T) {
	t.Parallel()
	root := sandbox.Policy{Images: sandbox.ImagePolicy{User: sandbox.ImageUserRoot}}
	other := sandbox.Policy{Images: sandbox.ImagePolicy{User: sandbox.ImageUserNonRoot}}
	if _, conflicts := policy.Strictest(root, other); sandbox.Deny != verdictOf(conflicts) {
		t.Error("root and non_root fold to something")
	}
	other.Images.User = sandbox.ImageUserAny
	if p, conflicts := policy.Strictest(root, other); sandbox.Deny == verdictOf(conflicts) || p.Images.User != sandbox.ImageUserRoot {
		t.Errorf("root and any fold to %s, %v", p.Images.User, conflicts)
	}
}

func foldVerdict(t *rapid.T, declared sandbox.Declarations, spec sandbox.Spec, policies ...sandbox.Policy) sandbox.Verdict {
	layers := make([]policy.Layer, len(policies))
	for i, p := range policies {
		layers[i] = policy.Layer{Source: "policy", Policy: p}
	}
	compiled, problems := policy.CompilePolicy(layers...)
	if sandbox.Deny == verdictOf(problems) {
		t.Skip("the policy contradicts itself")
	}
	backend, problems := policy.CompileDeclarations(declared)
	if sandbox.Deny == verdictOf(problems) {
		t.Fatalf("declarations: %v", problems)
	}
	s, problems := policy.CompileSpec(spec, sandbox.Known{})
	if sandbox.Deny == verdictOf(problems) {
		t.Skip("the workload contradicts itself")
	}
	return policy.Decide(compiled, backend, s).Verdict
}

func foldWord[T any](t *rapid.T, label string, words []T) T {
	var none T
	return rapid.SampledFrom(append([]T{none}, words...)).Draw(t, label)
}

func foldPolicy(t *rapid.T, label string) sandbox.Policy {
	p := sandbox.Policy{
		MinimumIsolation:      foldWord(t, label+" floor", sandbox.Isolations()),
		MinimumEvidence:       foldWord(t, label+" evidence", []sandbox.EvidenceKind{sandbox.EvidenceDocumented, sandbox.EvidenceProbed}),
		MinimumIsolationScope: foldWord(t, label+" scope", sandbox.IsolationScopes()),
		DeniedCapabilities:    sandbox.SetOf(foldWord(t, label+" denied", sandbox.Capabilities())),
		Egress:                foldEgress(t, label),
		EgressMatch:           foldWord(t, label+" match", sandbox.EgressMatches()),
		MissingGuarantees:     foldWord(t, label+" missing", sandbox.MissingGuaranteesRules()),
		Images: sandbox.ImagePolicy{
			Prebuilt:      foldWord(t, label+" prebuilt", sandbox.PrebuiltRules()),
			RequireDigest: rapid.Bool().Draw(t, label+" digest"),
			User:          foldWord(t, label+" user", sandbox.ImageUsers()),
		},
	}
	if rapid.Bool().Draw(t, label+" never") {
		p.NeverReaches = []string{foldWord(t, label+" never host", foldHosts)}
		if p.NeverReaches[0] == "" {
			p.NeverReaches = nil
		}
	}
	if rapid.Bool().Draw(t, label+" limited") {
		p.FilesIn = &sandbox.TransferLimits{MaxBytesPerFile: 1 << 20, MaxTotalBytes: 1 << 30, MaxFiles: 64}
	}
	if rapid.Bool().Draw(t, label+" registries") {
		p.Images.Registries = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"one.example.com", "two.example.com"}), rapid.ID[string]).Draw(t, label+" list")
	}
	return p
}

var foldHosts = []string{"a.example.com", "*.example.com", "b.a.example.com", "*.a.example.com", "other.test"}

func foldEgress(t *rapid.T, label string) sandbox.Egress {
	e := sandbox.Egress{Mode: foldWord(t, label+" mode", sandbox.EgressModes())}
	if e.Mode == sandbox.EgressAllowlist {
		e.Hosts = rapid.SliceOfNDistinct(rapid.SampledFrom(foldHosts), 1, 3, rapid.ID[string]).Draw(t, label+" hosts")
	}
	return e
}

func foldSpec(t *rapid.T) sandbox.Spec {
	requires := sandbox.SetOf(foldWord(t, "requires", []sandbox.Capability{sandbox.CapabilityExec, sandbox.CapabilityRunCode, sandbox.CapabilityFilesOut}))
	return sandbox.Spec{
		Kind: "codeact", Requires: &requires, Egress: foldEgress(t, "workload"),
		IsolationScope: foldWord(t, "scope", sandbox.IsolationScopes()),
		Image: rapid.SampledFrom([]sandbox.Image{
			{},
			{Prebuilt: "python-3.13", User: "0"},
			{Reference: "one.example.com/x:1", User: "1000"},
			{Reference: "two.example.com/x:1", User: "root", Digest: "sha256:" + "0000000000000000000000000000000000000000000000000000000000000000"},
		}).Draw(t, "image"),
	}
}

func foldBackend(t *rapid.T) sandbox.Declarations {
	if rapid.Bool().Draw(t, "ideal") {
		ideal := facts.Ideal(sandbox.Spec{})
		offered := ideal.Capabilities.Minus(sandbox.SetOf(sandbox.CapabilityAttachedIdentity))
		ideal.Capabilities = &offered
		return ideal
	}
	declared, err := facts.Lookup(rapid.SampledFrom(facts.Names()).Draw(t, "backend"))
	if err != nil {
		t.Fatal(err)
	}
	return declared
}

func verdictOf(findings []sandbox.Finding) sandbox.Verdict { return sandbox.Decide(findings).Verdict }
