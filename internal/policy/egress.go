package policy

import (
	"slices"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// compiledEgress is one side's network posture: a workload's ask or one policy
// layer's bound.
type compiledEgress struct {
	mode     sandbox.EgressMode
	modeOpen bool
	// set is the known rules. open means that there may be more: hosts or rules
	// that are not known yet.
	set  *egress.Set
	open bool
	// rules and paths run in parallel: the known rules and where each stands.
	rules []egress.Rule
	paths []sandbox.FieldPath
	// openPaths are the unknown places, for undecided findings.
	openPaths []sandbox.FieldPath
	// derived is what the rules ask for beyond hosts.
	derived sandbox.CapabilitySet
	methods []string // tokens named by rules, sorted
}

// maxRules is how many hosts and rules one policy or workload may have, and how
// many hosts it may rule out: with as many on both sides, what is judged once in a
// plan and once in a host takes less than a second.
const maxRules = 100_000

// tooMany is the finding about a list of more than [maxRules].
func tooMany(n int, path sandbox.FieldPath) sandbox.Finding {
	return sandbox.Finding{
		Code: sandbox.CodeEgressTooComplex, Path: path, Found: strconv.Itoa(n) + " hosts and rules",
		Required: "at most " + strconv.Itoa(maxRules), Remedy: "name wildcards or ranges in place of their members",
	}
}

// readEgress reads all of the egress and leaves its set to be compiled.
func readEgress(e sandbox.Egress, known sandbox.Known) (compiledEgress, []sandbox.Finding) {
	c := compiledEgress{mode: e.Mode, modeOpen: !known.Has(at("egress_mode"))}
	stated := len(e.Hosts) + len(e.Rules)
	if stated > maxRules {
		return c, []sandbox.Finding{tooMany(stated, at("egress_hosts"))}
	}
	c.rules, c.paths = make([]egress.Rule, 0, stated), make([]sandbox.FieldPath, 0, stated)
	var findings []sandbox.Finding
	add := func(rule egress.Rule, path sandbox.FieldPath, problems []sandbox.Finding) {
		if len(problems) > 0 {
			findings = append(findings, problems...)
			return
		}
		if why, blocked := rule.Host().AlwaysBlocked(); blocked {
			findings = append(findings, sandbox.Finding{
				Code: sandbox.CodeEgressAlwaysBlocked, Path: path, Found: rule.String() + ", which is " + why,
				Required: "a destination that rules can open", Remedy: "remove the rule; it would never admit anything",
			})
			return
		}
		c.rules = append(c.rules, rule)
		c.paths = append(c.paths, path)
	}

	if hosts := at("egress_hosts"); known.Has(hosts) {
		for i, host := range e.Hosts {
			path := hosts.Append(sandbox.Index(i))
			if !known.Has(path) {
				c.openAt(path)
				continue
			}
			rule, problems := egress.ParseShort(host, path)
			add(rule, path, problems)
		}
	} else {
		c.openAt(hosts)
	}
	if rules := at("egress_rules"); known.Has(rules) {
		for _, name := range sortedKeys(e.Rules) {
			path := rules.Append(sandbox.MapKey(name))
			if !known.Whole(path) {
				c.openAt(path)
				continue
			}
			rule, problems := egress.ParseRule(name, e.Rules[name], path)
			add(rule, path, problems)
		}
	} else {
		c.openAt(rules)
	}
	c.deriveNeeds()
	return c, append(findings, c.contradictions(e)...)
}

func (c *compiledEgress) openAt(path sandbox.FieldPath) {
	c.open = true
	c.openPaths = append(c.openPaths, path)
}

func (c *compiledEgress) deriveNeeds() {
	for i := range c.rules {
		r := &c.rules[i]
		if r.HasPorts() {
			c.derived = c.derived.With(sandbox.CapabilityEgressPorts)
		}
		if r.HasMethods() {
			c.derived = c.derived.With(sandbox.CapabilityEgressMethods)
			c.methods = append(c.methods, r.Methods()...)
		}
		if r.HasPaths() {
			c.derived = c.derived.With(sandbox.CapabilityEgressPaths)
		}
		if r.Host().IsAddress() {
			c.derived = c.derived.With(sandbox.CapabilityEgressAddresses)
		}
	}
	slices.Sort(c.methods)
	c.methods = slices.Compact(c.methods)
}

// contradictions holds the mode against the rules.
func (c *compiledEgress) contradictions(e sandbox.Egress) []sandbox.Finding {
	if c.modeOpen {
		return nil
	}
	stated := len(e.Hosts) + len(e.Rules)
	if c.mode != sandbox.EgressAllowlist && len(c.rules) > 0 {
		mode := c.mode
		if mode == sandbox.EgressUnspecified {
			mode = sandbox.EgressClosed
		}
		return []sandbox.Finding{{
			Code: sandbox.CodeEgressHostsWithoutAllowlist, Path: rootOf(c.paths[0]),
			Found:    listRules(c.rules) + " under egress_mode " + strconv.Quote(mode.String()),
			Required: `egress_mode "allowlist"`,
			Remedy:   `set egress_mode = "allowlist", or remove the hosts and rules`,
		}}
	}
	if c.mode == sandbox.EgressAllowlist && stated == 0 && !c.open {
		return []sandbox.Finding{{
			Code: sandbox.CodeEgressAllowlistEmpty, Path: at("egress_mode"),
			Found: `"allowlist" without hosts or rules`, Required: "at least one host or rule",
			Remedy: `name a host in egress_hosts, or set egress_mode = "closed"`,
		}}
	}
	return nil
}

func rootOf(path sandbox.FieldPath) sandbox.FieldPath { return path[:1] }

// compileNeverReaches parses the hosts and ranges that nothing may reach, on any
// port. A host means itself, *.suffix everything below it.
func compileNeverReaches(hosts []string, known sandbox.Known) (*egress.Set, []sandbox.Finding) {
	root := at("never_reaches")
	if !known.Has(root) {
		return nil, nil
	}
	if len(hosts) > maxRules {
		return nil, []sandbox.Finding{tooMany(len(hosts), root)}
	}
	rules := make([]egress.Rule, 0, len(hosts))
	var findings []sandbox.Finding
	for i, host := range hosts {
		path := root.Append(sandbox.Index(i))
		if !known.Has(path) {
			continue
		}
		rule, problems := egress.ParseRule(host, sandbox.EgressRule{
			Host: host, Ports: anything, Methods: anything, Paths: anything,
		}, path)
		for _, f := range problems {
			f.Path = path
			findings = append(findings, f)
		}
		if len(problems) == 0 {
			rules = append(rules, rule)
		}
	}
	return egress.NewSet(rules), findings
}

var anything = []string{"*"}

// maxExcess is how many rules of one side a decision finds fault with, one by one:
// a hostile list could have them all at fault.
const maxExcess = 100

// neverReachesFindings proves that nothing in an allowlist overlaps what must
// never be reached, and shows for each rule one place where it does.
func neverReachesFindings(e *compiledEgress, never *egress.Set) []sandbox.Finding {
	var findings []sandbox.Finding
	for i, witness := range e.set.Overlapping(never) {
		f := sandbox.Finding{
			Code: sandbox.CodeEgressNeverReaches, Path: e.paths[i],
			Found: e.rules[i].String(), Required: "nothing that never_reaches names",
			Witness: witness.String(),
			Remedy:  "narrow the rule, or take the host out of never_reaches",
		}
		if unshown(witness) {
			f = tooEntangled(e, i, "never_reaches")
		}
		if findings = append(findings, f); len(findings) == maxExcess {
			break
		}
	}
	return findings
}

// unshown reports whether a witness says that there was more to compare than is
// compared.
func unshown(w egress.Witness) bool { return w == egress.Witness{} }

// tooEntangled is the finding about a rule from which on nothing is known.
func tooEntangled(e *compiledEgress, i int, against string) sandbox.Finding {
	return sandbox.Finding{
		Code: sandbox.CodeEgressTooComplex, Path: e.paths[i],
		Found:    e.rules[i].String() + " and those after it, which took too much work to hold against " + against,
		Required: "rules that can be compared: fewer of one host, or more alike",
		Remedy:   "join rules of one host that differ in ports, methods or paths",
	}
}
