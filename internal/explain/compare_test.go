package explain

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func draw[T any](t *rapid.T, label string, of ...T) T { return rapid.SampledFrom(of).Draw(t, label) }

func drawPolicy(t *rapid.T, label string) sandbox.Policy {
	p := sandbox.Policy{
		MinimumIsolation:      draw(t, label+" floor", 0, sandbox.IsolationRuntime, sandbox.IsolationMicroVM, sandbox.IsolationVM),
		MinimumEvidence:       draw(t, label+" evidence", sandbox.EvidenceKind(0), sandbox.EvidenceDocumented, sandbox.EvidenceProbed),
		MinimumIsolationScope: draw(t, label+" scope", 0, sandbox.ScopeConversation, sandbox.ScopeCall),
		MissingGuarantees:     draw(t, label+" missing", 0, sandbox.MissingGuaranteesWarn, sandbox.MissingGuaranteesRefuse),
		EgressMatch:           draw(t, label+" match", 0, sandbox.EgressMatchExact, sandbox.EgressMatchAtLeast),
		DeniedCapabilities:    draw(t, label+" denied", sandbox.CapabilitySet{}, sandbox.SetOf(sandbox.CapabilityExec), sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesOut)),
		NeverReaches:          draw(t, label+" never", nil, nil, []string{"b.example"}, []string{"*.example"}),
		FilesIn:               draw(t, label+" limits", nil, &sandbox.TransferLimits{MaxBytesPerFile: 1 << 30, MaxTotalBytes: 1 << 30, MaxFiles: 64}, &sandbox.TransferLimits{}),
		Images:                sandbox.ImagePolicy{User: draw(t, label+" user", 0, sandbox.ImageUserNonRoot, sandbox.ImageUserRoot), Registries: draw(t, label+" registries", nil, []string{}, []string{"r.example"})},
		Egress:                drawEgress(t, label+" egress"),
	}
	p.Egress.Guarantees = draw(t, label+" guarantees", sandbox.GuaranteeSet{}, sandbox.SetOf(sandbox.GuaranteeUDPDenied))
	return p
}

func drawManifest(t *rapid.T, label string) manifest.Manifest {
	m := manifest.Manifest{Policy: drawPolicy(t, label), Workloads: map[string]sandbox.Spec{"w": {
		Kind: "k", Backend: "b", Egress: drawEgress(t, label+" workload"), Image: sandbox.Image{Reference: "r.example/a:1", User: draw(t, label+" runs as", "0", "1000")},
		MinimumIsolation: draw(t, label+" own floor", 0, sandbox.IsolationRuntime, sandbox.IsolationVM),
	}}}
	if rapid.Bool().Draw(t, label+" imposed") {
		p := drawPolicy(t, label+" platform")
		m.HostPolicy = &p
	}
	return m
}

// change makes one step from a manifest, or none.
func change(t *rapid.T, m manifest.Manifest) manifest.Manifest {
	other := drawManifest(t, "other")
	switch draw(t, "step", "policy", "imposed", "lifted", "egress", "all") {
	case "policy":
		m.Policy = other.Policy
	case "imposed":
		m.HostPolicy = other.HostPolicy
	case "lifted":
		m.HostPolicy = nil
	case "egress":
		m.Policy.Egress = other.Policy.Egress
	default:
		workloads := m.Workloads
		m = other
		m.Workloads = workloads
	}
	return m
}

func drawDeclarations(t *rapid.T) sandbox.Declarations {
	all := sandbox.SetOf(sandbox.Capabilities()...).Minus(sandbox.SetOf(sandbox.CapabilityAttachedIdentity))
	d := sandbox.Declarations{
		Backend: "b", Isolation: draw(t, "rung", sandbox.Isolations()...), Capabilities: &all,
		IsolationEvidence: sandbox.Evidence{Kind: draw(t, "evidence", sandbox.EvidenceDocumented, sandbox.EvidenceProbed)},
		EgressModes:       sandbox.SetOf(sandbox.EgressModes()...),
		OSFamilies:        sandbox.SetOf(sandbox.OSFamilies()...), IsolationScopes: sandbox.SetOf(sandbox.IsolationScopes()...),
		Guarantees: map[sandbox.Guarantee]sandbox.Evidence{}, WriteAuthority: sandbox.WriteAuthorityGuest,
	}
	for _, g := range sandbox.Guarantees() {
		if rapid.Bool().Draw(t, g.String()) {
			d.Guarantees[g] = sandbox.Evidence{Kind: sandbox.EvidenceProbed}
		}
	}
	return d
}

