package policy

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// compareWorkload compares the workloads of one name, of which at least one side
// has one.
func compareWorkload(name string, before, after Posture) SubjectChange {
	s := SubjectChange{
		Subject: "workload " + sandbox.Echo(name), At: sandbox.Path(axisWorkloads, sandbox.MapKey(name)),
	}
	earlier, was := before.Workloads[name]
	later, is := after.Workloads[name]
	switch {
	case !is && !after.Known.Has(s.At):
		s.Undecided = []sandbox.FieldPath{nil}
	case !is:
		s.Presence, s.Comparison = Removed, removedWorkload(earlier.Spec, after)
	case !was:
		s.Presence, s.Comparison = Added, addedWorkload(later, before)
	default:
		s.Comparison = CompareWorkload(earlier.Spec, later)
	}
	return s
}

// addedWorkload compares a new workload with whatever was admitted before.
func addedWorkload(later Ask, before Posture) Comparison {
	for _, name := range sortedKeys(before.Workloads) {
		earlier := before.Workloads[name].Spec
		c := CompareSpec(earlier, later.Spec, later.Known)
		if !sameMachine(earlier, later) || len(c.Widenings()) > 0 {
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
	nothing := sandbox.Spec{
		Requires: &sandbox.CapabilitySet{}, MinimumIsolation: later.Spec.MinimumIsolation,
		IsolationScope: later.Spec.IsolationScope, MinimumCleanup: later.Spec.MinimumCleanup,
		Egress: sandbox.Egress{Guarantees: later.Spec.Egress.Guarantees},
	}
	c := CompareSpec(nothing, later.Spec, later.Known)
	c.Changes = append([]AxisChange{{
		Axis: axisWorkloads, Change: Widened, Before: "none of that name", After: "a new one",
	}}, c.Widenings()...)
	c.Undecided = append(c.Undecided, openMachine(later)...)
	c.Unchanged = nil
	return c
}

// removedWorkload compares a workload that goes with whatever is admitted now.
func removedWorkload(earlier sandbox.Spec, after Posture) Comparison {
	open := !after.Known.Whole(at(axisWorkloads))
	for _, name := range sortedKeys(after.Workloads) {
		later := after.Workloads[name]
		switch {
		case !later.Known.Everything():
			open = true
		case sameMachine(earlier, later) && len(CompareSpec(later.Spec, earlier, sandbox.Known{}).Widenings()) == 0:
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
	c := CompareSpec(earlier, later.Spec, later.Known)
	d := &differences{known: later.Known, changes: c.Changes, undecided: c.Undecided}
	next := later.Spec
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
func sameMachine(earlier sandbox.Spec, later Ask) bool {
	return (earlier.Kind == later.Spec.Kind || !later.Known.Has(at("kind"))) &&
		(earlier.Backend == later.Spec.Backend || !later.Known.Has(at("backend")))
}

func openMachine(later Ask) []sandbox.FieldPath {
	var open []sandbox.FieldPath
	for _, path := range []sandbox.FieldPath{at("kind"), at("backend")} {
		if !later.Known.Has(path) {
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
