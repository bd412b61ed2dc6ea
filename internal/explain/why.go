package explain

import (
	"slices"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Answer is why workloads of a manifest may make a request, or not.
type Answer struct {
	// Request reads "cdn.example.net:443 (GET /v1)"; without method and path the
	// connection as a whole is judged.
	Request string `json:"request"`
	// Allowed reports whether some workload that was asked about may make it.
	Allowed   bool             `json:"allowed"`
	Workloads []WorkloadAnswer `json:"workloads"`
}

// WorkloadAnswer is the answer for one workload.
type WorkloadAnswer struct {
	Workload string `json:"workload"`
	Allowed  bool   `json:"allowed"`
	// Layers are the policies in force, and last the workload. All must allow.
	Layers []Layer `json:"layers"`
	// Refused is why the workload runs nowhere, whatever it asks for; empty where
	// it is admitted.
	Refused []string `json:"refused,omitempty"`
	// Edits turn the answer, all of them together.
	Edits []Edit `json:"edits,omitempty"`
	// Afterwards is what would refuse the workload once it was edited so.
	Afterwards []string `json:"afterwards,omitempty"`
}

// Layer is what one policy or the workload says.
type Layer struct {
	Source string `json:"source"`
	Allows bool   `json:"allows"`
	Why    string `json:"why"`
	// By are the rules that admit the request, and Never the entries that rule it
	// out nevertheless.
	By    []Rule `json:"by,omitempty"`
	Never []Rule `json:"never,omitempty"`
	// Hint is what is near the request.
	Hint string `json:"hint,omitempty"`
}

// Rule is a rule and where it stands, below its policy or workload.
type Rule struct {
	Path string `json:"path"`
	Rule string `json:"rule"`
}

// Question is what [Why] is asked.
type Question struct {
	Request egress.Request
	// Workload is the one workload to answer for; empty is all.
	Workload string
	// Backends are the declarations by which the workloads are judged as a router
	// would. Nil judges none of them: then only the rules count.
	Backends []sandbox.Declarations
}

// Why answers for one workload of a manifest, or for each. The manifest was parsed,
// so that all of it is well formed. A workload that it does not have is
// [sandbox.CodeWorkloadUnknown].
func Why(m manifest.Manifest, q Question) (Answer, error) {
	names := m.WorkloadNames()
	if q.Workload != "" {
		if _, ok := m.Workloads[q.Workload]; !ok {
			return Answer{}, unknownWorkload(q.Workload, names)
		}
		names = []string{q.Workload}
	}
	layers := m.Layers()
	judge := policy.NewJudge(layers...)
	policies := judge.Policy().Opinions(q.Request)
	backends := policy.CompileBackends(q.Backends, m.Guarantees)
	var afterwards *policy.Judge
	answer := Answer{Request: requestText(q.Request), Workloads: make([]WorkloadAnswer, 0, len(names))}
	for _, name := range names {
		asks := judge.Case(policy.Ask{Spec: m.Workloads[name]})
		own := asks.Spec().Opinion(q.Request)
		own.Source = policy.WorkloadSubject(name)
		opinions := append(slices.Clone(policies), own)
		w := WorkloadAnswer{Workload: name, Allowed: true}
		for i, o := range opinions {
			mode := m.Workloads[name].Egress.Mode
			if i < len(layers) {
				mode = layers[i].Policy.Egress.Mode
			}
			w.Layers = append(w.Layers, layerOf(o, mode))
			w.Allowed = w.Allowed && o.Verdict == sandbox.Allow
		}
		w.Refused = q.reasons(asks, backends)
		switch {
		case w.Allowed && len(w.Refused) > 0:
			w.Allowed = false // and no edit of rules helps
		case w.Allowed:
			_, w.Edits = refuse(m, name, own)
		case !blocked(opinions):
			edited, edits := allow(m, name, q.Request, opinions)
			w.Edits = edits
			if len(w.Refused) == 0 {
				if afterwards == nil { // policies are edited alike for every workload
					afterwards = policy.NewJudge(edited.Layers()...)
				}
				w.Afterwards = q.reasons(afterwards.Case(policy.Ask{Spec: edited.Workloads[name]}), backends)
			}
		}
		answer.Allowed = answer.Allowed || w.Allowed
		answer.Workloads = append(answer.Workloads, w)
	}
	return answer, nil
}

// reasons are the findings that deny a workload on its backend, each as its place
// and what was found.
func (q Question) reasons(asks policy.Case, backends policy.Backends) []string {
	if q.Backends == nil {
		return nil
	}
	name := asks.Spec().Spec().Backend
	var texts []string
	for _, f := range asks.Decide(backends.Of(name)).Findings {
		if f.Verdict != sandbox.Allow {
			texts = append(texts, f.Locator()+": "+f.Found)
		}
	}
	return texts
}

func unknownWorkload(name string, names []string) error {
	return sandbox.Finding{
		Code: sandbox.CodeWorkloadUnknown, Subject: "manifest", Found: "no workload " + sandbox.Echo(name),
		Required: "one of " + quoted(names), Remedy: "name a workload of the manifest",
	}.Refusal(nil)
}

// maxNamed is how many names a message lists.
const maxNamed = 8

func quoted(names []string) string {
	text := ""
	for i, name := range names {
		switch {
		case i == maxNamed:
			return text + " and " + strconv.Itoa(len(names)-maxNamed) + " more"
		case i > 0:
			text += ", "
		}
		text += sandbox.Echo(name)
	}
	return text
}

func requestText(r egress.Request) string {
	return egress.Witness{Host: r.Host, Addr: r.Addr, Port: r.Port, Method: r.Method, Path: r.Path}.String()
}

// blocked reports whether no rule could ever open the destination.
func blocked(opinions []policy.Opinion) bool {
	return slices.ContainsFunc(opinions, func(o policy.Opinion) bool {
		return o.Blocked != "" && o.Mode != sandbox.EgressUnrestricted && o.Mode != sandbox.EgressUnspecified
	})
}

// layerOf says what an opinion is, given the mode that is stated.
func layerOf(o policy.Opinion, stated sandbox.EgressMode) Layer {
	l := Layer{Source: o.Source, Allows: o.Verdict == sandbox.Allow, By: rulesOf(o.By), Never: rulesOf(o.Never)}
	switch {
	case len(o.Never) > 0:
		l.Why = "never_reaches names it"
	case o.Mode == sandbox.EgressUnspecified:
		l.Why = "states no egress_mode, and leaves it to the other policies"
	case o.Mode == sandbox.EgressUnrestricted:
		l.Why = "egress_mode is unrestricted"
	case o.Blocked != "":
		l.Why = "it is always refused when dialled, whatever the rules say: " + o.Blocked
	case o.Mode == sandbox.EgressClosed && stated == sandbox.EgressUnspecified:
		l.Why = "no egress_mode is stated, so it is closed"
	case o.Mode == sandbox.EgressClosed:
		l.Why = "egress_mode is closed"
	case l.Allows:
		l.Why = "admitted by its rules"
	default:
		l.Why, l.Hint = "none of its rules admits it", o.Hint
		if o.Rules == 1 {
			l.Why = "its one rule does not admit it"
		}
	}
	return l
}

func rulesOf(placed []policy.PlacedRule) []Rule {
	rules := make([]Rule, 0, len(placed))
	for _, p := range placed {
		rules = append(rules, Rule{Path: p.Path.String(), Rule: p.Rule.String()})
	}
	return rules
}
