// Package show puts the posture of a manifest into words: what the policies in
// force demand and allow, and what each workload asks, with the decision beside
// it. It decides nothing; whoever calls it brings the decisions.
//
// [Of] gathers, [Posture.Text] writes one screen, and the struct itself is the
// JSON form. Text is not escaped here: it goes through package plaintext, as
// everything does.
package show

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Posture is what a manifest demands, allows and asks.
type Posture struct {
	Digest     manifest.Digest `json:"digest"`
	Generation int64           `json:"generation"`
	// Policies are those in force, an imposed one first.
	Policies []string `json:"policies"`
	Group    *Group   `json:"group,omitempty"`

	Floor  Floor  `json:"floor"`
	Denied Denied `json:"denied"`
	// Egress has one bound a policy that states one. Without any, the network is
	// closed.
	Egress       []EgressBound `json:"egress"`
	NeverReaches []string      `json:"never_reaches"`
	// Guarantees are those that every backend must give, and MissingGuarantees
	// what becomes of a backend that leaves open a way around a mode.
	Guarantees        []string                    `json:"guarantees"`
	MissingGuarantees string                      `json:"missing_guarantees"`
	FilesIn           *sandbox.TransferLimits     `json:"files_in_limits,omitempty"`
	FilesOut          *sandbox.TransferLimits     `json:"files_out_limits,omitempty"`
	Images            Images                      `json:"images"`
	Relied            map[string][]string         `json:"relied_guarantees,omitempty"`
	Workloads         []Workload                  `json:"workloads"`
	Backends          map[string]BackendInPosture `json:"backends"`
}

// Group is the sandbox group that serves the workloads.
type Group struct {
	ID       string `json:"id"`
	Endpoint string `json:"endpoint,omitempty"`
	Location string `json:"location,omitempty"`
}

// Floor is the isolation that is demanded of every backend.
type Floor struct {
	Isolation string `json:"isolation"`
	// SetBy names each policy that states a floor, with the floor it states.
	SetBy    []string `json:"set_by"`
	Evidence string   `json:"evidence"`
	Scope    string   `json:"isolation_scope"`
	Cleanup  string   `json:"cleanup,omitempty"`
}

// Denied is what no workload may have.
type Denied struct {
	Capabilities []string `json:"capabilities"`
	Identities   []string `json:"identities"`
	// AttachedIdentity is the widest attached platform identity; "none" permits
	// none.
	AttachedIdentity string `json:"maximum_identity_scope"`
}

// EgressBound is one policy's bound of every workload's network.
type EgressBound struct {
	Policy string   `json:"policy"`
	Mode   string   `json:"mode"`
	Match  string   `json:"match"`
	Rules  []string `json:"rules"`
}

// Images is what sandboxes may be made from.
type Images struct {
	// Registries is nil when no policy has an opinion; several policies' lists
	// all hold.
	Registries    [][]string `json:"registries,omitempty"`
	RequireDigest bool       `json:"require_digest"`
	Prebuilt      string     `json:"prebuilt"`
	User          string     `json:"user"`
}

// Workload is what one workload asks, and the answer.
type Workload struct {
	Name     string                  `json:"name"`
	Kind     string                  `json:"kind"`
	Backend  string                  `json:"backend"`
	Image    string                  `json:"image,omitempty"`
	Floor    string                  `json:"minimum_isolation,omitempty"`
	Requires []string                `json:"requires"`
	Mode     string                  `json:"egress_mode"`
	Rules    []string                `json:"egress_rules"`
	Outputs  []string                `json:"outputs"`
	FilesIn  *sandbox.TransferLimits `json:"files_in_limits,omitempty"`
	FilesOut *sandbox.TransferLimits `json:"files_out_limits,omitempty"`
	Decision sandbox.Decision        `json:"decision"`
}

// BackendInPosture is what a backend was judged by.
type BackendInPosture struct {
	Isolation string `json:"isolation"`
	Evidence  string `json:"evidence"`
	// Facts says where its declarations come from.
	Facts string `json:"facts"`
}

// Of gathers the posture of a manifest. Decisions are by workload, backends by
// name; a workload without a decision shows as denied.
func Of(
	m manifest.Manifest, digest manifest.Digest, decisions map[string]sandbox.Decision, backends map[string]BackendInPosture,
) Posture {
	p := Posture{
		Digest: digest, Generation: m.Generation, Backends: backends,
		Floor: Floor{SetBy: []string{}}, Egress: []EgressBound{}, NeverReaches: []string{},
	}
	if m.Group != nil {
		group := Group(*m.Group)
		p.Group = &group
	}
	layers := m.Layers()
	p.demands(layers)
	p.bounds(layers)
	for name, g := range m.Guarantees {
		if p.Relied == nil {
			p.Relied = make(map[string][]string, len(m.Guarantees))
		}
		p.Relied[name] = g.Strings()
	}
	for _, name := range m.WorkloadNames() {
		p.Workloads = append(p.Workloads, workloadOf(name, m.Workloads[name], decisions[name]))
	}
	return p
}

