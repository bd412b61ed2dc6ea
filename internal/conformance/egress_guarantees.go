package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// guaranteeSuite names the suite whose probes rest on those of others.
const guaranteeSuite = "EGRESS_GUARANTEES"

// declaredGuarantees hold what a backend declares that it shuts against what was
// shown: a guarantee whose probes were not all passed is a claim. A backend that
// declares an allowlist, and was given no world to show it in, shows none.
func declaredGuarantees() Suite {
	var probes []Probe
	for _, g := range sandbox.Guarantees() {
		probes = append(probes, Probe{
			Name: guaranteeProbe(g),
			Missing: func(s Subject) string {
				d := s.Backend.Declarations()
				if !d.EgressModes.Has(sandbox.EgressAllowlist) {
					return "without egress " + sandbox.EgressAllowlist.String()
				}
				evidence, declared := d.Guarantees[g]
				switch {
				case !declared:
					return "without " + g.String()
				case evidence.Kind == sandbox.EvidenceEmulated && s.Egress == nil:
					return "without a world to show it in: what is declared is an emulator's word, which meets nothing"
				}
				return ""
			},
			Over: func(_ Subject, before []Result) error { return shown(g, before) },
		})
	}
	return Suite{Name: guaranteeSuite, Probes: probes}
}

// shown checks that every probe that shows a guarantee passed, and that there was
// one.
func shown(g sandbox.Guarantee, before []Result) error {
	var errs []error
	passed := 0
	for _, r := range before {
		switch {
		case !slices.Contains(showsOf(r.Suite, r.Probe), g):
		case r.Outcome == Pass:
			passed++
		case r.Outcome.Failed():
			errs = append(errs, fmt.Errorf("%s/%s did not hold", r.Suite, r.Probe))
		}
	}
	if len(errs) == 0 && passed == 0 {
		errs = append(errs, notShown("no probe that shows %s was made", g))
	}
	return errors.Join(errs...)
}

// showsOf are the guarantees that rest on a probe.
func showsOf(suite, probe string) []sandbox.Guarantee {
	for _, s := range Suites() {
		if s.Name != suite {
			continue
		}
		if at := slices.IndexFunc(s.Probes, func(p Probe) bool { return p.Name == probe }); at >= 0 {
			return s.Probes[at].Shows
		}
	}
	return nil
}

// guaranteeProbe names the probe of a guarantee.
func guaranteeProbe(g sandbox.Guarantee) string {
	return strings.ReplaceAll(g.String(), "_", "-") + "-is-declared-and-shown"
}
