package wire

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Extra keeps the members of an object that its type does not know. Every answer
// has one at every level, so that a field the service added or renamed is seen
// where it stands instead of being read as absent.
type Extra map[string]jsontext.Value

// Unknown lists the members of v, at any depth, that its types do not know, as
// paths: "egressPolicy.transportRules", "ports[0].cors". Comparing two policies
// without asking it first compares only what both happen to know.
func Unknown(v any) []string {
	var paths []string
	collect(reflect.ValueOf(v), "", &paths)
	slices.Sort(paths)
	return paths
}

func collect(v reflect.Value, path string, paths *[]string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			collect(v.Elem(), path, paths)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 { // a raw JSON value
			return
		}
		for i := range v.Len() {
			collect(v.Index(i), path+"["+strconv.Itoa(i)+"]", paths)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			collect(it.Value(), join(path, it.Key().String()), paths)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			if extra, ok := reflect.TypeAssert[Extra](v.Field(i)); ok {
				if field.Tag.Get("json") == ",embed" { // otherwise an object kept whole on purpose
					for name := range extra {
						*paths = append(*paths, join(path, name))
					}
				}
				continue
			}
			collect(v.Field(i), join(path, jsonName(field)), paths)
		}
	default: // a leaf
	}
}

func jsonName(f reflect.StructField) string {
	tag := f.Tag.Get("json")
	for i, r := range tag {
		if r == ',' {
			return tag[:i]
		}
	}
	return tag
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// Known empties every [Extra] that keeps members a type does not know, at any
// depth of what v points to: what is left is what the contract has.
func Known(v any) { forget(reflect.ValueOf(v)) }

func forget(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			forget(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 { // a raw JSON value
			return
		}
		for i := range v.Len() {
			forget(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			if field.Tag.Get("json") == ",embed" && field.Type == reflect.TypeFor[Extra]() {
				v.Field(i).SetZero()
				continue
			}
			forget(v.Field(i))
		}
	default: // a leaf, or a map, whose members are all its own
	}
}
