package policy

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// rollout compares the workloads of two postures. Each is compiled once.
type rollout struct {
	before, after  Posture
	earlier, later map[string]*CompiledSpec
	// pairs is how much may still be spent on looking for another workload that
	// could do as much.
	pairs int
}

// maxPairs bounds the search for workloads that could do as much as one that came
// or went, in pairs of small ones: less than a second. A workload for which the
// search was given up widened, or narrowed.
const maxPairs = 1 << 16

func newRollout(before, after Posture) *rollout {
	r := &rollout{
		before: before, after: after, pairs: maxPairs,
		earlier: make(map[string]*CompiledSpec, len(before.Workloads)), later: make(map[string]*CompiledSpec, len(after.Workloads)),
	}
	for name, ask := range before.Workloads {
		r.earlier[name], _ = CompileSpec(ask.Spec, sandbox.Known{})
	}
	for name, ask := range after.Workloads {
		r.later[name], _ = CompileSpec(ask.Spec, ask.Known)
	}
	return r
}

// afford pays for comparing two workloads, while there is something left.
func (r *rollout) afford(a, b *CompiledSpec) bool {
	const rulesOfSmall = 32
	r.pairs -= 1 + (len(a.egress.rules)+len(b.egress.rules))/rulesOfSmall
	return r.pairs >= 0
}

// workload compares the workloads of one name, of which at least one side has one.
func (r *rollout) workload(name string) SubjectChange {
	s := SubjectChange{
		Subject: WorkloadSubject(name), At: sandbox.Path(axisWorkloads, sandbox.MapKey(name)),
	}
	earlier, later := r.earlier[name], r.later[name]
	switch {
	case later == nil && !r.after.Known.Has(s.At):
		s.Undecided = []sandbox.FieldPath{nil}
	case later == nil:
		s.Presence, s.Comparison = Removed, r.removed(earlier)
	case earlier == nil:
		s.Presence, s.Comparison = Added, r.added(later)
	default:
		s.Comparison = compareWorkloads(earlier, later)
	}
	return s
}

// WorkloadSubject is how messages call a workload.
func WorkloadSubject(name string) string { return "workload " + sandbox.Echo(name) }

// added compares a new workload with whatever was admitted before.
func (r *rollout) added(later *CompiledSpec) Comparison {
	for _, name := range sortedKeys(r.earlier) {
		earlier := r.earlier[name]
		if !sameMachine(earlier, later) {
			continue
		}
		if !r.afford(earlier, later) {
			break
		}
		c := compareSpecs(earlier, later)
		if len(c.Widenings()) > 0 {
			continue
		}
		// Nothing that an earlier workload could not do, as far as is known.
		c.Undecided = append(c.Undecided, openMachine(later)...)
		c.Changes = []AxisChange{{
			Axis: axisWorkloads, Change: Replaced, Before: "none of that name",
			After: "one within what " + sandbox.Echo(name) + " could do",
		}}
		return c
	}
	// It is listed by what it asks for; what it demands takes nothing away.
	nothing, _ := CompileSpec(sandbox.Spec{
		Requires: &sandbox.CapabilitySet{}, MinimumIsolation: later.spec.MinimumIsolation,
		IsolationScope: later.spec.IsolationScope, MinimumCleanup: later.spec.MinimumCleanup,
		Egress: sandbox.Egress{Guarantees: later.spec.Egress.Guarantees},
	}, sandbox.Known{})
	c := compareSpecs(nothing, later)
	c.Changes = append([]AxisChange{{
		Axis: axisWorkloads, Change: Widened, Before: "none of that name", After: "a new one",
	}}, c.Widenings()...)
	c.Undecided = append(c.Undecided, openMachine(later)...)
	c.Unchanged = nil
	return c
}

// removed compares a workload that goes with whatever is admitted now.
func (r *rollout) removed(earlier *CompiledSpec) Comparison {
	open := !r.after.Known.Whole(at(axisWorkloads))
	for _, name := range sortedKeys(r.later) {
		later := r.later[name]
		switch {
		case !later.known.Everything():
			open = true
		case sameMachine(earlier, later) && r.afford(earlier, later) && len(compareSpecs(later, earlier).Widenings()) == 0:
			return Comparison{Changes: []AxisChange{{
				Axis: axisWorkloads, Change: Replaced, Before: "one within what " + sandbox.Echo(name) + " can do",
				After: "none of that name",
			}}}
		}
	}
	if open {
		return Comparison{Undecided: []sandbox.FieldPath{nil}}
	}
	return Comparison{Changes: []AxisChange{{
		Axis: axisWorkloads, Change: Narrowed, Before: "one of that name", After: "none of that name",
	}}}
}

