package policy_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func unknown(paths ...sandbox.FieldPath) sandbox.Known { return sandbox.Known{}.Unknown(paths...) }

func TestUnknownPartsAreNeitherWidenedNorEqual(t *testing.T) {
	t.Parallel()
	allow := func(hosts ...string) sandbox.Policy {
		return sandbox.Policy{
			Egress:           sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: hosts},
			DeniedIdentities: sandbox.SetOf(sandbox.IdentityApp), MinimumIsolation: sandbox.IsolationMicroVM,
		}
	}
	for name, row := range map[string]struct {
		before, after sandbox.Policy
		known         sandbox.Known
		changed       []string
		undecided     []string
		unchanged     []string
	}{
		"everything": {
			allow("a.example.com"),
			sandbox.Policy{},
			unknown(nil), nil,
			[]string{"denied_capabilities", "denied_identities", "maximum_identity_scope", "minimum_isolation", "minimum_evidence", "minimum_isolation_scope", "minimum_cleanup", "files_in_limits", "files_out_limits", "egress_mode", "never_reaches", "egress_guarantees", "missing_guarantees", "egress_match", "image_registries", "image_require_digest", "image_prebuilt", "image_user"},
			nil,
		},
		"a floor": {
			allow("a.example.com"), allow("a.example.com"), unknown(sandbox.Path("minimum_isolation")), nil,
			[]string{"minimum_isolation"},
			[]string{"capabilities", "identities", "limits", "egress", "images"},
		},
		"one word of a denial": {
			allow("a.example.com"), allow("a.example.com"), unknown(sandbox.Path("denied_identities", 1)), nil,
			[]string{"denied_identities"},
			[]string{"capabilities", "isolation", "limits", "egress", "images"},
		},
		"a host beside the old one": {
			allow("a.example.com"), allow("a.example.com", ""), unknown(sandbox.Path("egress_hosts", 1)), nil,
			[]string{"egress_hosts[1]"},
			[]string{"capabilities", "identities", "isolation", "limits", "images"},
		},
		"a host beside a new one": {
			allow("a.example.com"), allow("b.example.com", ""), unknown(sandbox.Path("egress_hosts", 1)),
			[]string{"egress widened"},
			[]string{"egress_hosts[1]"},
			[]string{"capabilities", "identities", "isolation", "limits", "images"},
		},
		"the mode above new hosts": {
			allow("a.example.com"), allow("b.example.com"), unknown(sandbox.Path("egress_mode")), nil,
			[]string{"egress_mode"},
			[]string{"capabilities", "identities", "isolation", "limits", "images"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := policy.ComparePolicy(row.before, row.after, row.known)
			var changed, undecided []string
			for _, change := range c.Changes {
				changed = append(changed, change.Axis+" "+change.Change.String())
			}
			for _, path := range c.Undecided {
				undecided = append(undecided, path.String())
			}
			if !slices.Equal(changed, row.changed) || !slices.Equal(undecided, row.undecided) || !slices.Equal(c.Unchanged, row.unchanged) {
				t.Errorf("changed %q\nundecided %q\nunchanged %q", changed, undecided, c.Unchanged)
			}
		})
	}
}

// What is certain stays true when more becomes known, and whatever turns out to
// have widened was certain or undecided before: the law on which a plan rests.
func TestKnowingMoreNeverTakesAWideningBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawPolicy(t), drawPolicy(t)
		known := drawUnknown(t, "later", policyFields)
		whole := policy.ComparePolicy(before, after, sandbox.Known{})
		partial := policy.ComparePolicy(before, zeroUnknownPolicy(after, known), known)
		if len(whole.Undecided) > 0 {
			t.Fatalf("everything is known, yet undecided: %v", whole.Undecided)
		}
		if len(partial.Undecided) == 0 && len(partial.Changes) != len(whole.Changes) {
			t.Fatalf("decided early, and otherwise: %v and %v", partial.Changes, whole.Changes)
		}
		for _, c := range partial.Widenings() {
			if !widens(whole, c.Axis) {
				t.Fatalf("%s was certain to widen and did not: %v", c.Axis, whole.Changes)
			}
		}
		for _, c := range whole.Widenings() {
			if !widens(partial, c.Axis) && !undecided(partial, c.Axis) {
				t.Fatalf("%s widened without having been undecided", c.Axis)
			}
		}
	})
}

