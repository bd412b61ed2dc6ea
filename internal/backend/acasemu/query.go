package acasemu

import "strings"

// query is the parameters of a request. They are read here and not with net/url,
// because clients of the service send values as they are: a ";" belongs to the
// value, a "+" is a space, and a "%" that begins no escape is itself.
type query []parameter

type parameter struct{ name, value string }

func parseQuery(raw string) query {
	var q query
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		q = append(q, parameter{unescape(name), unescape(value)})
	}
	return q
}

// get is the first value of a parameter; names are compared without regard to
// case, as the service does.
func (q query) get(name string) (string, bool) {
	for _, p := range q {
		if strings.EqualFold(p.name, name) {
			return p.value, true
		}
	}
	return "", false
}

func unescape(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+':
			b.WriteByte(' ')
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b.WriteByte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	default:
		return c - 'a' + 10
	}
}
