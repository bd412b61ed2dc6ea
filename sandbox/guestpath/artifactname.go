package guestpath

import (
	"fmt"
	stdpath "path"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// MaxArtifactName is the length of the longest artifact name in bytes of UTF-8,
// slashes included.
const MaxArtifactName = 255

// ValidateArtifactName accepts the name under which an output lands in a sink: a
// relative path of one or more segments. It is judged in this order, and the first
// rule that is broken is the error: not empty; no backslash; no leading slash; no
// ".." segment; no empty and no "." segment; no control character below U+0020;
// UTF-8; at most [MaxArtifactName] bytes. Nothing else is refused: what only some
// file systems dislike is the business of [PortableName].
//
// Validate the spelling that is delivered: normalising can lengthen a name. The
// error is a [*sandbox.Refusal] with [sandbox.CodeArtifactNameInvalid]; positions
// in it count characters from 1.
func ValidateArtifactName(name string) error {
	switch {
	case name == "":
		return badName("an empty name", "a name", "name the file")
	case strings.Contains(name, `\`):
		return badName(with("name", name, "a backslash", strings.Index(name, `\`)),
			"segments separated by /", "write / for each backslash")
	case name[0] == '/':
		return badName(with("name", name, "a slash", 0), "a relative name", "leave out the leading slash")
	}
	if at, _, found := findSegment(name, ".."); found {
		return badName(with("name", name, "a .. segment", at), "no .. segment", "write the name that is meant, without ..")
	}
	if at, _, found := findSegment(name, "", "."); found {
		return badName(with("name", name, "an empty or . segment", at),
			"a name between any two slashes and at the end", "leave out the needless slash or dot")
	}
	if what, at := controls(name); what != "" {
		return badName(with("name", name, what, at), "no control characters", "leave them out")
	}
	if at := invalidUTF8(name); at >= 0 {
		return badName(with("name", name, fmt.Sprintf("the byte 0x%02X, which is not UTF-8,", name[at]), at),
			"UTF-8", "write the name in UTF-8")
	}
	if len(name) > MaxArtifactName {
		return badName(fmt.Sprintf("name %s of %d bytes", sandbox.Echo(name), len(name)),
			"at most "+strconv.Itoa(MaxArtifactName)+" bytes of UTF-8, slashes included", "shorten the name")
	}
	return nil
}

// NormalizeArtifactName is the name in Unicode form NFC, the spelling that a sink
// delivers unless it keeps names as they are. The result can be longer in bytes.
func NormalizeArtifactName(name string) string { return norm.NFC.String(name) }

// CollisionKey is equal for two valid names that only differ by case or Unicode
// form, and so would meet on a file system that ignores those. It is the name in NFC, in Unicode's full
// lower case and as a clean path. Lower case depends on what stands around a
// letter: a sigma at the end of a word is ς and İ becomes i with a dot above.
// It is not case folding: ß is not ss and ﬁ is not fi.
//
// A key finds collisions early and says which; it does not protect what already
// stands in a sink, which creates exclusively.
func CollisionKey(name string) string {
	lower := cases.Lower(language.Und).String(NormalizeArtifactName(name))
	// Lower-casing can leave marks in another order than NFC has them.
	return stdpath.Clean(NormalizeArtifactName(lower))
}

// PortableName rewrites a name so that Windows accepts it as well. In each
// segment it puts _ for each of < > : " | ? * \, each control character below
// U+0020 and each run of bytes that is not UTF-8, strips trailing dots and spaces,
// appends _ to a stem that Windows reads as a device (con, COM1.log, "nul .txt"),
// and names an empty segment _. Rewriting twice is rewriting once.
//
// The result satisfies [ValidateArtifactName] but for its length, which is left
// alone: cutting would let names meet and lose extensions. Different names can
// become one; look for collisions afterwards. Nothing calls it unasked.
func PortableName(name string) string {
	segments := strings.Split(name, "/")
	for i, segment := range segments {
		segments[i] = portableSegment(segment)
	}
	return strings.Join(segments, "/")
}

func portableSegment(segment string) string {
	segment = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`<>:"|?*\`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(segment, "_"))
	segment = strings.TrimRight(segment, ". ")
	if segment == "" {
		return "_"
	}
	stem, extension, dotted := strings.Cut(segment, ".")
	if !isDevice(stem) {
		return segment
	}
	if dotted {
		return stem + "_." + extension
	}
	return stem + "_"
}

// isDevice reports whether Windows opens a device rather than a file of that
// stem. It ignores case and spaces at the end, and takes the superscripts
// ¹ ² ³ for digits.
func isDevice(stem string) bool {
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	if number, ok := strings.CutPrefix(stem, "COM"); ok {
		return isPort(number)
	}
	number, ok := strings.CutPrefix(stem, "LPT")
	return ok && isPort(number)
}

func isPort(number string) bool {
	return utf8.RuneCountInString(number) == 1 && strings.Contains("123456789¹²³", number)
}

func badName(found, required, remedy string) error {
	return sandbox.Finding{
		Code: sandbox.CodeArtifactNameInvalid, Found: found, Required: required, Remedy: remedy,
	}.Refusal(nil)
}

// controls lists the control characters below U+0020, each once and in order,
// and the byte offset of the first.
func controls(name string) (what string, offset int) {
	var codes []string
	for r := range ' ' {
		at := strings.IndexByte(name, byte(r))
		if at < 0 {
			continue
		}
		if len(codes) == 0 || at < offset {
			offset = at
		}
		codes = append(codes, fmt.Sprintf("%U", r))
	}
	switch len(codes) {
	case 0:
		return "", 0
	case 1:
		return "the control character " + codes[0], offset
	default:
		return "the control characters " + strings.Join(codes, ", ") + ", the first", offset
	}
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(name string) int {
	for i, r := range name {
		if r != utf8.RuneError {
			continue
		}
		if _, width := utf8.DecodeRuneInString(name[i:]); width == 1 {
			return i
		}
	}
	return -1
}
