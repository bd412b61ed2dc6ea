package egress

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const maxPath = 1024

// parsePath reads a path prefix into its normal form: no trailing "/*", escapes
// in upper-case hexadecimal, characters outside ASCII escaped. "/" and "/*" are
// every path, and their normal form is empty. Every normal form is a path that
// [pathFlaw] finds nothing wrong with, so a rule admits at least its own prefix.
func parsePath(text string) (string, *fault) {
	normal, f := readPath(text)
	if f != nil && f.remedy == "" {
		f.remedy = `write whole segments, such as "/v1/items", or ["*"] for any path`
		if meant, g := readPath(f.meant); g == nil && meant != "" {
			f.remedy = write(f.meant)
		}
	}
	return normal, f
}

func readPath(text string) (string, *fault) {
	base, starred := strings.CutSuffix(text, "/*")
	switch {
	case text == "":
		return "", badPath("it is empty", "")
	case len(text) > maxPath:
		return "", badPath("it has "+itoa(len(text))+" octets, and at most "+itoa(maxPath)+" are read", "")
	case text == "/" || starred && base == "":
		return "", nil
	case text[0] != '/':
		return "", badPath(charAt(text, 0)+` is not the "/" that a path starts with`, "/"+text)
	}
	normal, f := escapePath(base)
	if f != nil {
		return "", f
	}
	if at, kind := pathFlaw(normal); kind != pathSound {
		return "", badFlaw(base, originalOffset(base, at), kind)
	}
	if strings.HasSuffix(base, "/") {
		return "", badPath(charAt(base, len(base)-1)+" ends it, and a prefix covers what is below it anyway", strings.TrimRight(base, "/"))
	}
	return normal, nil
}

// escapePath checks what is judged character by character, and gives the form
// that stands on the wire.
func escapePath(text string) (string, *fault) {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '%':
			if unescaped, n := unescape(text[i:]); n == 3 && isUnreserved(unescaped) {
				return "", badPath(charAt(text, i)+" escapes "+sandbox.Echo(string(rune(unescaped)))+", which needs no escape",
					text[:i]+string(rune(unescaped))+text[i+3:])
			}
			b.WriteByte('%')
		case r < utf8.RuneSelf && i >= 1 && (text[i-1] == '%' || i >= 2 && text[i-2] == '%'):
			b.WriteRune(unicode.ToUpper(r))
		case r == '*':
			return "", badPath(charAt(text, i)+` is a star, which stands only in a last "/*"`, text[:i])
		case r == '?', r == '#':
			return "", badPath(charAt(text, i)+" ends the path, and only paths are judged", text[:i])
		case r == utf8.RuneError:
			return "", badPath(charAt(text, i)+" is not UTF-8", "")
		case unicode.IsSpace(r):
			return "", badPath(charAt(text, i)+" is white space", strings.TrimSpace(text))
		case !unicode.IsGraphic(r):
			return "", badPath(charAt(text, i)+" is a control character or cannot be seen", "")
		case r >= utf8.RuneSelf:
			for _, c := range []byte(string(r)) {
				b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			}
		case strings.ContainsRune("\"<>^`{|}[]", r):
			f := badPath(charAt(text, i)+" is not in paths as they are sent", "")
			f.remedy = "write %" + string(hex[r>>4]) + string(hex[r&15]) + " in its place"
			return "", f
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), nil
}

// originalOffset is the offset in text of what stands at offset in its escaped
// form.
func originalOffset(text string, escaped int) int {
	at := 0
	for i, r := range text {
		if at >= escaped {
			return i
		}
		if at++; r >= utf8.RuneSelf {
			at += 3*utf8.RuneLen(r) - 1
		}
	}
	return len(text) - 1
}

func badFlaw(text string, at int, kind flaw) *fault {
	meant := ""
	switch kind {
	case pathEmptySegment:
		collapsed := text
		for strings.Contains(collapsed, "//") {
			collapsed = strings.ReplaceAll(collapsed, "//", "/")
		}
		meant = strings.TrimSuffix(collapsed, "/")
	case pathBackslash:
		meant = strings.ReplaceAll(text, `\`, "/")
	case pathParameter:
		meant = text[:at]
	}
	return badPath(charAt(text, at)+" "+kind.String(), meant)
}

func badPath(why, meant string) *fault {
	return &fault{code: sandbox.CodeEgressPathInvalid, why: why, meant: meant}
}
