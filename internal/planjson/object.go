package planjson

import (
	"encoding"
	"maps"
	"slices"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// reading collects, while one value is read, what is not known yet and what is
// not of the type that the provider's schema says. Paths count from the value's
// root.
type reading struct {
	known    sandbox.Known
	findings []sandbox.Finding
}

func (r *reading) wrongType(path sandbox.FieldPath, required string) {
	r.findings = append(r.findings, sandbox.Finding{
		Code: sandbox.CodeDocumentType, Path: path, Found: "another type", Required: required,
		Remedy: "plan with this release of the provider",
	})
	r.known = r.known.Unknown(path)
}

// object is one object of a plan: its values, and beside them, in the same
// shape, true wherever something is not known yet. An unknown value stands in
// after as null or not at all.
type object struct {
	reading *reading
	path    sandbox.FieldPath
	after   map[string]any
	unknown any
}

func fields(v any) map[string]any {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	return m
}

// below is the part of unknown at a name or an index.
func below(unknown any, name string, index int) any {
	switch u := unknown.(type) {
	case bool:
		return u
	case map[string]any:
		return u[name]
	case []any:
		if index < len(u) {
			return u[index]
		}
	}
	return nil
}

func wholly(unknown any) bool {
	u, ok := unknown.(bool)
	return ok && u
}

// value returns an attribute that holds something. An unknown one is marked.
func (o object) value(name string) (v any, path sandbox.FieldPath, ok bool) {
	path = o.path.Append(sandbox.Attr(name))
	if wholly(below(o.unknown, name, 0)) {
		o.reading.known = o.reading.known.Unknown(path)
		return nil, path, false
	}
	v = o.after[name]
	return v, path, v != nil
}

func (o object) text(name string) string {
	v, path, ok := o.value(name)
	if !ok {
		return ""
	}
	text, ok := v.(string)
	if !ok {
		o.reading.wrongType(path, "a string")
	}
	return text
}

func (o object) flag(name string, unstated bool) bool {
	v, path, ok := o.value(name)
	if !ok {
		return unstated
	}
	b, ok := v.(bool)
	if !ok {
		o.reading.wrongType(path, "true or false")
	}
	return b
}

func (o object) whole(name string) int64 {
	v, path, ok := o.value(name)
	if !ok {
		return 0
	}
	f, ok := v.(float64)
	if !ok || f != float64(int64(f)) || f < 0 || f > float64(sandbox.MaxDocumentInteger) {
		o.reading.wrongType(path, "a whole number from 0 to "+strconv.FormatInt(sandbox.MaxDocumentInteger, 10))
		return 0
	}
	return int64(f)
}

// texts reads a list of strings: nil when absent. An element that is not known
// is marked and reads as "".
func (o object) texts(name string) []string {
	v, path, ok := o.value(name)
	if !ok {
		return nil
	}
	elements, ok := v.([]any)
	if !ok {
		o.reading.wrongType(path, "a list of strings")
		return nil
	}
	texts := make([]string, len(elements))
	for i, element := range elements {
		at := path.Append(sandbox.Index(i))
		if wholly(below(below(o.unknown, name, 0), "", i)) {
			o.reading.known = o.reading.known.Unknown(at)
			continue
		}
		text, ok := element.(string)
		if !ok {
			o.reading.wrongType(at, "a string")
		}
		texts[i] = text
	}
	return texts
}

// child opens a nested object that is there.
func (o object) child(name string) (object, bool) {
	v, path, ok := o.value(name)
	if !ok {
		return object{}, false
	}
	inner, isObject := v.(map[string]any)
	if !isObject {
		o.reading.wrongType(path, "an object")
	}
	return object{reading: o.reading, path: path, after: inner, unknown: below(o.unknown, name, 0)}, isObject
}

// children opens every object of a map, in the order of the keys, and reports
// whether the map is there. One that is not known yet is marked and read empty.
func (o object) children(name string, read func(key string, element object)) bool {
	m, ok := o.child(name)
	if !ok {
		return false
	}
	for _, key := range m.keys() {
		at := m.path.Append(sandbox.MapKey(key))
		unknown := below(m.unknown, key, 0)
		element := object{reading: o.reading, path: at, after: fields(m.after[key]), unknown: unknown}
		switch {
		case wholly(unknown):
			o.reading.known = o.reading.known.Unknown(at)
		case element.after == nil:
			o.reading.wrongType(at, "an object")
		}
		read(key, element)
	}
	return true
}

// keys lists the keys of a map, known and unknown values alike.
func (o object) keys() []string {
	keys := slices.Collect(maps.Keys(o.after))
	for key, unknown := range fields(o.unknown) {
		if _, stated := o.after[key]; !stated && wholly(unknown) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// labels reads a map of strings.
func (o object) labels(name string) map[string]string {
	m, ok := o.child(name)
	if !ok {
		return nil
	}
	labels := make(map[string]string, len(m.after))
	for _, key := range m.keys() {
		at := m.path.Append(sandbox.MapKey(key))
		text, isText := m.after[key].(string)
		switch {
		case wholly(below(m.unknown, key, 0)):
			o.reading.known = o.reading.known.Unknown(at)
		case !isText:
			o.reading.wrongType(at, "a string")
		}
		labels[key] = text
	}
	return labels
}

// word reads one word of a closed vocabulary. One that is no word is a finding.
func word[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](o object, name string) T {
	var w T
	v, path, ok := o.value(name)
	if !ok {
		return w
	}
	text, _ := v.(string)
	if err := P(&w).UnmarshalText([]byte(text)); err != nil {
		o.reading.findings = append(o.reading.findings, sandbox.FindingsAt(err, path)...)
	}
	return w
}

// words reads a list of words as a set, and whether it is stated.
func words[T interface {
	~uint8
	String() string
}, P interface {
	*T
	encoding.TextUnmarshaler
}](o object, name string,
) (set sandbox.Set[T], stated bool) {
	texts := o.texts(name)
	for i, text := range texts {
		at := o.path.Append(sandbox.Attr(name), sandbox.Index(i))
		if !o.reading.known.Has(at) {
			continue
		}
		var w T
		if err := P(&w).UnmarshalText([]byte(text)); err != nil {
			o.reading.findings = append(o.reading.findings, sandbox.FindingsAt(err, at)...)
			continue
		}
		set = set.With(w)
	}
	return set, texts != nil
}
