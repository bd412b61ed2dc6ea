package frame

import (
	"strconv"
	"strings"
)

// Read answers the program that a script of [Script] runs, and how many bytes of each
// stream it carries. Of any other script it reports false.
func Read(script string) (p Program, most int, ok bool) {
	r := reader{rest: script, ok: true}
	r.literal(toDir)
	p.Dir = r.word()
	r.literal(sayNoDir)
	p.Token = r.until(checkTools)
	r.literal(p.Token + toArgs)
	if strings.HasPrefix(r.rest, withEnv) {
		r.literal(withEnv)
		p.Env = r.words(func(w string) bool { return strings.Contains(w, "=") })
	}
	p.Args = r.words(func(string) bool { return true })
	r.literal(toStdin)
	p.Stdin = r.word()
	r.literal(carry)
	most, err := strconv.Atoi(r.until(" "))
	// Written again it has to be the same: nothing is run that the script does not say.
	if !r.ok || err != nil || len(p.Args) == 0 || Script(p, most) != script {
		return Program{}, 0, false
	}
	return p, most, true
}

// reader takes a script apart from its beginning. Once something is not as it was
// written, it reads no more.
type reader struct {
	rest string
	ok   bool
}

func (r *reader) literal(text string) { r.take(strings.CutPrefix(r.rest, text)) }

func (r *reader) take(rest string, ok bool) {
	r.rest, r.ok = rest, r.ok && ok
}

func (r *reader) until(end string) string {
	text, rest, ok := strings.Cut(r.rest, end)
	r.take(rest, ok)
	return text
}

// words are words that a space parts, as long as they are wanted.
func (r *reader) words(wanted func(string) bool) []string {
	var all []string
	for r.ok && (strings.HasPrefix(r.rest, "'") || strings.HasPrefix(r.rest, octalOpen)) {
		before := r.rest
		w := r.word()
		if !wanted(w) {
			r.rest = before
			break
		}
		all = append(all, w)
		r.rest = strings.TrimPrefix(r.rest, " ")
	}
	return all
}

// word reads what quote wrote.
func (r *reader) word() string {
	var text strings.Builder
	for r.ok {
		switch {
		case strings.HasPrefix(r.rest, "'"):
			r.literal("'")
			text.WriteString(r.until("'"))
		case strings.HasPrefix(r.rest, `\'`):
			r.literal(`\'`)
			text.WriteByte('\'')
		case strings.HasPrefix(r.rest, octalOpen):
			r.literal(octalOpen)
			for _, digits := range strings.Split(r.until(octalShut), `\`)[1:] {
				b, err := strconv.ParseUint(digits, 8, 8)
				r.ok = r.ok && err == nil
				text.WriteByte(byte(b))
			}
		default:
			return text.String()
		}
	}
	return ""
}