func compared(before, after manifest.Manifest) Difference {
	return must(Compare(Document{Sort: "manifest", Manifest: before}, Document{Sort: "manifest", Manifest: after}))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What did not widen admits no workload that was refused, and no request.
func TestWhatDidNotWidenAdmitsNothingNew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := drawManifest(t, "before")
		after := change(t, before)
		b, problems := policy.CompilePolicy(before.Layers()...)
		a, more := policy.CompilePolicy(after.Layers()...)
		s, still := policy.CompileSpec(before.Workloads["w"], sandbox.Known{})
		d, again := policy.CompileDeclarations(drawDeclarations(t))
		if len(problems)+len(more)+len(still)+len(again) > 0 {
			t.Skip("not a sound world")
		}
		moved := compared(before, after)
		if back := compared(after, before); same(before.Policy, after.Policy) && (back.Widened != moved.Narrowed || back.Narrowed != moved.Widened) {
			t.Fatalf("%s there and %s back", moved.Change, back.Change)
		}
		if moved.Widened {
			return
		}
		if was, is := policy.Decide(b, d, s), policy.Decide(a, d, s); is.Verdict == sandbox.Allow && was.Verdict != sandbox.Allow {
			t.Fatalf("admitted only now, of %s: %+v\n%s", moved.Change, was.Findings, moved.Text())
		}
		_, r := drawWorld(t)
		if a.Admits(r) == sandbox.Allow && b.Admits(r) != sandbox.Allow {
			t.Fatalf("%s is reachable only now, of %s\n%s", requestText(r), moved.Change, moved.Text())
		}
	})
}

func same(a, b sandbox.Policy) bool { return reflect.DeepEqual(a, b) }

func TestAManifestIsEqualToItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawManifest(t, "m")
		if d := compared(m, m); d.Change != "equal" || d.Widened || d.Narrowed {
			t.Fatalf("%s:\n%s", d.Change, d.Text())
		}
	})
}

func TestGuaranteesThatARolloutReliedOnAreASubject(t *testing.T) {
	t.Parallel()
	m := manifest.Manifest{
		Workloads:  map[string]sandbox.Spec{"w": {Kind: "k", Backend: "b"}},
		Guarantees: map[string]sandbox.GuaranteeSet{"b": sandbox.SetOf(sandbox.GuaranteeUDPDenied), "gone": sandbox.SetOf(sandbox.GuaranteeUDPDenied)},
	}
	without := m
	without.Guarantees = nil
	for _, c := range []struct {
		before, after manifest.Manifest
		want          policy.Change
	}{{m, without, policy.Widened}, {without, m, policy.Narrowed}, {m, m, policy.Equal}} {
		if d := compared(c.before, c.after); d.Change != c.want.String() {
			t.Errorf("%s, want %s\n%s", d.Change, c.want, d.Text())
		}
	}
}

func TestOneScreenHoldsWhatIsLarge(t *testing.T) {
	t.Parallel()
	many := func(n int) sandbox.Policy {
		p := sandbox.Policy{Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist}}
		for i := range n {
			p.Egress.Hosts = append(p.Egress.Hosts, fmt.Sprintf("h%d.example.com", i))
		}
		return p
	}
	m := manifest.Manifest{Policy: many(3), Workloads: map[string]sandbox.Spec{}}
	for i := range 300 {
		m.Workloads[fmt.Sprintf("w%03d", i)] = sandbox.Spec{Kind: "k", Backend: "b"}
	}
	after := m
	after.Policy = many(5000)
	d := compared(m, after)
	if len(d.Subjects[1].Changes[0].NowReaches) != 4997 {
		t.Errorf("%d destinations", len(d.Subjects[1].Changes[0].NowReaches))
	}
	for _, text := range []string{d.Text(), d.Markdown()} {
		if len(text) > 4000 {
			t.Errorf("%d bytes are no screen:\n%.2000s", len(text), text)
		}
	}
}
