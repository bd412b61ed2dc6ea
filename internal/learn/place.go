package learn

import (
	"maps"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/explain"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Place is the workload that a proposal is for.
type Place struct {
	Manifest manifest.Manifest
	Workload string
	// Backends are the declarations by which it is judged.
	Backends []sandbox.Declarations
	// Advise gives findings the remedies that whoever asks can take; it may be nil.
	Advise explain.Advice

	judge *policy.Judge
}

// NewPlace is a workload of a manifest, which was parsed. One that the manifest does
// not have is [sandbox.CodeWorkloadUnknown].
func NewPlace(m manifest.Manifest, workload string, backends []sandbox.Declarations) (*Place, error) {
	if err := explain.HasWorkload(m, workload); err != nil {
		return nil, err
	}
	return &Place{Manifest: m, Workload: workload, Backends: backends, judge: policy.NewJudge(m.Layers()...)}, nil
}

func (p *Place) spec() sandbox.Spec { return p.Manifest.Workloads[p.Workload] }

// withoutNever takes out what never_reaches of a policy names.
func (p *Place) withoutNever(could []*wanted, not []declined) ([]*wanted, []declined) {
	var left []*wanted
	for _, w := range could {
		source := ""
		for _, o := range p.judge.Policy().Opinions(w.request) {
			if len(o.Never) > 0 {
				source = o.Source
				break
			}
		}
		if source == "" {
			left = append(left, w)
			continue
		}
		not = append(not, declined{w.request, requestText(w.request), "never_reaches of " + source + " names it", w.stats})
	}
	return left, not
}

// Outcome is what a workload would be with the proposal.
type Outcome struct {
	Workload string          `json:"workload"`
	Verdict  sandbox.Verdict `json:"verdict"`
	// Refused is why it would be refused under the policies as they are.
	Refused []string `json:"refused,omitempty"`
	// Edits are what the policies would have to say for its rules to be within them,
	// and Afterwards what would refuse it even then.
	Edits      []explain.Edit `json:"policy_edits,omitempty"`
	Afterwards []string       `json:"afterwards,omitempty"`
	// Widens: it may reach something that it may not reach now.
	Widens bool `json:"widens"`
	// Difference is all that changes, the policies' edits included.
	Difference explain.Difference `json:"difference"`
}

// outcome judges the proposal. Nothing is changed by it.
func (p *Place) outcome(proposal Proposal) (Outcome, error) {
	after := p.with(proposal)
	o := Outcome{Workload: p.Workload}
	var outside bool
	o.Verdict, o.Refused, outside = p.decide(after)
	if outside {
		after.HostPolicy, after.Policy, o.Edits = opened(after, p.judge, proposal)
		if len(o.Edits) > 0 {
			_, o.Afterwards, _ = p.decide(after)
		}
	}
	before, err := document(p.Manifest)
	if err != nil {
		return o, err
	}
	now, err := document(after)
	if err != nil {
		return o, err
	}
	if o.Difference, err = explain.Compare(before, now); err != nil {
		return o, err
	}
	for _, s := range o.Difference.Subjects {
		if s.Subject == policy.WorkloadSubject(p.Workload) {
			o.Widens = s.Change != policy.Equal.String() && s.Change != policy.Narrowed.String()
		}
	}
	return o, nil
}

// with is the manifest with the proposal in the workload.
func (p *Place) with(proposal Proposal) manifest.Manifest {
	m, spec := p.Manifest, p.spec()
	spec.Egress.Mode, spec.Egress.Hosts, spec.Egress.Rules = proposal.Mode, nil, nil
	for _, g := range proposal.Groups {
		for _, r := range g.Rules {
			spec.Egress.Hosts, spec.Egress.Rules = withRule(spec.Egress.Hosts, spec.Egress.Rules, r)
		}
	}
	m.Workloads = maps.Clone(m.Workloads)
	m.Workloads[p.Workload] = spec
	return m
}

// withRule adds a rule to lists that are the caller's own.
func withRule(hosts []string, rules map[string]sandbox.EgressRule, r Rule) ([]string, map[string]sandbox.EgressRule) {
	if r.Key == "" {
		return append(hosts, r.Rule.Host), rules
	}
	if rules == nil {
		rules = make(map[string]sandbox.EgressRule)
	}
	rules[r.Key] = r.Rule
	return hosts, rules
}

// decide judges the workload of a manifest. outside reports that its rules are more
// than the policies permit.
func (p *Place) decide(m manifest.Manifest) (verdict sandbox.Verdict, reasons []string, outside bool) {
	judge := policy.NewJudge(m.Layers()...)
	asks := judge.Case(policy.Ask{Spec: m.Workloads[p.Workload]})
	backends := judge.CompileBackends(p.Backends, m.Guarantees)
	decision := asks.Decide(backends.Of(asks.Spec().Spec().Backend))
	for _, f := range decision.Findings {
		if f.Verdict == sandbox.Allow {
			continue
		}
		text := p.Advise.Reason(f)
		if f.Witness != "" && !strings.Contains(f.Found, f.Witness) {
			text += "; " + f.Witness + " would become reachable"
		}
		reasons = append(reasons, text)
		outside = outside || f.Code == sandbox.CodeEgressNotWithinPolicy || f.Code == sandbox.CodeEgressModeDenied
	}
	return decision.Verdict, reasons, outside
}

// opened are the policies with what the proposal needs, and the edits that make them
// so.
func opened(m manifest.Manifest, judge *policy.Judge, proposal Proposal) (*sandbox.Policy, sandbox.Policy, []explain.Edit) {
	var edits []explain.Edit
	layers := m.Layers()
	modes := judge.Policy().Opinions(egress.Request{})
	for i, layer := range layers {
		edited, edit, ok := openedLayer(layer.Policy, modes[i].Mode, proposal)
		if !ok {
			continue
		}
		edit.Where = layer.Source
		edits = append(edits, edit)
		if i < len(layers)-1 {
			m.HostPolicy = &edited
		} else {
			m.Policy = edited
		}
	}
	return m.HostPolicy, m.Policy, edits
}

// openedLayer adds to one policy what it lacks.
func openedLayer(of sandbox.Policy, mode sandbox.EgressMode, proposal Proposal) (sandbox.Policy, explain.Edit, bool) {
	var edit explain.Edit
	var have *egress.Set
	switch mode {
	case sandbox.EgressAllowlist:
		have = setOf(allRules(of.Egress))
	case sandbox.EgressClosed:
		edit.HCL = append(edit.HCL, `egress_mode = "allowlist"`)
		of.Egress.Mode, of.Egress.Hosts, of.Egress.Rules = sandbox.EgressAllowlist, nil, nil
	default:
		return of, edit, false
	}
	hosts, rules := []string{}, []string{}
	before := of.Egress
	of.Egress.Hosts, of.Egress.Rules = slices.Clone(before.Hosts), maps.Clone(before.Rules)
	keys := explain.NewKeys(of.Egress.Rules)
	for _, g := range proposal.Groups {
		for _, r := range g.Rules {
			if _, within := setOf([]sandbox.EgressRule{r.Rule}).Within(have); within {
				continue
			}
			if r.Key == "" {
				hosts = append(hosts, egress.HCLString(r.Rule.Host)+",")
			} else {
				r.Key = keys.For(r.Rule.Host)
				rules = append(rules, explain.RuleHCL(r.Key, r.Rule))
			}
			of.Egress.Hosts, of.Egress.Rules = withRule(of.Egress.Hosts, of.Egress.Rules, r)
		}
	}
	edit.HCL = append(edit.HCL, more("egress_hosts", "[", hosts, "]", len(before.Hosts))...)
	edit.HCL = append(edit.HCL, more("egress_rules", "{", rules, "}", len(before.Rules))...)
	return of, edit, len(hosts)+len(rules) > 0
}

// more are the lines of an attribute that gets more elements.
func more(attribute, opening string, added []string, closing string, before int) []string {
	if len(added) == 0 {
		return nil
	}
	lines := []string{attribute + " = " + opening}
	if before > 0 {
		lines = append(lines, "  # the "+itoa(before)+" there are, and")
	}
	for _, text := range added {
		lines = append(lines, "  "+text)
	}
	return append(lines, closing)
}

func allRules(e sandbox.Egress) []sandbox.EgressRule {
	var all []sandbox.EgressRule
	for _, host := range e.Hosts {
		all = append(all, sandbox.EgressRule{Host: host, Ports: []string{"443"}, Methods: anything, Paths: anything})
	}
	for _, key := range slices.Sorted(maps.Keys(e.Rules)) {
		all = append(all, e.Rules[key])
	}
	return all
}

func document(m manifest.Manifest) (explain.Document, error) {
	b, err := m.Encode()
	if err != nil {
		return explain.Document{}, err
	}
	return explain.Read(b)
}
