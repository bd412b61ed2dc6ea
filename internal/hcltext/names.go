package hcltext

import (
	"strconv"
	"strings"
)

// maxName bounds what is made of somebody else's name.
const maxName = 60

// Name is a text as an identifier of at most 60 characters: lower-case words joined
// by underscores. otherwise stands for a text that has none.
func Name(text, otherwise string) string {
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(text) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			gap = b.Len() > 0
			continue
		}
		if b.Len() >= maxName {
			break
		}
		if gap {
			b.WriteByte('_')
			gap = false
		}
		b.WriteRune(c)
	}
	name := b.String()
	switch {
	case name == "":
		return otherwise
	case name[0] <= '9', name == "for": // a first key of that name begins a for expression
		return otherwise + "_" + name
	default:
		return name
	}
}

// Names keeps names apart: how often each was asked for.
type Names map[string]int

// Free is the [Name] of a text, numbered where it is taken.
func (n Names) Free(text, otherwise string) string {
	base := Name(text, otherwise)
	for name := base; ; {
		n[base]++
		if times := n[base]; times > 1 {
			name = base + "_" + strconv.Itoa(times)
		}
		if name == base || n[name] == 0 {
			if name != base {
				n[name] = 1
			}
			return name
		}
	}
}
