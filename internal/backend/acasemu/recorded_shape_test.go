package acasemu_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Names of types, which stand in a shape for values.
const (
	isString, isNumber, isBool, isNull = "string", "number", "bool", "null"
)

// shapeOf is a document with the names of types in place of values. A list has the
// shape of its first entry.
func shapeOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		shape := map[string]any{}
		for name, inner := range v {
			shape[name] = shapeOf(inner)
		}
		return shape
	case []any:
		if len(v) == 0 {
			return []any{}
		}
		return []any{shapeOf(v[0])}
	case string:
		return isString
	case float64:
		return isNumber
	case bool:
		return isBool
	default:
		return isNull
	}
}

// differences are where two shapes differ, by path. A list that is empty may hold
// anything.
func differences(at string, theirs, ours any) []string {
	switch theirs := theirs.(type) {
	case map[string]any:
		ours, ok := ours.(map[string]any)
		if !ok {
			break
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(theirs)) {
			if inner, ok := ours[name]; ok {
				all = append(all, differences(at+"/"+name, theirs[name], inner)...)
			} else {
				all = append(all, fmt.Sprintf("%s/%s: missing", at, name))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(ours)) {
			if _, ok := theirs[name]; !ok {
				all = append(all, fmt.Sprintf("%s/%s: more", at, name))
			}
		}
		return all
	case []any:
		ours, ok := ours.([]any)
		if !ok {
			break
		}
		if len(theirs) > 0 && len(ours) > 0 {
			return differences(at+"/0", theirs[0], ours[0])
		}
		return nil
	default:
		if theirs == ours {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: %s, not %s", at, word(ours), word(theirs))}
}

func word(shape any) string {
	switch shape := shape.(type) {
	case string:
		return shape
	case []any:
		return "list"
	case nil:
		return "nothing"
	default:
		return "object"
	}
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// reactionOf is the shape of an answer.
func reactionOf(status int, headers map[string]string, body any) reaction {
	r := reaction{Status: status, Kind: headers["content-type"], IDs: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		// Of the connection, not of the service.
		if !slices.Contains([]string{"date", "content-length", "connection", "server"}, name) {
			r.Headers = append(r.Headers, name)
		}
		if strings.HasSuffix(name, "operation") || name == "location" {
			if ids := uuid.FindAllString(headers[name], -1); len(ids) > 0 {
				r.IDs["header "+name] = ids[len(ids)-1] // the first is the subscription
			}
		}
	}
	if strings.Contains(r.Kind, "json") {
		r.Body = shapeOf(body)
		findIDs("", body, r.IDs)
	}
	return r
}

// findIDs finds the UUIDs of a document by where they stand.
func findIDs(at string, v any, found map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if name != "traceId" && name != "requestId" {
				findIDs(at+"/"+name, inner, found)
			}
		}
	case []any:
		for i, inner := range v {
			findIDs(fmt.Sprintf("%s/%d", at, i), inner, found)
		}
	case string:
		if uuid.FindString(v) == v && v != "" {
			found[at] = v
		}
	}
}
