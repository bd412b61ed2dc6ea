package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// hostsOfARun are the hosts that a closed workload may reach while it is learnt from.
func hostsOfARun(t *testing.T) []string {
	t.Helper()
	m := manifest.Manifest{
		Policy:    sandbox.Policy{Egress: sandbox.Egress{Mode: sandbox.EgressClosed}},
		Workloads: map[string]sandbox.Spec{"closed": {Kind: "shell", Backend: "process"}},
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	in, err := watched(run{document: b, accept: []manifest.Digest{manifest.DigestOf(b)}}, runOptions{workload: "closed"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = manifest.Parse(in.document); err != nil {
		t.Fatal(err)
	}
	e := m.Workloads["closed"].Egress
	if e.Mode != sandbox.EgressAllowlist || len(e.Hosts) != 1 || len(e.Rules) > 0 || !slices.Equal(e.Hosts, m.Policy.Egress.Hosts) {
		t.Fatalf("%+v within %+v", e, m.Policy.Egress)
	}
	return e.Hosts
}

// A program that knew the name of the one rule could ask for it, and whoever answers
// for names would be reached out of a closed workload.
func TestNobodyKnowsTheOneNameOfARunThatIsLearntFrom(t *testing.T) {
	t.Parallel()
	first, second := hostsOfARun(t), hostsOfARun(t)
	label, _, _ := strings.Cut(first[0], ".")
	if slices.Equal(first, second) || len(label) < 26 {
		t.Errorf("%q, and then %q", first, second)
	}
	if normal, err := egress.NormalizeHost(first[0]); err != nil || normal != first[0] {
		t.Errorf("%q, %v", normal, err)
	}
}
