package policy

import (
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// egressMode asks whether the backend enforces exactly the mode that is asked
// for. No mode stands in for another, unless the policy says at_least.
func (q *question) egressMode() {
	e, have := &q.spec.egress, q.backend.decl.EgressModes
	if e.modeOpen {
		q.wait(at("egress_mode"), "egress_mode", "whether the backend enforces it")
		return
	}
	if have.Has(e.mode) {
		return
	}
	path := at("egress_mode")
	confines := e.mode == sandbox.EgressAllowlist && have.Has(sandbox.EgressClosed)
	if confines && q.policy.matchOpen && q.policy.match != sandbox.EgressMatchExact {
		q.wait(path, "egress_match of the policy", "whether a backend may confine more than asked")
		return
	}
	if confines && q.policy.match == sandbox.EgressMatchAtLeast {
		q.warn(sandbox.CodeEgressNotEnforced, path,
			"backend "+q.backendName()+" confines more than asked; unreachable: "+listRules(e.rules),
			"nothing; egress_match is at_least", "set egress_mode = \"closed\", or choose a backend that enforces allowlist")
		return
	}
	found := e.mode.String()
	if len(e.rules) > 0 {
		found += " for " + listRules(e.rules)
	}
	q.deny(sandbox.CodeEgressNotEnforced, path, found,
		"a mode that backend "+q.backendName()+" enforces: "+have.String(),
		q.modeRemedy(have))
}

func (q *question) modeRemedy(have sandbox.EgressModeSet) string {
	if have.Empty() {
		return "choose a backend that declares which egress it enforces"
	}
	return "set egress_mode = " + strconv.Quote(have.Words()[0].String()) + ", or choose another backend"
}

// egressWithinPolicy proves that everything the workload can reach is within
// every policy's bound, and shows one thing that is not.
func (q *question) egressWithinPolicy() {
	e := &q.spec.egress
	if !q.policy.bounded && !q.policy.modeOpen {
		// Nobody opens the network, so it is closed.
		q.modeWithin(e, sandbox.EgressClosed, "no policy states egress_mode, so it is closed")
	}
	for i := range q.policy.layers {
		q.withinLayer(&q.policy.layers[i])
	}
}

// modeWithin judges the mode alone and reports whether rules remain to be
// compared.
func (q *question) modeWithin(e *compiledEgress, bound sandbox.EgressMode, who string) bool {
	switch {
	case bound == sandbox.EgressUnrestricted:
		return false
	case e.modeOpen:
		if bound != sandbox.EgressClosed && bound != sandbox.EgressAllowlist {
			return false
		}
		q.wait(at("egress_mode"), "egress_mode", "whether it is within the policy")
		return false
	case e.mode > bound:
		q.deny(sandbox.CodeEgressModeDenied, at("egress_mode"), e.mode.String(),
			"at most "+bound.String()+": "+who,
			"set egress_mode = "+strconv.Quote(bound.String())+", or widen the policy")
		return false
	}
	return e.mode == sandbox.EgressAllowlist
}

func (q *question) withinLayer(l *compiledLayer) {
	e := &q.spec.egress
	if l.egress.modeOpen {
		if e.modeOpen || e.mode != sandbox.EgressClosed {
			q.wait(at("egress_mode"), "egress_mode of "+l.Source, "whether the workload's egress is within it")
		}
		q.neverReaches(l)
		return
	}
	if l.egress.mode != sandbox.EgressUnspecified {
		if q.modeWithin(e, l.egress.mode, l.Source+" says "+l.egress.mode.String()) {
			q.rulesWithin(l)
		}
	}
	q.neverReaches(l)
}

func (q *question) rulesWithin(l *compiledLayer) {
	e, bound := &q.spec.egress, &l.egress
	told := 0
	for i, witness := range e.set.Beyond(bound.set) {
		switch {
		case bound.open:
			q.wait(e.paths[i], "part of the egress of "+l.Source, "whether "+e.rules[i].String()+" is within it")
		case unshown(witness):
			q.say(tooEntangled(e, i, "the egress of "+l.Source))
		default:
			q.notWithin(e, i, l, witness)
		}
		if told++; told == maxExcess {
			break
		}
	}
	for _, path := range e.openPaths {
		q.wait(path, path.String(), "whether it is within "+l.Source)
	}
}

func (q *question) notWithin(e *compiledEgress, i int, l *compiledLayer, witness egress.Witness) {
	q.say(sandbox.Finding{
		Code: sandbox.CodeEgressNotWithinPolicy, Path: e.paths[i],
		Found:    strconv.Quote(e.rules[i].Name()) + " reaches " + describe(&e.rules[i]),
		Required: l.Source + " allows " + listRules(l.egress.rules),
		Witness:  witness.String(),
		Remedy:   "name what the policy allows, or add a rule to " + l.Source,
	})
}

// describe says what a rule reaches, in words where a star could be misread.
func describe(r *egress.Rule) string {
	text := r.String()
	if r.Host().IsWildcard() {
		return "any name under " + strings.TrimPrefix(text, "*.")
	}
	return text
}

// maxListedRules bounds how many of a policy's rules a message repeats.
const maxListedRules = 8

func listRules(rules []egress.Rule) string {
	if len(rules) == 0 {
		return "nothing"
	}
	parts := make([]string, 0, maxListedRules+1)
	for i := range rules {
		if i == maxListedRules {
			parts = append(parts, "and "+strconv.Itoa(len(rules)-maxListedRules)+" more")
			break
		}
		parts = append(parts, rules[i].String())
	}
	return strings.Join(parts, ", ")
}

// neverReaches holds the workload's own rules against one policy's list.
func (q *question) neverReaches(l *compiledLayer) {
	e := &q.spec.egress
	if !e.modeOpen && e.mode == sandbox.EgressUnrestricted && (l.neverReach.Len() > 0) {
		q.say(sandbox.Finding{
			Code: sandbox.CodeEgressNeverReaches, Path: at("egress_mode"), Found: "unrestricted",
			Required: "nothing that never_reaches of " + l.Source + " names",
			Witness:  firstHost(l.neverReach),
			Remedy:   `set egress_mode = "allowlist" and name the hosts`,
		})
		return
	}
	if len(e.rules) == 0 && !e.open {
		return
	}
	if l.neverOpen {
		q.wait(at("egress_hosts"), "never_reaches of "+l.Source, "whether a rule reaches it")
	}
	if l.neverReach.Len() == 0 {
		return
	}
	for _, f := range neverReachesFindings(e, l.neverReach) {
		if f.Code == sandbox.CodeEgressNeverReaches {
			f.Required = "nothing that never_reaches of " + l.Source + " names"
			f.Remedy = "narrow the rule, or take the host out of never_reaches in " + l.Source
		}
		q.say(f)
	}
	for _, path := range e.openPaths {
		q.wait(path, path.String(), "whether it reaches what "+l.Source+" never reaches")
	}
}

func firstHost(s *egress.Set) string {
	rules := s.Rules()
	if len(rules) == 0 {
		return ""
	}
	return rules[0].Host().String()
}

// egressGuarantees asks for the guarantees that policy and workload demand, and
// for those without which the mode does not mean what it says.
func (q *question) egressGuarantees() {
	demanded := q.policy.guarantees.Union(q.spec.spec.Egress.Guarantees)
	if missing := q.unproven(demanded); !missing.Empty() {
		q.deny(sandbox.CodeEgressGuarantee, at("egress_guarantees"), "missing: "+q.lacking(missing),
			"guarantees of backend "+q.backendName()+" with "+q.evidence().String()+" evidence: "+q.proven().String(),
			"choose a backend that gives them, or stop demanding them"+q.whoGives(missing))
	}
	if shaky := q.shaky(demanded); !shaky.Empty() {
		q.wait(at("egress_guarantees"), "minimum_evidence of the policy", "whether the evidence for "+shaky.String()+" is enough")
	}
	q.openGuarantees(demanded)
	if shaky := q.shaky(q.spec.baseline); !shaky.Empty() && q.refusesMissing() {
		q.wait(at("egress_mode"), "minimum_evidence of the policy", "whether the evidence for "+shaky.String()+" is enough")
	}
	missing := q.unproven(q.spec.baseline.Minus(demanded))
	if missing.Empty() {
		return
	}
	found := "backend " + q.backendName() + " leaves open: " + q.lacking(missing)
	required := "the guarantees that make egress_mode " + q.spec.egress.mode.String() + " mean what it says"
	switch {
	case q.policy.missing == sandbox.MissingGuaranteesRefuse:
		q.deny(sandbox.CodeEgressGuarantee, at("egress_mode"), found, required,
			`choose a backend that gives them, or set missing_guarantees = "warn" in the policy`+q.whoGives(missing))
	case q.policy.missingOpen:
		q.wait(at("egress_mode"), "missing_guarantees of the policy", "whether "+missing.String()+" may be missing")
	default:
		q.warn(sandbox.CodeEgressGuarantee, at("egress_mode"), found, required,
			`set missing_guarantees = "refuse" in the policy to make this an error`)
	}
}

// openGuarantees waits for guarantees that may still be demanded, where the
// backend could miss one, and for the mode that decides the baseline.
func (q *question) openGuarantees(demanded sandbox.GuaranteeSet) {
	all := sandbox.SetOf(sandbox.Guarantees()...)
	rest := all.Minus(demanded)
	if q.unproven(rest).Empty() && q.shaky(rest).Empty() {
		return
	}
	switch {
	case q.policy.guaranteesOpen:
		q.wait(at("egress_guarantees"), "egress_guarantees of the policy", "whether the backend gives them")
	case q.spec.open.guarantees:
		q.wait(at("egress_guarantees"), "egress_guarantees", "whether the backend gives them")
	case (q.spec.egress.modeOpen || q.spec.egress.open) && q.refusesMissing():
		q.wait(at("egress_mode"), "part of the egress", "which guarantees it needs")
	}
}

func (q *question) refusesMissing() bool {
	return q.policy.missingOpen || q.policy.missing == sandbox.MissingGuaranteesRefuse
}

// unproven is what of the wanted guarantees the backend does not give with the
// evidence that is demanded.
func (q *question) unproven(wanted sandbox.GuaranteeSet) sandbox.GuaranteeSet {
	if wanted.Empty() {
		return wanted
	}
	return wanted.Minus(q.proven())
}

// proven are the guarantees with the evidence that is demanded for certain.
func (q *question) proven() sandbox.GuaranteeSet { return q.backend.proven[q.evidence()] }

// shaky are those of the wanted guarantees whose evidence is enough as far as is
// known, and not enough if a policy's demand turns out to be the strictest.
func (q *question) shaky(wanted sandbox.GuaranteeSet) sandbox.GuaranteeSet {
	if !q.policy.evidenceOpen {
		return sandbox.GuaranteeSet{}
	}
	return wanted.Intersect(q.proven()).Minus(q.backend.proven[sandbox.EvidenceProbed])
}
