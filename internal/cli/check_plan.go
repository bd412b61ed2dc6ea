package cli

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hclsource"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/planjson"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// checkPlan judges what a plan would leave behind: each manifest, which is the
// gate, and each workload that no manifest took up.
func checkPlan(plan planjson.Plan, book factbook) *report {
	r := &report{Policies: plan.Policies}
	r.Problems = planProblems(plan)
	gate := &taken{}
	for _, m := range plan.Manifests {
		r.manifest(m, book, len(plan.Manifests) > 1, gate)
	}
	for _, w := range plan.Workloads {
		if gate.has(w) {
			continue
		}
		r.alone(w)
		d := r.decide(w, policy.NewJudge(layerOf(w.Policy)), book)
		if d.Verdict == sandbox.Allow && !w.Decided {
			d = waiting(d, sandbox.Path("verdict"), "verdict", "what the provider decides, whose policy file is not in the plan")
		}
		r.add(label(w.Address), w.Address, w.Spec.Backend, d)
	}
	if len(r.Workloads) == 0 && len(r.Problems) == 0 {
		r.Problems = append(r.Problems, "the plan leaves no workload behind, so nothing was judged")
	}
	r.Facts = sortFacts(r.Facts)
	return r
}

// droppedIn are the names that stand in the plan's configuration and that Terraform has
// dropped from what it planned.
func droppedIn(plan planjson.Plan) []item {
	var dropped []item
	for _, w := range plan.Written {
		for _, f := range hclsource.DroppedFrom(w.Kind, w.Objects) {
			dropped = append(dropped, itemOf(f).about(label(w.Address), w.Address))
		}
	}
	return dropped
}

// planProblems say why a plan is no ground for an answer.
func planProblems(plan planjson.Plan) []string {
	switch {
	case plan.Errored:
		return []string{"planning failed, and a failed plan lacks exactly what was refused. " +
			"Read the errors of terraform plan, or check the directory instead of the plan."}
	case plan.Incomplete && len(plan.Deferred) == 0:
		return []string{"the plan covers only a part of the configuration, as under -target. Plan all of it."}
	case len(plan.Deferred) > 0:
		return []string{"the plan puts off " + strings.Join(plan.Deferred, ", ") + ". Check the plan that brings them."}
	default:
		return nil
	}
}

// manifest judges one manifest of a plan. Its document, once known, is the whole
// truth; until then its attributes are judged, and the best answer is undecided,
// because the document may hold a policy that stands nowhere in the plan.
func (r *report) manifest(m planjson.Manifest, book factbook, several bool, gate *taken) {
	name := func(workload string) string {
		if several {
			return label(m.Address) + "." + workload
		}
		return workload
	}
	if m.Document != nil {
		parsed, err := manifest.Parse(m.Document)
		if err != nil {
			for _, f := range sandbox.FindingsAt(err, sandbox.Path("document")) {
				r.Findings = append(r.Findings, itemOf(f).about(label(m.Address), m.Address))
			}
			return
		}
		r.candidates = append(r.candidates, candidateOf(parsed, m.Document, label(m.Address), m.Address))
		judge := policy.NewJudge(parsed.Layers()...)
		for _, workload := range parsed.WorkloadNames() {
			spec := parsed.Workloads[workload]
			w := planjson.Workload{Spec: spec, Facts: m.Workloads[workload].Facts, FactsKnown: true}
			gate.take(w)
			r.add(name(workload), router.Subject(workload), spec.Backend, r.decide(w, judge, book))
		}
		return
	}
	r.candidates = append(r.candidates, planned(m, label(m.Address)))
	judge := policy.NewJudge(layerOf(&m.Policy))
	for _, workload := range slices.Sorted(maps.Keys(m.Workloads)) {
		w := m.Workloads[workload]
		d := r.decide(w, judge, book)
		if d.Verdict == sandbox.Allow {
			d = waiting(d, sandbox.Path("document"), "the manifest's document", "what is in force")
		}
		gate.take(w)
		r.add(name(workload), router.Subject(workload), w.Spec.Backend, d)
	}
	if !m.WorkloadsKnown {
		r.Problems = append(r.Problems, "the workloads of "+m.Address+" are not all known yet. Apply, and check the manifest.")
	}
}

