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
	// Event is what a proxy decided of it, where an event is explained.
	Event *Event `json:"event,omitempty"`
	// Allowed reports whether some workload that was asked about may make it.
	Allowed   bool             `json:"allowed"`
	Workloads []WorkloadAnswer `json:"workloads"`

	// unnamed is what of an observed request no rule can name.
	unnamed string
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
	// Afterwards is what would refuse the workload however its rules and those of the
	// policies were edited. There are no edits then.
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
	// Observed: a guest made the request. No edit is then offered where no rule can
	// name what it asked for, since it chose how to ask.
	Observed bool
	// Workload is the one workload to answer for; empty is all.
	Workload string
	// Backends are the declarations by which the workloads are judged as a router
	// would. Nil judges none of them: then only the rules count.
	Backends []sandbox.Declarations
	// Advise, where there is one, gives a finding the remedy that the asker can take.
	Advise Advice
}

// Advice gives a finding a remedy that fits where it is read.
type Advice func(sandbox.Finding) sandbox.Finding

// Reason is why a workload is denied, in one line: the place and what was found. Where
// no edit of rules mends it, what does is said too.
func (a Advice) Reason(f sandbox.Finding) string {
	text := f.Locator() + ": " + f.Found
	if _, ok := policy.IsReliedOn(f); !ok {
		return text
	}
	if a != nil {
		f = a(f)
	}
	return text + ", on which the plan relied; " + f.Remedy
}

// Why answers for one workload of a manifest, or for each. The manifest was parsed,
// so that all of it is well formed. A workload that it does not have is
// [sandbox.CodeWorkloadUnknown].
func Why(m manifest.Manifest, q Question) (Answer, error) {
	names := m.WorkloadNames()
	if q.Workload != "" {
		if err := HasWorkload(m, q.Workload); err != nil {
			return Answer{}, err
		}
		names = []string{q.Workload}
	}
	w := asking{Question: q, manifest: m, judge: policy.NewJudge(m.Layers()...), edited: make(map[int]*policy.Judge)}
	w.edited[asTheyWere] = w.judge
	w.backends = w.judge.CompileBackends(q.Backends, m.Guarantees)
	policies := w.judge.Policy().Opinions(q.Request)
	if q.Observed {
		w.unnamed = egress.AdditionFor(q.Request).Unnamed
	}
	answer := Answer{Request: requestText(q.Request), unnamed: w.unnamed, Workloads: make([]WorkloadAnswer, 0, len(names))}
	for _, name := range names {
		one := w.answer(name, policies)
		answer.Allowed = answer.Allowed || one.Allowed
		answer.Workloads = append(answer.Workloads, one)
	}
	return answer, nil
}

// asking is a question about a manifest, with what was compiled for it.
type asking struct {
	Question
	manifest manifest.Manifest
	judge    *policy.Judge
	backends policy.Backends
	unnamed  string // see Answer
	// edited are the judges under edited policies, by the number of the edit.
	edited map[int]*policy.Judge
}

// answer answers for one workload.
func (q *asking) answer(name string, policies []policy.Opinion) WorkloadAnswer {
	asks := q.judge.Case(policy.Ask{Spec: q.manifest.Workloads[name]})
	own := asks.Spec().Opinion(q.Request)
	own.Source = policy.WorkloadSubject(name)
	opinions := append(slices.Clone(policies), own)
	layers := q.manifest.Layers()
	w := WorkloadAnswer{Workload: name, Allowed: true}
	for i, o := range opinions {
		mode := q.manifest.Workloads[name].Egress.Mode
		if i < len(layers) {
			mode = layers[i].Policy.Egress.Mode
		}
		w.Layers = append(w.Layers, layerOf(o, mode))
		w.Allowed = w.Allowed && o.Verdict == sandbox.Allow
	}
	w.Refused = q.reasons(asks)
	switch {
	case w.Allowed && len(w.Refused) > 0:
		w.Allowed = false // and no edit of rules helps
	case w.Allowed:
		_, w.Edits = refuse(q.manifest, name, own)
	case !blocked(opinions) && q.unnamed == "":
		q.allow(&w, opinions)
	}
	return w
}

const (
	// maxTurns is how many ways to admit a request are tried.
	maxTurns = 16
	// fewTurns is how many where policies are so large that trying one takes long.
	fewTurns, largePolicy = 2, 10_000
)

// allow finds the smallest edit after which the workload is admitted and may make
// the request: each is made and judged before it is proposed. Where the workload is
// refused anyway, the smallest that lets its rules admit the request is proposed;
// where every edit gets it refused, none is, and Afterwards says why.
func (q *asking) allow(w *WorkloadAnswer, opinions []policy.Opinion) {
	left := maxTurns
	if slices.ContainsFunc(opinions, func(o policy.Opinion) bool { return o.Rules > largePolicy }) {
		left = fewTurns
	}
	var smallest *turn
	for t := range turns(q.manifest, w.Workload, q.Request, opinions) {
		if left--; left < 0 {
			break
		}
		judge := q.edited[t.policies]
		if judge == nil {
			judge = policy.NewJudge(t.manifest.Layers()...)
			q.edited[t.policies] = judge
		}
		asks := judge.Case(policy.Ask{Spec: t.manifest.Workloads[w.Workload]})
		after := q.reasons(asks)
		if asks.Admits(q.Request) != sandbox.Allow {
			if len(w.Afterwards) == 0 {
				w.Afterwards = after // such as one rule too many
			}
			continue
		}
		if len(after) == 0 {
			w.Edits, w.Afterwards = t.edits, nil
			return
		}
		if smallest == nil {
			smallest, w.Afterwards = &t, after
		}
	}
	if smallest != nil && len(w.Refused) > 0 {
		w.Edits, w.Afterwards = smallest.edits, nil
	}
}

// reasons are the findings that deny a workload on its backend, each as its place
// and what was found.
func (q *asking) reasons(asks policy.Case) []string {
	findings := asks.Findings()
	if q.Backends != nil {
		findings = asks.Decide(q.backends.Of(asks.Spec().Spec().Backend)).Findings
	}
	var texts []string
	for _, f := range findings {
		if f.Verdict != sandbox.Allow {
			texts = append(texts, q.Advise.Reason(f))
		}
	}
	return texts
}

// HasWorkload refuses a workload that a manifest does not have, and names those that
// it has.
func HasWorkload(m manifest.Manifest, name string) error {
	if _, ok := m.Workloads[name]; ok {
		return nil
	}
	return sandbox.Finding{
		Code: sandbox.CodeWorkloadUnknown, Subject: "manifest", Found: "no workload " + sandbox.Echo(name),
		Required: "one of " + quoted(m.WorkloadNames()), Remedy: "name a workload of the manifest",
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