// CompareWorkload compares a workload with its successor: what [CompareSpec]
// compares, and then what has no order. Another kind or backend is another machine
// with other abilities, so nothing says that it permits no more; another image,
// output, label or directory is within what the policies permit.
func CompareWorkload(earlier sandbox.Spec, later Ask) Comparison {
	b, _ := CompileSpec(earlier, sandbox.Known{})
	a, _ := CompileSpec(later.Spec, later.Known)
	return compareWorkloads(b, a)
}

func compareWorkloads(before, after *CompiledSpec) Comparison {
	c := compareSpecs(before, after)
	d := &differences{known: after.known, changes: c.Changes, undecided: c.Undecided, sides: c.reach}
	earlier, next := before.spec, after.spec
	d.other("kind", Incomparable, earlier.Kind, next.Kind)
	d.other("backend", Incomparable, earlier.Backend, next.Backend)
	d.other("image", Replaced, imageText(earlier.Image), imageText(next.Image))
	d.other("os_family", Replaced, textOf(earlier.OSFamily), textOf(next.OSFamily))
	d.other("program_profile", Replaced, earlier.ProgramProfile, next.ProgramProfile)
	d.other("work_dir", Replaced, workDir(earlier), workDir(next))
	d.other("outputs", Replaced, outputsText(earlier.Outputs), outputsText(next.Outputs))
	d.other("labels", Replaced, labelsText(earlier.Labels), labelsText(next.Labels))
	return d.comparison(specAreas)
}

// other notes a difference of what has no order.
func (d *differences) other(axis string, change Change, before, after string) {
	if !d.open(axis) && before != after {
		d.add(axis, change, orNone(before), orNone(after), "")
	}
}

// sameMachine reports whether two workloads are of one kind on one backend, as
// far as is known.
func sameMachine(earlier, later *CompiledSpec) bool {
	return (earlier.spec.Kind == later.spec.Kind || !later.known.Has(at("kind"))) &&
		(earlier.spec.Backend == later.spec.Backend || !later.known.Has(at("backend")))
}

func openMachine(later *CompiledSpec) []sandbox.FieldPath {
	var open []sandbox.FieldPath
	for _, path := range []sandbox.FieldPath{at("kind"), at("backend")} {
		if !later.known.Has(path) {
			open = append(open, path)
		}
	}
	return open
}

func textOf[T word](w T) string {
	if w == 0 {
		return ""
	}
	return w.String()
}

func workDir(s sandbox.Spec) string {
	if s.WorkDir == "" {
		return sandbox.DefaultWorkDir
	}
	return s.WorkDir
}

// imageText names an image with everything that is said of it.
func imageText(i sandbox.Image) string {
	text := i.Prebuilt + i.Reference
	if i.Digest != "" {
		text += "@" + i.Digest
	}
	for _, part := range []struct{ says, value string }{{"user ", i.User}, {"platform ", i.Platform}} {
		if part.value != "" {
			text += ", " + part.says + part.value
		}
	}
	return strings.TrimPrefix(text, ", ")
}

func outputsText(outputs map[string]sandbox.Output) string {
	var parts []string
	for _, name := range sortedKeys(outputs) {
		o := outputs[name]
		text := name + " from " + o.Path
		if o.Name != "" && o.Name != o.Path {
			text += " as " + o.Name
		}
		if o.MediaType != "" {
			text += " of type " + o.MediaType
		}
		if o.Optional {
			text += ", optional"
		}
		if o.Disposition > sandbox.DispositionLand {
			text += ", " + o.Disposition.String()
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func labelsText(labels map[string]string) string {
	var parts []string
	for _, key := range sortedKeys(labels) {
		parts = append(parts, key+"="+labels[key])
	}
	return strings.Join(parts, ", ")
}