// demands are the floors, the denials and the ceilings, folded to the strictest.
func (p *Posture) demands(layers []policy.Layer) {
	var all sandbox.Policy
	for _, l := range layers {
		p.Policies = append(p.Policies, l.Source)
		if stated := l.Policy.MinimumIsolation; stated != sandbox.IsolationUnspecified {
			p.Floor.SetBy = append(p.Floor.SetBy, l.Source+" ("+stated.String()+")")
		}
		all, _ = policy.Strictest(all, l.Policy) // what conflicts is for the decision to say
	}
	p.Floor.Isolation = cmp.Or(all.MinimumIsolation, sandbox.DefaultIsolationFloor).String()
	p.Floor.Evidence = cmp.Or(all.MinimumEvidence, sandbox.EvidenceProbed).String()
	p.Floor.Scope = cmp.Or(all.MinimumIsolationScope, sandbox.ScopeConversation).String()
	p.Floor.Cleanup = all.MinimumCleanup.String()
	p.Denied = Denied{
		Capabilities: all.DeniedCapabilities.Strings(), Identities: all.DeniedIdentities.Strings(),
		AttachedIdentity: cmp.Or(all.MaximumIdentityScope, sandbox.IdentityScopeNone).String(),
	}
	p.NeverReaches = append(p.NeverReaches, all.NeverReaches...)
	slices.Sort(p.NeverReaches)
	p.Guarantees = all.Egress.Guarantees.Strings()
	p.MissingGuarantees = cmp.Or(all.MissingGuarantees, sandbox.MissingGuaranteesWarn).String()
	p.FilesIn, p.FilesOut = all.FilesIn, all.FilesOut
	p.Images = Images{
		RequireDigest: all.Images.RequireDigest,
		Prebuilt:      cmp.Or(all.Images.Prebuilt, sandbox.PrebuiltAllow).String(),
		User:          cmp.Or(all.Images.User, sandbox.ImageUserAny).String(),
	}
}

// bounds are each policy's own egress and registries: every one of them holds.
func (p *Posture) bounds(layers []policy.Layer) {
	for _, l := range layers {
		e := l.Policy.Egress
		if e.Mode != sandbox.EgressUnspecified {
			match := max(l.Policy.EgressMatch, sandbox.EgressMatchExact)
			p.Egress = append(p.Egress, EgressBound{
				Policy: l.Source, Mode: e.Mode.String(), Match: match.String(), Rules: rulesOf(e),
			})
		}
		if registries := l.Policy.Images.Registries; registries != nil {
			p.Images.Registries = append(p.Images.Registries, registries)
		}
	}
}

func workloadOf(name string, s sandbox.Spec, d sandbox.Decision) Workload {
	mode := max(s.Egress.Mode, sandbox.EgressClosed)
	w := Workload{
		Name: name, Kind: s.Kind, Backend: s.Backend, Image: imageText(s.Image),
		Floor: s.MinimumIsolation.String(), Requires: s.RequiredCapabilities().Strings(),
		Mode: mode.String(), Rules: rulesOf(s.Egress),
		Outputs: []string{}, FilesIn: s.FilesIn, FilesOut: s.FilesOut, Decision: d,
	}
	for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
		w.Outputs = append(w.Outputs, outputText(name, s.Outputs[name]))
	}
	return w
}

// rulesOf lists rules in their normal form, hosts first, as the decision has
// them. One that does not parse stands as it was written.
func rulesOf(e sandbox.Egress) []string {
	rules := make([]string, 0, len(e.Hosts)+len(e.Rules))
	for _, host := range e.Hosts {
		rule, problems := egress.ParseShort(host, nil)
		if len(problems) > 0 {
			rules = append(rules, sandbox.Echo(host))
			continue
		}
		rules = append(rules, rule.String())
	}
	for _, name := range slices.Sorted(maps.Keys(e.Rules)) {
		rule, problems := egress.ParseRule(name, e.Rules[name], nil)
		if len(problems) > 0 {
			rules = append(rules, sandbox.Echo(e.Rules[name].Host))
			continue
		}
		rules = append(rules, rule.String())
	}
	return rules
}
