package conformance_test

import (
	"errors"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

func pathSubjects() map[string]subject {
	walks := pathSubject(judgeWalk)
	return map[string]subject{
		"confine": pathSubject(func(in *pathIn, out *pathOut) (answer, error) {
			path, err := guestpath.Resolve(string(in.WorkingDirectory), string(in.Path))
			return pathAnswer(path, err, out), nil
		}),
		"resolve_working_directory": pathSubject(func(in *pathIn, out *pathOut) (answer, error) {
			path, err := guestpath.WorkDir(string(in.Base), string(in.WorkingDirectory))
			return pathAnswer(path, err, out), nil
		}),
		"relative_to": pathSubject(func(in *pathIn, out *pathOut) (answer, error) {
			var ours *text
			if relative, within := guestpath.Relative(string(in.Path), string(in.Base)); within {
				ours = new(text(relative))
			}
			return answer{ours: quoted(ours), theirs: quoted(out.Relative)}, nil
		}),
		"chain": pathSubject(func(in *pathIn, out *pathOut) (answer, error) {
			chain := guestpath.Ancestors(string(in.WorkingDirectory), string(in.Path))
			return answer{ours: asText(append([]string{}, chain...)), theirs: asText(out.Chain)}, nil
		}),
		"work_dir_ancestors": pathSubject(func(in *pathIn, out *pathOut) (answer, error) {
			if err := guestpath.ValidateBase(string(in.WorkDir)); err != nil {
				return answer{ours: "refused", theirs: refusedOr(out, asText(out.Directories)), refusal: sandboxFinding(err)}, nil
			}
			chain := guestpath.Ancestors(string(in.WorkDir), string(in.WorkDir))
			return answer{ours: asText(append([]string{}, chain...)), theirs: refusedOr(out, asText(out.Directories))}, nil
		}),
		"host_owned": judgeAbsent,
		"walk":       walks, "write": walks, "read": walks, "list": walks, "delete": walks,
	}
}

type pathIn struct {
	Op               string
	Path             text
	WorkingDirectory text `json:"working_directory"`
	Base             text
	WorkDir          text `json:"work_dir"`
	Entries          map[string]string
	IncludeSelf      bool `json:"include_self"`
}

type pathOut struct {
	refusal
	Path        *text
	Relative    *text
	Chain       []string
	Directories []string
	Stats       []string
}

func pathSubject(judge func(*pathIn, *pathOut) (answer, error)) subject {
	return func(v *vector) (answer, error) {
		var in pathIn
		var out pathOut
		if err := v.in(&in); err != nil {
			return answer{}, err
		}
		if err := v.out(&out); err != nil {
			return answer{}, err
		}
		return judge(&in, &out)
	}
}

func refusedOr(out *pathOut, ok string) string {
	if out.Error != "" {
		return "refused"
	}
	return ok
}

// quoted shows every byte, valid text or not.
func quoted(path *text) string {
	if path == nil {
		return "outside"
	}
	return strconv.QuoteToASCII(string(*path))
}

func sandboxFinding(err error) *sandbox.Finding {
	if r := sandbox.RefusalOf(err); r != nil {
		return &r.Finding
	}
	return nil
}

func pathAnswer(path string, err error, out *pathOut) answer {
	theirs := refusedOr(out, quoted(out.Path))
	switch {
	case errors.Is(err, sandbox.ErrValue):
		return answer{ours: "refused", theirs: theirs, refusal: sandboxFinding(err)}
	case err != nil:
		return answer{ours: err.Error(), theirs: theirs}
	}
	return answer{ours: strconv.QuoteToASCII(path), theirs: theirs}
}

// judgeWalk replays the reference's walk over a scripted guest. Which directories
// it asks about, in which order, is what Ancestors promises. What stands at the
// leaf is judged by the layer that has an engine.
func judgeWalk(in *pathIn, out *pathOut) (answer, error) {
	base, target := string(in.WorkingDirectory), string(in.Path)
	stats, theirs := []string{}, asText(out.Stats)
	if in.Op != "walk" {
		resolve := guestpath.Resolve
		if in.Op == "write" || in.Op == "delete" {
			resolve = guestpath.ResolveBelow
		}
		resolved, err := resolve(base, target)
		if err != nil {
			return answer{ours: asText(stats), theirs: theirs, refusal: sandboxFinding(err)}, nil
		}
		target = resolved
	}
	asked := guestpath.Ancestors(base, target)
	if !in.IncludeSelf && in.Op != "list" {
		if target == guestpath.Clean(base) {
			// The parent of base lies above it, and base is walked regardless.
			asked = guestpath.Ancestors(base, base)
		} else {
			asked = asked[:len(asked)-1]
		}
	}
	for _, dir := range asked {
		stats = append(stats, dir)
		kind, exists := in.Entries[dir]
		if !exists {
			break // nothing below what is absent can be a link
		}
		if kind != "directory" {
			return answer{ours: asText(stats), theirs: theirs}, nil
		}
	}
	if in.Op == "write" {
		stats = append(stats, target)
	}
	return answer{ours: asText(stats), theirs: theirs}, nil
}

func nameSubjects() map[string]subject {
	return map[string]subject{"validate": judgeName, "portable": judgePortable, "set": judgeNames, "fs_sink": judgeLanding}
}

type nameIn struct {
	Name          text
	Normalization string
	Outputs       []outputIn
}

func judgeName(v *vector) (answer, error) {
	var in nameIn
	var out struct{ Rule string }
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	err := v.out(&out)
	return answer{ours: ruleOf(guestpath.ValidateArtifactName(string(in.Name))), theirs: out.Rule}, err
}

func judgePortable(v *vector) (answer, error) {
	var in nameIn
	var out struct{ Name, Again text }
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	once := guestpath.PortableName(string(in.Name))
	ours := []string{once, guestpath.PortableName(once)}
	return answer{ours: asText(ours), theirs: asText([]text{out.Name, out.Again})}, nil
}

// named is what became of the names of a set of outputs.
type named struct {
	Rule      string
	Collision bool
	Identical bool
	Delivered []text
}

// judgeNames names outputs as a collection does: each path and each delivered
// name is validated, then names that land are compared.
func judgeNames(v *vector) (answer, error) {
	var in nameIn
	var out struct {
		refusal
		Rule      string
		Identical *bool
		Delivered []text
	}
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	theirs := named{Rule: out.Rule, Delivered: out.Delivered}
	if out.Error == "SandboxArtifactNameCollision" {
		theirs.Collision, theirs.Identical = true, out.Identical != nil && *out.Identical
	}
	ours := nameSet(&in)
	return answer{ours: asText(ours), theirs: asText(theirs)}, nil
}

func nameSet(in *nameIn) named {
	ours := named{Delivered: []text{}}
	taken := map[string]string{}
	for _, o := range in.Outputs {
		if err := guestpath.ValidateArtifactName(string(o.Path)); err != nil {
			return named{Rule: ruleOf(err)}
		}
		if o.Disposition == "consume" {
			continue
		}
		name := string(o.Path)
		if o.Name != nil {
			name = string(*o.Name)
		}
		if in.Normalization != "none" {
			name = guestpath.NormalizeArtifactName(name)
		}
		if err := guestpath.ValidateArtifactName(name); err != nil {
			return named{Rule: ruleOf(err)}
		}
		key := guestpath.CollisionKey(name)
		if first, clash := taken[key]; clash {
			return named{Collision: true, Identical: first == name}
		}
		taken[key] = name
		ours.Delivered = append(ours.Delivered, text(name))
	}
	return ours
}

// artifactRules are the reference's names for the rules of an artifact name, by
// what ours requires.
var artifactRules = map[string]string{
	"a name": "empty", "segments separated by /": "backslash", "a relative name": "absolute",
	"no .. segment": "traversal", "a name between any two slashes and at the end": "segment",
	"no control characters": "control", "UTF-8": "utf8",
	"at most 255 bytes of UTF-8, slashes included": "length",
}

func ruleOf(err error) string {
	f := sandboxFinding(err)
	if f == nil {
		return ""
	}
	if rule, known := artifactRules[f.Required]; known {
		return rule
	}
	return f.Required
}
