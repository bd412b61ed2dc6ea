// Package guestpath is the one place that decides what a path inside a guest
// means and whether it stays where it belongs, and what an output may be called
// where it lands. Read [Resolve] first, then [Ancestors] and
// [ValidateArtifactName].
//
// It works on text alone: it touches no file system, follows no link and knows
// no guest. What a path is made of inside a guest, links above all, is checked by
// whoever walks [Ancestors] there. Paths are POSIX whatever the host or the guest
// runs, and a name is compared byte for byte: nothing is decoded, folded or
// normalised, so %2e%2e and a full-width solidus are ordinary characters.
package guestpath

import (
	stdpath "path"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Resolve joins path to the absolute directory base, normalises the result and
// answers it when it is base or lies below base. An absolute path replaces the
// join, as in POSIX, and must lie there too. "" and "." are base itself. Dot
// segments may leave base as long as the whole comes back: what counts is the
// place that is named.
//
// The answer is absolute, clean and at most [MaxPath] bytes long, and resolving
// it again changes nothing. The error is a [*sandbox.Refusal]:
// [sandbox.CodePathInvalid] for text that is no guest path (of base too),
// [sandbox.CodePathOutside] for a place that is not base and not below it.
func Resolve(base, path string) (string, error) {
	return resolve(base, "path", path)
}

// ResolveBelow is [Resolve] for operations that must not name base itself, such
// as writing and removing: base is refused with [sandbox.CodePathOutside].
func ResolveBelow(base, path string) (string, error) {
	resolved, err := resolve(base, "path", path)
	if err != nil {
		return "", err
	}
	if resolved == Clean(base) {
		return "", sandbox.Finding{
			Code:     sandbox.CodePathOutside,
			Found:    "path " + sandbox.Echo(path) + " that names the directory itself",
			Required: "a path below " + sandbox.Echo(resolved),
			Remedy:   "name a file or directory inside it",
		}.Refusal(nil)
	}
	return resolved, nil
}

// WorkDir resolves the working directory of a call against base, the directory
// that holds the sandbox's files. "" and "." are base; a relative directory is
// joined to it; an absolute one is taken as it is. All of them must be base or
// lie below it. Errors are those of [Resolve].
func WorkDir(base, dir string) (string, error) {
	return resolve(base, "working directory", dir)
}

func resolve(base, noun, path string) (string, error) {
	if err := checkRoot(base); err != nil {
		return "", err
	}
	if err := checkGrammar(noun, path); err != nil {
		return "", err
	}
	root := Clean(base)
	resolved := Clean(path)
	if !strings.HasPrefix(path, "/") {
		// Not root + "/": below "/" that would be two leading slashes.
		resolved = Clean(strings.TrimSuffix(root, "/") + "/" + path)
	}
	if _, inside := Relative(resolved, root); !inside {
		return "", outside(root, noun, path, resolved)
	}
	if len(resolved) > MaxPath {
		return "", tooLong(noun, path, " below "+sandbox.Echo(root))
	}
	return resolved, nil
}

// Relative answers how path is written from base: "" when both name one place,
// and a path without a leading slash when path lies below base. ok is false when
// it lies elsewhere. Both are normalised first and compared segment by segment,
// so /work-outside is not inside /work. Relative paths compare with relative
// ones: a base of "." holds each that does not begin with "..".
func Relative(path, base string) (rel string, ok bool) {
	p, b := Clean(path), Clean(base)
	if p == b {
		return "", true
	}
	switch {
	case b == ".":
		rel = p
	case strings.HasSuffix(b, "/"): // only the roots "/" and "//" end in one
		rel, ok = strings.CutPrefix(p, b)
	default:
		rel, ok = strings.CutPrefix(p, b+"/")
	}
	if b != "." && !ok {
		return "", false
	}
	// "//x" is not inside "/", nor "../.." inside "..".
	if strings.HasPrefix(rel, "/") || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", false
	}
	return rel, true
}

// Ancestors lists every directory that has to be what it seems before path can
// be trusted: from below the root, down through base's own ancestors and base, to
// path itself, outermost first. The root is left out, since it cannot be a link;
// whoever only needs the parents drops the last entry. Walking starts above base
// because a link there makes base look like a plain directory.
//
// Each entry is absolute with one leading slash. path must be a result of
// [Resolve]; of a path that is not inside base only base's part is listed.
func Ancestors(base, path string) []string {
	rel, _ := Relative(path, base)
	whole := stdpath.Join("/", base, rel)
	if whole == "/" {
		return nil
	}
	dirs := make([]string, 0, strings.Count(whole, "/"))
	for i := 1; i < len(whole); i++ {
		if whole[i] == '/' {
			dirs = append(dirs, whole[:i])
		}
	}
	return append(dirs, whole)
}

// ValidateBase accepts a directory that paths may be confined to: an absolute
// guest path in its one clean spelling, so without a trailing slash, doubled
// slashes and dot segments. "/" is accepted. Two leading slashes are refused,
// since they name one place on some systems and another on others. The error is a
// [*sandbox.Refusal] with [sandbox.CodePathInvalid].
func ValidateBase(dir string) error {
	if err := checkRoot(dir); err != nil {
		return err
	}
	if clean := stdpath.Clean(dir); clean != dir {
		return unclean(dir, clean)
	}
	return nil
}

// Clean normalises a path by its text alone: dot segments, repeated and trailing
// slashes go, ".." takes its parent away, and "" becomes ".".
//
// It is [path.Clean] but for exactly two leading slashes, which it keeps. POSIX
// leaves their meaning to the system, and some read //host/share as another
// machine; folded into one slash they would turn a path that is outside of every
// base into one that seems to be inside. Three and more are one.
func Clean(path string) string {
	clean := stdpath.Clean(path)
	if strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///") {
		return "/" + clean
	}
	return clean
}
