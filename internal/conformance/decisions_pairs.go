package conformance

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// pairs changes two things at once, for every two checks: what each alone is
// denied for is denied together, in the order of the checks. Nothing is decided
// about what is malformed, so beside it only malformed things are reported.
//
// Two changes of the same field would be one, so each pair takes the first
// refusals of its checks that change different ones.
func pairs() []DecisionRow {
	var rows []DecisionRow
	asked := questions()
	for i, first := range asked {
		for j, second := range asked[i+1:] {
			if j += i + 1; j == alone-1 {
				continue // a router reads the manifest before it asks a backend anything
			}
			a, b, ok := apart(first, second)
			if !ok {
				continue
			}
			locators := slices.Clone(a.denied)
			if i >= alone || j < alone {
				locators = append(locators, b.denied...)
			}
			rows = append(rows, deniedRow(first.check+" and "+second.check, a.name+"; "+b.name, then(a.change, b.change), locators...))
		}
	}
	return rows
}

// apart finds a refusal of each question that changes nothing the other changes.
func apart(first, second question) (a, b refusal, ok bool) {
	for _, a := range first.refusals {
		for _, b := range second.refusals {
			if disjoint(changed(a.change), changed(b.change)) {
				return a, b, true
			}
		}
	}
	return a, b, false
}

// changed names the fields that a change of the world that fits sets.
func changed(c change) map[string]bool {
	fields := map[string]bool{}
	before, after := Fits(), worldAfter(c)
	compareFields("", reflect.ValueOf(before), reflect.ValueOf(after), fields)
	return fields
}

func compareFields(at string, a, b reflect.Value, fields map[string]bool) {
	for i := range a.NumField() {
		field := a.Type().Field(i)
		name := strings.TrimPrefix(at+"."+field.Name, ".")
		switch {
		case !field.IsExported() || reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
		case field.Type.Kind() == reflect.Struct && field.Type.Field(0).IsExported():
			compareFields(name, a.Field(i), b.Field(i), fields)
		default:
			fields[name] = true
		}
	}
}

func disjoint(a, b map[string]bool) bool {
	for field := range maps.Keys(a) {
		if b[field] {
			return false
		}
	}
	return true
}
