// Package plaintext is the one door through which text that others wrote reaches
// a terminal, a log or a CI runner: output of guests, values of documents, names
// in a plan. What could move a cursor, reorder or hide text, or command a CI
// runner, comes out as visible escapes; everything else is left as it is.
//
// [Value] is for a value inside a line of our own, [Writer] for whole output of
// a program, [Guest] for output of a guest, [JSON] for JSON. A program gives
// every stream a [Writer] once, so that a value somebody forgot to wrap can at
// worst begin a new line.
//
// The escapes are for reading, not for reading back: a backslash is not doubled.
package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Value makes text safe inside one line: line breaks and tabs are escaped too.
func Value(text string) string { return line(text, false) }

// line escapes one line. Tabs survive where keepTabs says so.
func line(text string, keepTabs bool) string {
	if clean(text, keepTabs) {
		return breakCommands(text)
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\t' && keepTabs:
			b.WriteByte('\t')
		case Shown(r):
			b.WriteRune(r)
		default:
			b.WriteString(escape(r))
		}
		i += size
	}
	return breakCommands(b.String())
}

func clean(text string, keepTabs bool) bool {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return false
			}
		}
		if !Shown(r) && (r != '\t' || !keepTabs) {
			return false
		}
	}
	return true
}

// Shown reports whether a character may be printed as it is: a letter, mark,
// number, sign or the plain space, and one that leaves something to see. That
// excludes control characters, bidi controls, other kinds of space, private and
// unassigned ones, and what Unicode says a renderer should ignore.
func Shown(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r != 0x7f
	}
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		r != brailleBlank
}

// brailleBlank is a symbol by its class and nothing at all by its looks.
const brailleBlank = '\u2800'

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r <= 0xff:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// breakCommands breaks what CI runners read as commands to themselves. Some look
// for "##name[" anywhere in a line, so the second # is escaped; some for "::" at
// its start, whatever white space stands before, so the second colon is. The
// text must be escaped already, so that no other white space can be in it.
func breakCommands(text string) string {
	if rest := strings.TrimLeft(text, " \t"); strings.HasPrefix(rest, "::") {
		at := len(text) - len(rest)
		text = text[:at] + `:\x3a` + rest[len("::"):]
	}
	if !strings.Contains(text, "##") {
		return text
	}
	var b strings.Builder
	for {
		at := strings.Index(text, "##")
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at])
		if isCommand(text[at:]) {
			b.WriteString(`#\x23`)
			text = text[at+len("##"):]
		} else {
			b.WriteByte('#')
			text = text[at+1:]
		}
	}
}

// isCommand reports whether text begins with ##, letters, and [.
func isCommand(text string) bool {
	name := strings.TrimLeft(text[len("##"):], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.")
	return strings.HasPrefix(name, "[")
}
