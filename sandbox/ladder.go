package sandbox

// ladder is a vocabulary type whose order means something: a larger value is
// stricter. The zero value is no opinion.
type ladder interface {
	Isolation | IsolationScope | Cleanup | SourceIntegrity | EvidenceKind
}

// Strongest returns the strictest of several floors. Unspecified ones are no
// opinion; with no opinion at all the result is unspecified.
func Strongest[T ladder](floors ...T) T {
	var strongest T
	for _, f := range floors {
		strongest = max(strongest, f)
	}
	return strongest
}
