package sandbox

// EvidenceKind is what stands behind a claim of a backend, weakest first.
type EvidenceKind uint8

const (
	EvidenceKindUnspecified EvidenceKind = iota
	// EvidenceEmulated: an emulator says so. It meets no floor.
	EvidenceEmulated
	// EvidenceDocumented: the vendor says so. It counts only where the policy accepts it.
	EvidenceDocumented
	// EvidenceProbed: a conformance probe showed it.
	EvidenceProbed
)

var evidenceKinds = vocabulary[EvidenceKind]{
	noun:  "evidence",
	words: []string{"", "emulated", "documented", "probed"},
}

// ParseEvidenceKind reads a word such as "emulated", exactly as written.
func ParseEvidenceKind(text string) (EvidenceKind, error) { return evidenceKinds.parse(text) }

// EvidenceKinds lists every value, weakest first.
func EvidenceKinds() []EvidenceKind { return evidenceKinds.all() }

// String is the value's text, empty when unspecified.
func (e EvidenceKind) String() string { return evidenceKinds.text(e) }

// MarshalText fails on a value outside the vocabulary.
func (e EvidenceKind) MarshalText() ([]byte, error) { return evidenceKinds.marshal(e) }

// UnmarshalText accepts exactly what [ParseEvidenceKind] does.
func (e *EvidenceKind) UnmarshalText(text []byte) error { return evidenceKinds.unmarshal(e, text) }

// Evidence is one claim's ground. The zero value is no evidence at all.
type Evidence struct {
	Kind EvidenceKind `json:"kind"`
	// Reference says where to look: a probe's name and date, a document's title.
	Reference string `json:"reference,omitempty"`
}

// String reads "probed (reference)".
func (e Evidence) String() string {
	kind := e.Kind.String()
	if kind == "" {
		kind = "no evidence"
	}
	if e.Reference == "" {
		return kind
	}
	return kind + " (" + e.Reference + ")"
}
