package conformance_test

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

// refusedWhere covers a path that we refuse and the reference takes.
func refusedWhere(op string, is func(*pathIn) bool) func(*vector, answer) bool {
	covers := pathWhere(op, is)
	return func(v *vector, a answer) bool { return a.refusal != nil && a.theirs != "refused" && covers(v, a) }
}

// pathWhere covers a path of one operation that is of a kind.
func pathWhere(op string, is func(*pathIn) bool) func(*vector, answer) bool {
	return func(v *vector, _ answer) bool {
		var in pathIn
		return v.op == op && v.in(&in) == nil && is(&in)
	}
}

func relativeBase(in *pathIn) bool { return !strings.HasPrefix(string(in.WorkingDirectory), "/") }

func controlCharacter(in *pathIn) bool {
	return strings.ContainsFunc(string(in.Path), unicode.IsControl) && utf8.ValidString(string(in.Path))
}

func notUTF8(in *pathIn) bool { return !utf8.ValidString(string(in.Path)) }

// longName: a component that no Linux file system takes.
func longName(in *pathIn) bool {
	return slices.ContainsFunc(strings.Split(string(in.Path), "/"), func(c string) bool { return len(c) > guestpath.MaxSegment })
}

// twoSlashes: two leading slashes, which POSIX leaves to the system.
func twoSlashes(in *pathIn) bool {
	return strings.HasPrefix(string(in.Path), "//") || strings.HasPrefix(string(in.WorkingDirectory), "//")
}

// elsewhere: an absolute working directory that is not below the base, or one
// spelt in a way that the grammar has not.
func elsewhere(in *pathIn) bool {
	dir, base := string(in.WorkingDirectory), path.Clean(string(in.Base))
	below := base == "/" || dir == base || strings.HasPrefix(path.Clean(dir), base+"/")
	return strings.HasPrefix(dir, "/") && (!below || strings.Contains(dir, `\`) || strings.HasPrefix(dir, "//"))
}

// unclean: a work directory in another spelling than its own.
func unclean(in *pathIn) bool {
	return strings.HasPrefix(string(in.WorkDir), "/") && path.Clean(string(in.WorkDir)) != string(in.WorkDir)
}

func relativeRoot(in *pathIn) bool { return !strings.HasPrefix(string(in.Base), "/") }

// namesWhere covers a set of names that has one of a kind.
func namesWhere(is func(string) bool) func(*vector, answer) bool {
	return func(v *vector, _ answer) bool {
		var in nameIn
		return v.op == "set" && v.in(&in) == nil && slices.ContainsFunc(in.Outputs, func(o outputIn) bool {
			return is(string(o.Path)) || o.Name != nil && is(string(*o.Name))
		})
	}
}

// portableWhere covers a name that is made portable in another way.
func portableWhere(is func(string) bool) func(*vector, answer) bool {
	return func(v *vector, _ answer) bool {
		var in nameIn
		return v.op == "portable" && v.in(&in) == nil && is(string(in.Name))
	}
}

// decomposesInLowerCase: the lower case is written in more characters than the
// normal form of it.
func decomposesInLowerCase(name string) bool {
	lower := strings.ToLower(name)
	return guestpath.NormalizeArtifactName(lower) != lower
}

var devices = []string{"con", "prn", "aux", "nul", "conin$", "conout$"}

func isDevice(name string) bool {
	if len(name) == 4 && (strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt")) {
		return true
	}
	return slices.Contains(devices, name)
}

// spacedDevice: a device's name, white space, and an extension.
func spacedDevice(name string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(name), "/"), func(segment string) bool {
		stem, _, dotted := strings.Cut(segment, ".")
		return dotted && strings.HasSuffix(stem, " ") && isDevice(strings.TrimRight(stem, " "))
	})
}

func hasBackslash(name string) bool { return strings.Contains(name, `\`) }

// console: the console's own devices.
func console(name string) bool {
	lower := strings.ToLower(name)
	return strings.Contains(lower, "conin$") || strings.Contains(lower, "conout$")
}
