package egress

import (
	"strings"
	"unicode/utf8"
)

// flaw is a reason why two readers may take one path for two, so that no rule
// with paths admits it.
type flaw uint8

const (
	pathSound flaw = iota
	pathRelative
	pathEmptySegment
	pathDotSegment
	pathBackslash
	pathParameter
	pathNotWire
	pathBadEscape
	pathSeparatorEscape
	pathDoubleEscape
)

var flawTexts = [...]string{
	pathSound:           "is sound",
	pathRelative:        `is not the "/" that a path starts with`,
	pathEmptySegment:    "has an empty segment before it, which some servers drop",
	pathDotSegment:      "begins a dot segment, which servers resolve",
	pathBackslash:       `is a backslash, which some servers take for "/"`,
	pathParameter:       "starts a path parameter, which some servers drop",
	pathNotWire:         "is not in paths as they are sent",
	pathBadEscape:       "is not an escape of a UTF-8 character",
	pathSeparatorEscape: "escapes a separator or a control character",
	pathDoubleEscape:    "begins an escape of an escape",
}

func (f flaw) String() string { return flawTexts[f] }

// pathFlaw finds the first flaw of a path as it stands on the wire, and its
// offset. It allocates nothing: the matcher asks it for every judged request.
func pathFlaw(path string) (int, flaw) {
	if path == "" || path[0] != '/' {
		return 0, pathRelative
	}
	start := 1       // of the segment
	onlyDots := true // the segment so far is dots, escaped or not
	dots := 0        // how many
	for i := 1; i <= len(path); {
		if i == len(path) || path[i] == '/' {
			if i == start && i < len(path) {
				return i, pathEmptySegment
			}
			if onlyDots && (dots == 1 || dots == 2) {
				return start, pathDotSegment
			}
			i++
			start, onlyDots, dots = i, true, 0
			continue
		}
		r, n, kind := pathRune(path[i:])
		if kind != pathSound {
			return i, kind
		}
		onlyDots = onlyDots && r == '.'
		dots++
		i += n
	}
	return 0, pathSound
}

// pathRune reads one character of a segment, which may be escaped, and says what
// is wrong with it.
func pathRune(path string) (r rune, size int, kind flaw) {
	switch c := path[0]; {
	case c == '\\':
		return 0, 0, pathBackslash
	case c == ';':
		return 0, 0, pathParameter
	case c <= ' ', c >= 0x7f, c == '?', c == '#':
		return 0, 0, pathNotWire
	case c != '%':
		return rune(c), 1, pathSound
	}
	r, size = unescapeRune(path)
	switch {
	case size == 0:
		return 0, 0, pathBadEscape
	case r == '/', r == '\\', r == ';', r < ' ', r >= 0x7f && r < 0xa0:
		return 0, 0, pathSeparatorEscape
	case r == '%' && startsHexPair(path[size:]):
		return 0, 0, pathDoubleEscape
	}
	return r, size, pathSound
}

// unescapeRune reads the escapes that make up one UTF-8 character. size is 0
// when they make up none; overlong forms are none.
func unescapeRune(s string) (r rune, size int) {
	var buf [utf8.UTFMax]byte
	for n := range buf {
		c, used := unescape(s[size:])
		if used == 0 {
			return 0, 0
		}
		buf[n] = c
		size += used
		if utf8.FullRune(buf[:n+1]) {
			if r, _ = utf8.DecodeRune(buf[:n+1]); r == utf8.RuneError {
				return 0, 0
			}
			return r, size
		}
	}
	return 0, 0
}

// unescape reads one %XX at the start of s; size is 3, or 0 when there is none.
func unescape(s string) (c byte, size int) {
	if len(s) < 3 || s[0] != '%' {
		return 0, 0
	}
	hi, lo := unhex(s[1]), unhex(s[2])
	if hi < 0 || lo < 0 {
		return 0, 0
	}
	return byte(hi<<4 | lo), 3
}

// startsHexPair reports two hexadecimal digits at the start of s, each plain or
// itself escaped.
func startsHexPair(s string) bool {
	for range 2 {
		if s == "" {
			return false
		}
		c, n := unescape(s)
		if n == 0 {
			c, n = s[0], 1
		}
		if unhex(c) < 0 {
			return false
		}
		s = s[n:]
	}
	return true
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	default:
		return -1
	}
}

// isUnreserved reports an RFC 3986 unreserved character, whose escaped and plain
// forms are the same path.
func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// comparePaths orders paths so that everything below a prefix follows it
// directly: "/" is the lowest byte.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; x != y {
			switch {
			case x == '/':
				return -1
			case y == '/':
				return 1
			case x < y:
				return -1
			default:
				return 1
			}
		}
	}
	return len(a) - len(b)
}

// underPath reports whether path is the prefix or lies below it.
func underPath(path, prefix string) bool {
	return strings.HasPrefix(path, prefix) && (len(path) == len(prefix) || path[len(prefix)] == '/')
}
