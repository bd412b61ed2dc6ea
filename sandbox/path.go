package sandbox

import (
	"strconv"
	"strings"
)

// FieldPath names a place in a policy, a workload or a manifest, from its root:
// egress_rules["api"].host. The same spelling is used in Terraform diagnostics,
// in JSON output and in the documents, so one path can be searched for
// everywhere. The zero value names the whole object.
type FieldPath []PathStep

// PathStep is one step of a [FieldPath]: an attribute, a map key or a list index.
// Make one with [Attr], [MapKey] or [Index].
type PathStep struct {
	kind  stepKind
	name  string
	index int
}

type stepKind uint8

const (
	stepAttr stepKind = iota
	stepKey
	stepIndex
)

// Attr is the step into the attribute called name.
func Attr(name string) PathStep { return PathStep{kind: stepAttr, name: name} }

// MapKey is the step into the element of a map at key.
func MapKey(key string) PathStep { return PathStep{kind: stepKey, name: key} }

// Index is the step into the i-th element of a list, counted from zero.
func Index(i int) PathStep { return PathStep{kind: stepIndex, index: i} }

// Attr reports the attribute name of the step, and whether it is an attribute.
func (s PathStep) Attr() (string, bool) { return s.name, s.kind == stepAttr }

// MapKey reports the map key of the step, and whether it is one.
func (s PathStep) MapKey() (string, bool) { return s.name, s.kind == stepKey }

// Index reports the list index of the step, and whether it is one.
func (s PathStep) Index() (int, bool) { return s.index, s.kind == stepIndex }

// Path builds a field path. A string becomes an attribute step, an int an index;
// a [PathStep] is taken as it is. Any other type is a mistake of the caller that
// shows in the path as ["?"].
func Path(steps ...any) FieldPath {
	p := make(FieldPath, 0, len(steps))
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			p = append(p, Attr(s))
		case int:
			p = append(p, Index(s))
		case PathStep:
			p = append(p, s)
		default:
			p = append(p, Attr("?"))
		}
	}
	return p
}

// Append returns a new path with steps added; p is not changed and shares no
// memory with the result.
func (p FieldPath) Append(steps ...PathStep) FieldPath {
	q := make(FieldPath, 0, len(p)+len(steps))
	return append(append(q, p...), steps...)
}

// HasPrefix reports whether p lies at or below prefix.
func (p FieldPath) HasPrefix(prefix FieldPath) bool {
	if len(p) < len(prefix) {
		return false
	}
	for i, s := range prefix {
		if p[i] != s {
			return false
		}
	}
	return true
}

// String renders the path as it is written in HCL: attributes joined by dots,
// map keys quoted in brackets, list indexes in brackets. An attribute whose name
// is no identifier, as only somebody else's document can have, is quoted like a
// key, and a name that is too long for a message is cut as [Echo] cuts it: a path
// is one line and stands in lines that programs read.
func (p FieldPath) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.kind == stepIndex:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
		case s.kind == stepKey || !identifier(s.name):
			b.WriteByte('[')
			b.WriteString(quoted(s.name))
			b.WriteByte(']')
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// maxKey is the longest name that a path repeats whole, in bytes; every name
// that the documents admit is shorter.
const maxKey = 512

func quoted(name string) string {
	if len(name) > maxKey {
		return Echo(name)
	}
	return strconv.Quote(name)
}

// identifier reports whether name can stand in a path as it is.
func identifier(name string) bool {
	for _, b := range []byte(name) {
		if (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '_' && b != '-' {
			return false
		}
	}
	return name != "" && len(name) <= maxEcho
}

// MarshalText renders the path as [FieldPath.String] does.
func (p FieldPath) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
