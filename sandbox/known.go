package sandbox

import "slices"

// Known says which fields of a value are known, for callers such as a Terraform
// plan that do not know all of them yet. It stands beside the value and never
// inside it: a field that is marked unknown has no meaning, whatever it holds.
// The zero Known knows everything.
type Known struct {
	unknown []FieldPath
}

// Unknown returns k with the fields at the given paths, and all below them,
// marked unknown. k is not changed.
func (k Known) Unknown(paths ...FieldPath) Known {
	unknown := make([]FieldPath, 0, len(k.unknown)+len(paths))
	return Known{unknown: append(append(unknown, k.unknown...), paths...)}
}

// Has reports whether the field at path is known: neither it nor anything above
// it is marked. Fields below it may still be unknown; see [Known.Whole].
func (k Known) Has(path FieldPath) bool {
	return !slices.ContainsFunc(k.unknown, path.HasPrefix)
}

// Whole reports whether the field at path and everything below it is known.
func (k Known) Whole(path FieldPath) bool {
	for _, u := range k.unknown {
		if path.HasPrefix(u) || u.HasPrefix(path) {
			return false
		}
	}
	return true
}

// Everything reports whether nothing is unknown.
func (k Known) Everything() bool { return len(k.unknown) == 0 }

// Paths lists what is unknown, in the order it was marked.
func (k Known) Paths() []FieldPath { return append([]FieldPath(nil), k.unknown...) }