// decide judges one workload under the policies that are known to hold.
func (r *report) decide(w planjson.Workload, judge *policy.Judge, book factbook) sandbox.Decision {
	read := w.Findings
	if w.Policy != nil {
		read = slices.Concat(read, w.Policy.Findings)
	}
	return judge.Case(policy.Ask{Spec: w.Spec, Known: w.Known}, read...).Decide(func() (*policy.CompiledDeclarations, []sandbox.Finding) {
		if !w.Known.Has(sandbox.Path("backend")) || !w.FactsKnown {
			return nil, waiting(sandbox.Decision{}, sandbox.Path("backend"), "the backend or its facts", "everything").Findings
		}
		d, source, err := book.lookup(w.Spec.Backend, w.Facts)
		if err != nil {
			at := sandbox.Path("backend")
			if w.Facts != "" {
				at = sandbox.Path("backend_facts")
			}
			return nil, sandbox.FindingsAt(err, at)
		}
		r.Facts = append(r.Facts, factsRow{w.Spec.Backend, source})
		backend, unsound := policy.CompileDeclarations(d)
		return backend.Beside(book.known), unsound
	})
}

// waiting turns an allow into undecided, and says for what.
func waiting(d sandbox.Decision, at sandbox.FieldPath, unknown, decides string) sandbox.Decision {
	return sandbox.Decide(append(slices.Clone(d.Findings), sandbox.Finding{
		Verdict: sandbox.Undecided, Code: sandbox.CodeUndecided, Path: at,
		Found: unknown + " is not known yet", Required: "a known value, which decides " + decides,
		Remedy: "apply, and check the manifest",
	}))
}

func layerOf(p *planjson.Policy) policy.Layer {
	if p == nil {
		return policy.Layer{Source: "no policy"}
	}
	return policy.Layer{Source: manifest.PolicySource(p.Policy), Policy: p.Policy, Known: p.Known}
}

// taken are the workloads that manifests took up: the manifest answers for them.
type taken struct {
	digests map[manifest.Digest]bool
	open    []planjson.Workload
}

func (t *taken) take(w planjson.Workload) {
	if digest, ok := specDigest(w); ok {
		if t.digests == nil {
			t.digests = map[manifest.Digest]bool{}
		}
		t.digests[digest] = true
		return
	}
	t.open = append(t.open, w)
}

func (t *taken) has(w planjson.Workload) bool {
	if digest, ok := specDigest(w); ok {
		return t.digests[digest]
	}
	return slices.ContainsFunc(t.open, func(o planjson.Workload) bool {
		return o.Facts == w.Facts && reflect.DeepEqual(o.Spec, w.Spec) && reflect.DeepEqual(o.Known.Paths(), w.Known.Paths())
	})
}

// specDigest tells workloads apart; one that is not wholly known has none.
func specDigest(w planjson.Workload) (manifest.Digest, bool) {
	if !w.Known.Everything() {
		return "", false
	}
	b, err := manifest.EncodeWorkload(w.Spec)
	if err != nil {
		return "", false
	}
	return manifest.DigestOf(b), true
}

// label is an address without the words that every one of them has:
// module.a.sandbox_workload.b["c"] is module.a.b["c"].
func label(address string) string {
	for _, kind := range []string{"sandbox_workload.", "sandbox_policy.", "sandbox_manifest."} {
		if rest, ok := strings.CutPrefix(address, kind); ok {
			return rest
		}
		if at := strings.Index(address, "."+kind); at >= 0 {
			return address[:at+1] + address[at+1+len(kind):]
		}
	}
	return address
}

func isWorkload(address string) bool {
	return strings.HasPrefix(address, "sandbox_workload.") || strings.Contains(address, ".sandbox_workload.")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
