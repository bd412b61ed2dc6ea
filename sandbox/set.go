package sandbox

import (
	"encoding"
	"math/bits"
	"slices"
	"strings"
)

// member is a vocabulary type of at most 63 words that renders itself.
type member interface {
	~uint8
	String() string
}

// Set is a set of words of one vocabulary. Its text is the words, sorted. The
// zero value is the empty set.
type Set[T member] struct{ bits uint64 }

// The sets of the vocabulary.
type (
	CapabilitySet       = Set[Capability]
	IdentitySet         = Set[Identity]
	EgressModeSet       = Set[EgressMode]
	GuaranteeSet        = Set[Guarantee]
	OSFamilySet         = Set[OSFamily]
	IsolationScopeSet   = Set[IsolationScope]
	AuthorityChannelSet = Set[AuthorityChannel]
	ImageSourceSet      = Set[ImageSource]
)

// SetOf makes a set. The zero word is unspecified and is left out.
func SetOf[T member](words ...T) Set[T] {
	var s Set[T]
	for _, w := range words {
		s = s.With(w)
	}
	return s
}

// With returns s with w in it.
func (s Set[T]) With(w T) Set[T] {
	if w == 0 || w > 63 {
		return s
	}
	return Set[T]{s.bits | 1<<w}
}

// Has reports whether w is in s.
func (s Set[T]) Has(w T) bool { return w > 0 && w <= 63 && s.bits&(1<<w) != 0 }

// Union returns what is in s or in t.
func (s Set[T]) Union(t Set[T]) Set[T] { return Set[T]{s.bits | t.bits} }

// Intersect returns what is in s and in t.
func (s Set[T]) Intersect(t Set[T]) Set[T] { return Set[T]{s.bits & t.bits} }

// Minus returns what is in s and not in t.
func (s Set[T]) Minus(t Set[T]) Set[T] { return Set[T]{s.bits &^ t.bits} }

// Empty reports whether s has no word.
func (s Set[T]) Empty() bool { return s.bits == 0 }

// Len is the number of words.
func (s Set[T]) Len() int { return bits.OnesCount64(s.bits) }

// Words lists the words in the order of the vocabulary.
func (s Set[T]) Words() []T {
	words := make([]T, 0, s.Len())
	for b := s.bits; b != 0; b &= b - 1 {
		words = append(words, T(bits.TrailingZeros64(b)))
	}
	return words
}

// Strings lists the words' text, sorted.
func (s Set[T]) Strings() []string {
	out := make([]string, 0, s.Len())
	for _, w := range s.Words() {
		out = append(out, w.String())
	}
	slices.Sort(out)
	return out
}

// String joins the sorted words with ", ", and is "nothing" for the empty set.
func (s Set[T]) String() string {
	if s.Empty() {
		return "nothing"
	}
	return strings.Join(s.Strings(), ", ")
}

// ParseSet reads words exactly. Every word that is not in the vocabulary yields
// a finding at its index below at, so that all of them are reported at once.
// Order and repetition do not matter.
func ParseSet[T member, P interface {
	*T
	encoding.TextUnmarshaler
}](words []string, at FieldPath,
) (Set[T], []Finding) {
	var s Set[T]
	var findings []Finding
	for i, text := range words {
		var w T
		if err := P(&w).UnmarshalText([]byte(text)); err != nil {
			findings = append(findings, FindingsAt(err, at.Append(Index(i)))...)
			continue
		}
		s = s.With(w)
	}
	return s, findings
}

// FindingsAt turns the refusals that err carries into findings at the given
// path. An error that is no refusal becomes a finding of [CodeInvalidText].
func FindingsAt(err error, at FieldPath) []Finding {
	if err == nil {
		return nil
	}
	refusals := RefusalsOf(err)
	if len(refusals) == 0 {
		return []Finding{{Code: CodeInvalidText, Path: at, Found: err.Error()}}
	}
	findings := make([]Finding, len(refusals))
	for i, r := range refusals {
		findings[i] = r.Finding
		findings[i].Path = at.Append(r.Path...)
	}
	return findings
}
