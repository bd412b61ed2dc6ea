package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Labels are the service's own key and value pairs; everything made in a group
// may carry some.
type Labels map[string]string

// MaxLabelValue is the longest value in characters; the service answers 400 to a
// longer one.
const MaxLabelValue = 63

// maxLabelKey is ours: the service states no bound.
const maxLabelKey = 63

// Check reports the first label, by key, that the service would refuse or that a
// filter could not find again: the filter's syntax has no escape.
func (l Labels) Check() error {
	for _, k := range slices.Sorted(maps.Keys(l)) {
		if k == "" || len(k) > maxLabelKey || strings.ContainsFunc(k, cannotFilter) {
			return fmt.Errorf("label key %q is not 1 to %d characters without control characters, spaces, ',' or '='", k, maxLabelKey)
		}
		if n := len([]rune(l[k])); n > MaxLabelValue {
			return fmt.Errorf("label %q has a value of %d characters, more than %d", k, n, MaxLabelValue)
		}
		if strings.ContainsFunc(l[k], cannotFilter) {
			return fmt.Errorf("label %q has a value with control characters, spaces, ',' or '='", k)
		}
	}
	return nil
}

func cannotFilter(r rune) bool {
	return r == ',' || r == '=' || unicode.IsSpace(r) || !unicode.IsGraphic(r)
}

// Filter is the value of the query parameter labels, which asks for all of them:
// "k=v,k2=v2" in the order of the keys.
func (l Labels) Filter() string {
	pairs := make([]string, 0, len(l))
	for _, k := range slices.Sorted(maps.Keys(l)) {
		pairs = append(pairs, k+"="+l[k])
	}
	return strings.Join(pairs, ",")
}

// Has reports whether l carries every one of want. Whoever listed by a filter
// asks it again of each item: adopting or deleting by label must not rest on the
// server having filtered.
func (l Labels) Has(want Labels) bool {
	for k, v := range want {
		if got, ok := l[k]; !ok || got != v {
			return false
		}
	}
	return true
}
