package facts_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestEveryShippedBackendIsFoundUnderItsName(t *testing.T) {
	t.Parallel()
	names := facts.Names()
	if !slices.IsSorted(names) || !slices.Equal(names, []string{"acas", "docker", "process", "wasm"}) {
		t.Fatalf("shipped backends are %q", names)
	}
	for _, name := range names {
		d, err := facts.Lookup(name)
		if err != nil || d.Backend != name {
			t.Errorf("Lookup(%q) = backend %q, %v", name, d.Backend, err)
		}
		if facts.Summary(name) == "" {
			t.Errorf("backend %q has no summary", name)
		}
	}
}

func TestEveryClaimCarriesEvidence(t *testing.T) {
	t.Parallel()
	for _, name := range facts.Names() {
		d, err := facts.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		claims := map[string]sandbox.Evidence{"isolation": d.IsolationEvidence}
		for g, e := range d.Guarantees {
			claims[g.String()] = e
		}
		for claim, e := range claims {
			if e.Kind == sandbox.EvidenceKindUnspecified || e.Kind == sandbox.EvidenceEmulated || e.Reference == "" {
				t.Errorf("%s: %s rests on %q", name, claim, e)
			}
		}
	}
}

func TestNoShippedBackendIsUnrestricted(t *testing.T) {
	t.Parallel()
	for _, name := range facts.Names() {
		d, err := facts.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if d.EgressModes.Has(sandbox.EgressUnrestricted) || !d.EgressModes.Has(sandbox.EgressClosed) {
			t.Errorf("%s enforces %s", name, d.EgressModes)
		}
	}
}

func TestAChangedCopyDoesNotChangeTheFacts(t *testing.T) {
	t.Parallel()
	first, err := facts.Lookup("acas")
	if err != nil {
		t.Fatal(err)
	}
	*first.Capabilities = sandbox.CapabilitySet{}
	clear(first.Guarantees)
	first.MethodTokens[0] = "CHANGED"
	first.FilesIn.MaxFiles = 0

	second, err := facts.Lookup("acas")
	if err != nil {
		t.Fatal(err)
	}
	if second.Capabilities.Empty() || len(second.Guarantees) == 0 || second.MethodTokens[0] == "CHANGED" || second.FilesIn.MaxFiles == 0 {
		t.Errorf("the shipped facts changed with a caller's copy: %+v", second)
	}
}

func TestUnknownBackendIsRefusedWithTheNearestName(t *testing.T) {
	t.Parallel()
	for written, remedy := range map[string]string{
		"dokcer":     `write "docker"`,
		"Docker":     `write "docker"`,
		"acs":        `write "acas"`,
		"kubernetes": "name a shipped backend",
		"":           "name a shipped backend",
	} {
		_, err := facts.Lookup(written)
		if !errors.Is(err, sandbox.CodeBackendUnknown) || !errors.Is(err, sandbox.ErrLookup) {
			t.Errorf("Lookup(%q) = %v", written, err)
			continue
		}
		if r := sandbox.RefusalOf(err); !strings.HasPrefix(r.Remedy, remedy) {
			t.Errorf("Lookup(%q): remedy %q, want it to begin %q", written, r.Remedy, remedy)
		}
	}
}

func TestNearestWordIsOnlyGivenWhenItWasProbablyMeant(t *testing.T) {
	t.Parallel()
	words := []string{"egress_hosts", "egress_mode", "methods", "ports"}
	for _, c := range []struct {
		written, want string
		ok            bool
	}{
		{"method", "methods", true},
		{"egress-host", "egress_hosts", true},
		{"egress_mdoe", "egress_mode", true},
		{"port", "ports", true},
		{"verdict", "", false},
		{"", "", false},
		{strings.Repeat("x", 10_000), "", false},
	} {
		if got, ok := facts.Nearest(c.written, words); got != c.want || ok != c.ok {
			t.Errorf("Nearest(%.20q) = %q, %v, want %q, %v", c.written, got, ok, c.want, c.ok)
		}
	}
}
