package provider

import (
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// reading collects what is noticed while one value is read: what is not known
// yet and what is wrong. Paths count from the root of the value. It works on
// Terraform's own values rather than on model structs, because any part of a
// value may be unknown, and because one mapping then serves the configurations of
// resources, objects nested in them and the dynamic arguments of functions: a
// tuple does for a list, an object for a map, and a number for the text of a
// number, as in Terraform's own conversions.
type reading struct {
	known    sandbox.Known
	findings []sandbox.Finding
	// strict refuses names that nobody asked for. Terraform itself does so at the
	// root of a resource; a function's dynamic argument has only this.
	strict bool
}

func (r *reading) unknownAt(path sandbox.FieldPath) { r.known = r.known.Unknown(path) }

// reject notes a finding and marks the place unknown, so that the decision does
// not draw conclusions from a value that nobody meant.
func (r *reading) reject(path sandbox.FieldPath, findings ...sandbox.Finding) {
	r.findings = append(r.findings, findings...)
	r.unknownAt(path)
}

func (r *reading) wrongType(path sandbox.FieldPath, v tftypes.Value, required string) {
	r.reject(path, sandbox.Finding{
		Code: sandbox.CodeWrongType, Path: path, Found: typeName(v), Required: required,
		Remedy: "write " + required,
	})
}

func (r *reading) null(path sandbox.FieldPath, required string) {
	r.reject(path, sandbox.Finding{
		Code: sandbox.CodeNullField, Path: path, Found: "null", Required: required,
		Remedy: "state it, and check how it is spelt",
	})
}

// object is one object being read. Its methods read an attribute by name; an
// attribute that is absent or null reads as the zero value.
type object struct {
	reading *reading
	path    sandbox.FieldPath
	attrs   map[string]tftypes.Value
	asked   map[string]bool
}

// open returns the object that v holds. Without one it is false: null is told
// apart from unknown, which is marked, and from another type, which is a finding.
func (r *reading) open(v tftypes.Value, path sandbox.FieldPath) (*object, bool) {
	switch {
	case !v.IsKnown():
		r.unknownAt(path)
		return nil, false
	case v.IsNull():
		return nil, false
	}
	attrs := map[string]tftypes.Value{}
	if !isKeyed(v) || v.As(&attrs) != nil {
		r.wrongType(path, v, "an object")
		return nil, false
	}
	return &object{reading: r, path: path, attrs: attrs, asked: make(map[string]bool, len(attrs))}, true
}

// get returns an attribute that holds a value. An unknown one is marked.
func (o *object) get(name string) (v tftypes.Value, path sandbox.FieldPath, ok bool) {
	o.asked[name] = true
	v, present := o.attrs[name]
	if !present || (v.IsKnown() && v.IsNull()) {
		return v, nil, false
	}
	path = o.path.Append(sandbox.Attr(name))
	if !v.IsKnown() {
		o.reading.unknownAt(path)
		return v, path, false
	}
	return v, path, true
}

// settled reports whether the attribute is known, null included.
func (o *object) settled(name string) bool {
	v, present := o.attrs[name]
	return !present || v.IsKnown()
}

// text reads a string.
func (o *object) text(name string) string {
	v, path, ok := o.get(name)
	if !ok {
		return ""
	}
	text, ok := asText(v)
	if !ok {
		o.reading.wrongType(path, v, "a string")
	}
	return text
}

// demanded reads a string that has to be there: its absence is a finding, and
// mostly a misspelt name. Of an object that is not known yet, or is none, nothing
// is demanded.
func (o *object) demanded(name, required string) string {
	if o.attrs == nil {
		return ""
	}
	if v, present := o.attrs[name]; !present || (v.IsKnown() && v.IsNull()) {
		o.asked[name] = true
		o.reading.null(o.path.Append(sandbox.Attr(name)), required)
		return ""
	}
	return o.text(name)
}

// flag reads a boolean; absent is what unstated says.
func (o *object) flag(name string, unstated bool) bool {
	v, path, ok := o.get(name)
	if !ok {
		return unstated
	}
	var b bool
	if v.As(&b) == nil {
		return b
	}
	text, _ := asText(v)
	b, err := strconv.ParseBool(text)
	if err != nil || (text != "true" && text != "false") {
		o.reading.wrongType(path, v, "true or false")
	}
	return b
}

// whole reads a whole number and whether one is stated.
func (o *object) whole(name string) (n int64, stated bool) {
	v, path, ok := o.get(name)
	if !ok {
		return 0, false
	}
	text, ok := asText(v)
	f, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
	if !ok || err != nil {
		o.reading.wrongType(path, v, "a whole number")
		return 0, true
	}
	n, accuracy := f.Int64()
	if accuracy != big.Exact {
		o.reading.reject(path, sandbox.Finding{
			Code: sandbox.CodeOutOfRange, Path: path, Found: sandbox.Echo(text),
			Required: "a whole number of at most " + strconv.FormatInt(sandbox.MaxDocumentInteger, 10),
			Remedy:   "write a whole number in that range",
		})
		return 0, true
	}
	return n, true
}

// texts reads a list of strings: nil when absent, empty when stated empty. An
// element that is not known yet is marked and reads as "".
func (o *object) texts(name string) []string {
	v, path, ok := o.get(name)
	if !ok {
		return nil
	}
	var elements []tftypes.Value
	if !isListed(v) || v.As(&elements) != nil {
		o.reading.wrongType(path, v, "a list of strings")
		return nil
	}
	texts := make([]string, len(elements))
	for i, e := range elements {
		at := path.Append(sandbox.Index(i))
		switch text, ok := asText(e); {
		case !e.IsKnown():
			o.reading.unknownAt(at)
		case e.IsNull():
			o.reading.null(at, "a string")
		case !ok:
			o.reading.wrongType(at, e, "a string")
		default:
			texts[i] = text
		}
	}
	return texts
}

// each calls read for every element of a map, in the order of the keys, and
// reports whether the map is stated.
func (o *object) each(name string, read func(key string, v tftypes.Value, path sandbox.FieldPath)) bool {
	v, path, ok := o.get(name)
	if !ok {
		return false
	}
	elements := map[string]tftypes.Value{}
	if !isKeyed(v) || v.As(&elements) != nil {
		o.reading.wrongType(path, v, "a map")
		return true
	}
	for _, key := range sortedKeys(elements) {
		read(key, elements[key], path.Append(sandbox.MapKey(key)))
	}
	return true
}

// eachObject is each for maps of objects. An element that is null is a finding,
// since it states nothing. Every key is read; an element that is null, not known
// yet or of another type is marked so, and reads as an empty object.
func (o *object) eachObject(name string, read func(key string, element *object)) bool {
	return o.each(name, func(key string, v tftypes.Value, path sandbox.FieldPath) {
		element, ok := o.reading.open(v, path)
		if !ok {
			element = &object{reading: o.reading, path: path, asked: map[string]bool{}}
			if v.IsKnown() && v.IsNull() {
				o.reading.null(path, "an object")
			}
		}
		read(key, element)
		element.done()
	})
}

// child opens a nested object and reports whether it is stated and known.
func (o *object) child(name string) (*object, bool) {
	v, path, ok := o.get(name)
	if !ok {
		return nil, false
	}
	return o.reading.open(v, path)
}

// ignore says that these names are known and mean nothing here, such as the
// computed attributes of a resource that was passed whole.
func (o *object) ignore(names ...string) {
	for _, name := range names {
		o.asked[name] = true
	}
}

// done reports the names that nobody asked for, when the reading is strict.
func (o *object) done() {
	if !o.reading.strict {
		return
	}
	asked := sortedKeys(o.asked)
	for _, name := range sortedKeys(o.attrs) {
		if o.asked[name] {
			continue
		}
		o.reading.findings = append(o.reading.findings, unknownName(name, asked, o.path))
	}
}

// asText renders a primitive as Terraform's own conversion to string does.
func asText(v tftypes.Value) (string, bool) {
	if !v.IsKnown() || v.IsNull() {
		return "", false
	}
	switch {
	case v.Type().Is(tftypes.String):
		var text string
		err := v.As(&text)
		return text, err == nil
	case v.Type().Is(tftypes.Bool):
		var b bool
		err := v.As(&b)
		return strconv.FormatBool(b), err == nil
	case v.Type().Is(tftypes.Number):
		var f big.Float
		if v.As(&f) != nil {
			return "", false
		}
		return f.Text('f', -1), true
	default:
		return "", false
	}
}

func isKeyed(v tftypes.Value) bool {
	return v.Type().Is(tftypes.Object{}) || v.Type().Is(tftypes.Map{})
}

func isListed(v tftypes.Value) bool {
	return v.Type().Is(tftypes.List{}) || v.Type().Is(tftypes.Set{}) || v.Type().Is(tftypes.Tuple{})
}

// typeName says what a value is, in Terraform's words.
func typeName(v tftypes.Value) string {
	switch {
	case isKeyed(v):
		return "an object or a map"
	case isListed(v):
		return "a list"
	case v.Type().Is(tftypes.Bool):
		return "a boolean"
	case v.Type().Is(tftypes.Number):
		return "a number"
	case v.Type().Is(tftypes.String):
		return "a string"
	default:
		return "another type"
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
