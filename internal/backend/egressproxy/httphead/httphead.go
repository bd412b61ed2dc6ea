// Package httphead judges the bytes of an HTTP/1.1 request head before anything
// parses them: whether every server would read them as the one request that the
// proxy judges. Servers that are lenient each in their own way are how one request
// becomes two, so leniency is refused here.
//
// It parses nothing for use: net/http reads the same bytes afterwards. It knows no
// rules. Start with [Check].
package httphead

import (
	"bytes"
	"strings"
)

// End finds the end of a head in what was read so far: the offset behind its
// empty line, or 0 while it has none. A head that ends by bare line feeds ends as
// well, so that it is refused rather than waited for.
func End(buffered []byte) int {
	for i := 0; ; {
		n := bytes.IndexByte(buffered[i:], '\n')
		if n < 0 {
			return 0
		}
		i += n + 1
		rest := buffered[i:]
		switch {
		case bytes.HasPrefix(rest, crlf):
			return i + len(crlf)
		case len(rest) > 0 && rest[0] == '\n':
			return i + 1
		}
	}
}

var crlf = []byte("\r\n")

// MaxFields bounds how many header lines a head may have.
const MaxFields = 256

// Check judges one whole head, its empty line included. It returns the first
// reason why two servers could read it in two ways; FlawNone is a head that is
// good. The head of a request whose Flaw is FlawNone has:
//
//   - lines that end in CR LF, none of which is folded, and no other control
//     character but tabs inside values;
//   - a request line of a token, a target of visible ASCII and HTTP/1.0 or 1.1,
//     one space between them;
//   - at most one Host, one Content-Length of decimal digits alone, and one
//     Transfer-Encoding that is chunked, never both of the last two, and neither
//     in a spelling that some servers take for it, such as with "_" for "-".
func Check(head []byte) Flaw {
	lines, ok := bytes.CutSuffix(head, []byte("\r\n\r\n"))
	if !ok {
		return FlawLineEnd
	}
	for i, c := range lines {
		switch {
		case c == '\n' && (i == 0 || lines[i-1] != '\r'), c == '\r' && (i+1 == len(lines) || lines[i+1] != '\n'):
			return FlawLineEnd
		case c < ' ' && c != '\t' && c != '\r' && c != '\n', c == 0x7f:
			return FlawControl
		}
	}
	request, rest, _ := bytes.Cut(lines, crlf)
	version, f := requestLine(request)
	if f != FlawNone {
		return f
	}
	var s seen
	s.version = version
	for n := 0; len(rest) > 0; n++ {
		if n == MaxFields {
			return FlawTooMany
		}
		var line []byte
		line, rest, _ = bytes.Cut(rest, crlf)
		if f := s.field(line); f != FlawNone {
			return f
		}
	}
	return s.whole()
}

// requestLine checks the first line and gives the minor version of HTTP/1.
func requestLine(line []byte) (minor byte, f Flaw) {
	method, rest, ok := bytes.Cut(line, []byte(" "))
	target, version, ok2 := bytes.Cut(rest, []byte(" "))
	switch {
	case !ok, !ok2, !isToken(method), len(target) == 0:
		return 0, FlawRequestLine
	case string(version) != "HTTP/1.1" && string(version) != "HTTP/1.0":
		return 0, FlawVersion
	}
	for _, c := range target {
		if c <= ' ' || c >= 0x7f {
			return 0, FlawRequestLine
		}
	}
	return version[len(version)-1], FlawNone
}

// seen is what the header lines so far said about the message as a whole.
type seen struct {
	version                  byte
	host, length, encoding   int
	badLength, otherEncoding bool
}

func (s *seen) field(line []byte) Flaw {
	if len(line) == 0 || line[0] == ' ' || line[0] == '\t' {
		return FlawFolded
	}
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || !isToken(name) {
		return FlawField
	}
	value = bytes.Trim(value, " \t")
	canonical := Folded(string(name))
	if framing[canonical] && !bytes.EqualFold(name, []byte(canonical)) {
		return FlawSpelling
	}
	switch canonical {
	case "host":
		s.host++
	case "content-length":
		s.length++
		s.badLength = s.badLength || !isLength(value)
	case "transfer-encoding":
		s.encoding++
		s.otherEncoding = s.otherEncoding || !bytes.EqualFold(value, []byte("chunked"))
	}
	return FlawNone
}

// framing are the headers that say where a message ends.
var framing = map[string]bool{"content-length": true, "transfer-encoding": true}

// Folded is the name of a header as the most lenient of servers compares it: those
// that hand headers on as variables have one byte for all that is no letter and no
// digit (RFC 3875 4.1.18), which here is "-".
func Folded(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(name))
}

func (s *seen) whole() Flaw {
	switch {
	case s.host > 1:
		return FlawTwoHosts
	case s.host == 0 && s.version == '1':
		return FlawNoHost
	case s.length > 0 && s.encoding > 0:
		return FlawLengthAndChunks
	case s.length > 1, s.badLength:
		return FlawLength
	case s.encoding > 1, s.otherEncoding, s.encoding > 0 && s.version == '0':
		return FlawEncoding
	default:
		return FlawNone
	}
}

// isLength reports decimal digits that fit into 63 bits.
func isLength(value []byte) bool {
	const most = 18
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(value) > 0 && len(value) <= most
}

// isToken reports an RFC 9110 token.
func isToken(text []byte) bool {
	for _, c := range text {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return len(text) > 0
}

// Host is the value of the Host header of a head, and whether there is one. Of
// several, which [Check] refuses, it is the first. net/http drops it where the
// target of a request is absolute, and it has to be compared.
func Host(head []byte) (string, bool) {
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(name, []byte("host")) {
			return string(bytes.Trim(value, " \t\r")), true
		}
	}
	return "", false
}
