package plaintext

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON rewrites a JSON text so that it is safe to print and decodes to the same
// value: what [Value] would escape stands in strings as \u escapes, and so does
// the second # of what could be read as a command. The text must be valid JSON;
// its own line breaks and indentation stay.
func JSON(text []byte) []byte {
	var b bytes.Buffer
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == '#' && i > 0 && text[i-1] == '#':
			b.WriteString(`\u0023`)
		case r == '\n' || Shown(r):
			b.Write(text[i : i+size])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += size
	}
	return b.Bytes()
}
