package guestpath

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// OutputAt is an output and where it was declared.
type OutputAt struct {
	At sandbox.FieldPath
	sandbox.Output
}

// CheckOutputs judges outputs in their order, whoever named them, as a plan and as
// a collection do: each names one literal path below the work directory, each that
// lands does so under an acceptable name, and no two land under one name. All
// findings come back, each at or below where its output was declared. deliver is the
// spelling under which a sink lands a name: [NormalizeArtifactName], that with
// [PortableName], or nil for one that keeps names as they are. An empty workDir is the default one.
func CheckOutputs(workDir string, outputs []OutputAt, deliver func(string) string) []sandbox.Finding {
	if workDir == "" {
		workDir = sandbox.DefaultWorkDir
	}
	if deliver == nil {
		deliver = func(name string) string { return name }
	}
	var findings []sandbox.Finding
	landing := map[string]OutputAt{}
	for _, o := range outputs {
		if finding, bad := checkOutputPath(workDir, o); bad {
			findings = append(findings, finding)
			continue
		}
		if !o.Lands() {
			continue
		}
		name := deliver(o.LandingName())
		if name != o.Path {
			if refusal := sandbox.RefusalOf(ValidateArtifactName(name)); refusal != nil {
				findings = append(findings, at(refusal.Finding, o, nameField(o)))
				continue
			}
		}
		key := CollisionKey(name)
		if first, taken := landing[key]; taken {
			findings = append(findings, collision(o, first, deliver))
			continue
		}
		landing[key] = o
	}
	return findings
}

// checkOutputPath holds the path to the rules of names, which keep it literal and
// relative, and to those of guest paths, under which it is read.
func checkOutputPath(workDir string, o OutputAt) (sandbox.Finding, bool) {
	if refusal := sandbox.RefusalOf(ValidateArtifactName(o.Path)); refusal != nil {
		return at(refusal.Finding, o, "path"), true
	}
	if refusal := sandbox.RefusalOf(second(ResolveBelow(workDir, o.Path))); refusal != nil {
		finding := at(refusal.Finding, o, "path")
		finding.Code = sandbox.CodeOutputInvalid
		return finding, true
	}
	return sandbox.Finding{}, false
}

func second(_ string, err error) error { return err }

func at(finding sandbox.Finding, o OutputAt, field string) sandbox.Finding {
	finding.Path = o.At.Append(sandbox.Attr(field))
	return finding
}

// nameField is the attribute that gives an output its landing name.
func nameField(o OutputAt) string {
	if o.Name != "" {
		return "name"
	}
	return "path"
}

func collision(o, first OutputAt, deliver func(string) string) sandbox.Finding {
	name, other := deliver(o.LandingName()), deliver(first.LandingName())
	found := sandbox.Echo(name) + ", also the name of " + first.At.String()
	if name != other {
		found = sandbox.Echo(name) + ", which differs from " + sandbox.Echo(other) + " of " + first.At.String() +
			" by case, Unicode form or dot segments only"
	}
	return sandbox.Finding{
		Code: sandbox.CodeArtifactNameCollision, Path: o.At,
		Found: found, Required: "names that stay apart on every file system", Remedy: "set another name on one of the two",
	}
}