func undecided(c policy.Comparison, axis string) bool {
	return slices.ContainsFunc(c.Undecided, func(p sandbox.FieldPath) bool {
		root, _ := p[0].Attr()
		return root == axis || (strings.HasPrefix(axis, "egress") && strings.HasPrefix(root, axis[:len("egress")]))
	})
}

func widens(c policy.Comparison, axis string) bool {
	return slices.ContainsFunc(c.Widenings(), func(change policy.AxisChange) bool { return change.Axis == axis })
}

func TestEachAxisOfAWorkloadKnowsItsDirection(t *testing.T) {
	t.Parallel()
	requires := func(words ...sandbox.Capability) *sandbox.CapabilitySet {
		set := sandbox.SetOf(words...)
		return &set
	}
	more := sandbox.DefaultTransferLimits()
	more.MaxFiles++
	usual := sandbox.DefaultTransferLimits()
	open := sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"a.example.com"}}
	for name, row := range map[string]struct {
		before, after sandbox.Spec
		want          []string
	}{
		"nothing":                        {sandbox.Spec{}, sandbox.Spec{}, nil},
		"default capabilities spelt out": {sandbox.Spec{}, sandbox.Spec{Requires: requires(sandbox.DefaultCapabilities().Words()...)}, nil},
		"another capability":             {sandbox.Spec{Requires: requires()}, sandbox.Spec{Requires: requires(sandbox.CapabilityExec)}, []string{"widened requires: exec asked for"}},
		"a capability less":              {sandbox.Spec{Requires: requires(sandbox.CapabilityExec)}, sandbox.Spec{Requires: requires()}, []string{"narrowed requires: exec before, nothing now"}},
		"another identity":               {sandbox.Spec{}, sandbox.Spec{Identities: sandbox.SetOf(sandbox.IdentityApp)}, []string{"widened identities: app asked for"}},
		"default limits spelt out":       {sandbox.Spec{}, sandbox.Spec{FilesIn: &usual}, nil},
		"a file more":                    {sandbox.Spec{}, sandbox.Spec{FilesOut: &more}, []string{"widened files_out_limits: " + usual.String() + " before, " + more.String() + " now"}},
		"a closed network spelt out":     {sandbox.Spec{}, sandbox.Spec{Egress: sandbox.Egress{Mode: sandbox.EgressClosed}}, nil},
		"a host":                         {sandbox.Spec{}, sandbox.Spec{Egress: open}, []string{"widened egress_mode: a.example.com:443 becomes reachable"}},
		"a host less":                    {sandbox.Spec{Egress: open}, sandbox.Spec{}, []string{"narrowed egress_mode: allowlist before, closed now"}},
		"a floor of its own less":        {sandbox.Spec{MinimumIsolation: sandbox.IsolationVM}, sandbox.Spec{}, []string{"widened minimum_isolation: vm before, left open (microvm by default) now"}},
		"outputs named at call time":     {sandbox.Spec{}, sandbox.Spec{OutputsNamedAtCallTime: true}, []string{"widened outputs_named_at_call_time: false before, true now"}},
		"an identity kept for longer":    {sandbox.Spec{IdentityRetentionSeconds: 1}, sandbox.Spec{IdentityRetentionSeconds: 2}, []string{"widened identity_retention_seconds: 1 before, 2 now"}},
		"labels, outputs, directory and kind": {
			sandbox.Spec{Kind: "a"},
			sandbox.Spec{Kind: "b", WorkDir: "/srv", Labels: map[string]string{"k": "v"}, Outputs: map[string]sandbox.Output{"o": {Path: "o"}}},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range policy.CompareSpec(row.before, row.after, sandbox.Known{}).Changes {
				got = append(got, c.Change.String()+" "+c.String())
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
