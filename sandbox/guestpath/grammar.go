package guestpath

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	// MaxPath is the length of the longest guest path in bytes, as supplied and
	// as resolved: Linux's PATH_MAX without its terminating NUL.
	MaxPath = 4095
	// MaxSegment is the length of the longest name between two slashes in bytes:
	// Linux's NAME_MAX.
	MaxSegment = 255
)

// baseNoun is what refusals call the directory that confines.
const baseNoun = "base directory"

// checkGrammar refuses text that is no guest path, whatever it names. The first
// offence from the left is the one that is reported.
func checkGrammar(noun, text string) error {
	if len(text) > MaxPath {
		return tooLong(noun, text, "")
	}
	segment := 0
	for i := 0; i < len(text); {
		r, width := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '/':
			segment = i + width
		case r == utf8.RuneError && width == 1:
			return badPath(with(noun, text, fmt.Sprintf("the byte 0x%02X, which is not UTF-8,", text[i]), i),
				"UTF-8", "write the "+noun+" in UTF-8")
		case r == '\\':
			return badPath(with(noun, text, "a backslash", i),
				"a POSIX path, with / between directories", "write / for each backslash and leave out any drive letter")
		case unicode.IsControl(r):
			return badPath(with(noun, text, fmt.Sprintf("the control character %U", r), i),
				"no NUL and no other control character", "leave the character out")
		case i+width-segment > MaxSegment:
			name, _, _ := strings.Cut(text[segment:], "/")
			return badPath(with(noun, text, fmt.Sprintf("a name of %d bytes", len(name)), segment),
				"at most "+strconv.Itoa(MaxSegment)+" bytes between slashes", "shorten the name")
		}
		i += width
	}
	return nil
}

// checkRoot refuses what cannot confine anything.
func checkRoot(dir string) error {
	if err := checkGrammar(baseNoun, dir); err != nil {
		return err
	}
	if !strings.HasPrefix(dir, "/") {
		return badPath(baseNoun+" "+sandbox.Echo(dir)+" without a / at character 1",
			"an absolute directory", "write the directory from the guest's root, such as /work")
	}
	return nil
}

// unclean says what keeps an absolute directory from being in its clean spelling.
func unclean(dir, clean string) error {
	what, at := "a needless slash", len(dir)-1
	if offset, segment, found := findSegment(dir[1:], "", ".", ".."); found {
		at = min(offset+1, len(dir)-1)
		if segment != "" {
			what = "a " + segment + " segment"
		}
	}
	return badPath(with(baseNoun, dir, what, at),
		"single slashes, none at the end, no . and no ..", "write "+sandbox.Echo(clean)+", if that is what is meant")
}

// outside says where a path leaves the directory root and where it leads.
func outside(root, noun, path, resolved string) error {
	var found, remedy string
	switch {
	case strings.HasPrefix(resolved, "//") && !strings.HasPrefix(root, "//"):
		found = " that has a second / at character 2"
		remedy = "write one leading slash: two can mean another machine"
	case strings.HasPrefix(path, "/"):
		found = " that is absolute by the / at character 1"
		remedy = "write the " + noun + " relative to " + sandbox.Echo(root)
	default:
		found = fmt.Sprintf(" that leaves %s at character %d", sandbox.Echo(root), leavesAt(path))
		remedy = "leave out the .. that leads out"
	}
	return sandbox.Finding{
		Code:     sandbox.CodePathOutside,
		Found:    noun + " " + sandbox.Echo(path) + found + " and names " + sandbox.Echo(resolved),
		Required: "a " + noun + " at or below " + sandbox.Echo(root),
		Remedy:   remedy,
	}.Refusal(nil)
}

// leavesAt is the position of the first ".." of a relative path that climbs
// above where the path starts, or 1 when there is none.
func leavesAt(path string) int {
	depth, position := 0, 1
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return position
			}
		default:
			depth++
		}
		position += utf8.RuneCountInString(segment) + 1
	}
	return 1
}

// findSegment finds the first segment that is one of those wanted, and the byte
// offset where it starts.
func findSegment(path string, wanted ...string) (offset int, segment string, found bool) {
	for segment := range strings.SplitSeq(path, "/") {
		if slices.Contains(wanted, segment) {
			return offset, segment, true
		}
		offset += len(segment) + 1
	}
	return 0, "", false
}

// with says what stands at a byte offset of text. Positions count characters
// from 1.
func with(noun, text, what string, offset int) string {
	position := utf8.RuneCountInString(text[:offset]) + 1
	return noun + " " + sandbox.Echo(text) + " with " + what + " at character " + strconv.Itoa(position)
}

func tooLong(noun, text, where string) error {
	return badPath(fmt.Sprintf("%s %s of %d bytes%s", noun, sandbox.Echo(text), len(text), where),
		"at most "+strconv.Itoa(MaxPath)+" bytes, with the directory it is joined to", "shorten the "+noun)
}

func badPath(found, required, remedy string) error {
	return sandbox.Finding{
		Code: sandbox.CodePathInvalid, Found: found, Required: required, Remedy: remedy,
	}.Refusal(nil)
}
