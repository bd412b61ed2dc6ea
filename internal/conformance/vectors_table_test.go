package conformance_test

import (
	"slices"
	"strings"
)

// difference is a class of vectors that we answer otherwise on purpose. A vector
// may differ only by a line of the table, and each line must be needed.
type difference struct {
	class  string
	file   string
	covers func(v *vector, a answer) bool
	// reason is why, decided is where.
	reason, decided string
}

// waiting is a class of vectors whose code is not here yet.
type waiting struct {
	file string
	ops  []string // empty is all
	// covers, where it is set, picks vectors that differ; the others run.
	covers func(v *vector, a answer) bool
	reason string
	with   string
}

func (p *waiting) operations() string {
	switch {
	case p.covers != nil:
		return "(those that differ)"
	case len(p.ops) == 0:
		return "(all)"
	default:
		return strings.Join(p.ops, ", ")
	}
}

// differenceLine is the first line that covers a vector, or -1.
func differenceLine(v *vector, a answer) int {
	return slices.IndexFunc(differences, func(d difference) bool { return d.file == v.file && d.covers(v, a) })
}

// pendingLine is the line by which a vector is not run yet, or -1.
func pendingLine(v *vector) int {
	return slices.IndexFunc(pending, func(p waiting) bool {
		return p.file == v.file && p.covers == nil && (len(p.ops) == 0 || slices.Contains(p.ops, v.op))
	})
}

// pendingDifference is the line by which a vector may still differ, or -1.
func pendingDifference(v *vector, a answer) int {
	return slices.IndexFunc(pending, func(p waiting) bool {
		return p.file == v.file && p.covers != nil && p.covers(v, a)
	})
}

var pending = []waiting{
	{
		file: "policy", covers: policyDiffers(transportTransfers, dropLimits, limitsStep),
		reason: "what a program channel and host tools move themselves is added to the asked limits",
		with:   "sandbox/hosttool",
	},
	{
		file: "policy", covers: policyDiffers(looseHostTools, nil),
		reason: "a spec knows which identities host tools act under, and not yet that there are tools without one",
		with:   "sandbox/hosttool",
	},
	{file: "spec", ops: []string{"fold_transfer"}, reason: "what host tools move is added to the limits", with: "sandbox/hosttool"},
	{file: "spec", ops: []string{"weakest_integrity"}, reason: "the integrity of what a call read", with: "sandbox/tool"},
	{file: "spec", ops: []string{"echoed_name"}, reason: "what a refusal tells a model", with: "sandbox/tool"},
	{file: "spec", ops: []string{"router_reclaim_timeout"}, reason: "the bound of a clean-up", with: "sandbox/router"},
	{file: "spec", covers: ofType("HostToolDeclaration", "HostToolAggregate"), reason: "host tools", with: "sandbox/hosttool"},
	{file: "spec", covers: ofType("SourceChannel", "ListedFile", "CallerContext"), reason: "where a call's data comes from", with: "sandbox/tool"},
	{file: "spec", covers: ofType("ProgramRequirements"), reason: "bounds of a program", with: "sandbox/kind"},
	{file: "spec", covers: ofType("ReclaimConfig", "FailedReclaimPolicy", "ReclaimFailure"), reason: "clean-up after a call", with: "sandbox/router"},
	{file: "egress", ops: []string{"acas_policy"}, reason: "the rules that ACAS is sent", with: "sandbox/backend/acas"},
	{file: "paths", ops: []string{"tar"}, reason: "stat through a container archive", with: "sandbox/backend/docker"},
	{file: "paths", ops: []string{"run_layout"}, reason: "files of one host-tool run", with: "sandbox/hosttool"},
	{file: "registry", reason: "host tools", with: "sandbox/hosttool"},
	{file: "acas_names", ops: acasPending(), reason: "names, labels, images and disposal on ACAS", with: "sandbox/backend/acas"},
	{file: "docker_names", reason: "names and labels on Docker, required not to collide", with: "sandbox/backend/docker"},
}

// answers covers a pair of answers, whatever was asked.
func answers(ours, theirs string) func(*vector, answer) bool {
	return func(_ *vector, a answer) bool {
		return strings.HasPrefix(a.ours, ours) && strings.HasPrefix(a.theirs, theirs)
	}
}
