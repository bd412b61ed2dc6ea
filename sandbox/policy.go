package sandbox

// Policy bounds what workloads may ask for. It is plain data as people write
// it; the decision compiles it. Every field only ever tightens: several
// policies combine to the strictest of each, and the zero value has no opinion,
// except that with no floor anywhere [DefaultIsolationFloor] holds.
//
// Field names are the attribute names of sandbox_policy and the keys of the
// policy document, in Go's spelling; what shares a prefix there (egress_mode,
// image_user) is a struct here, and limits drop the suffix _limits.
type Policy struct {
	// Name is used in messages and travels with the policy. It may be empty.
	Name string

	// MinimumIsolation is the isolation floor.
	MinimumIsolation Isolation
	// MinimumEvidence is what must stand behind a backend's rung and its
	// guarantees: probed unless the policy says documented. Emulated evidence
	// never counts and cannot be asked for.
	MinimumEvidence EvidenceKind
	// MinimumIsolationScope is the widest sharing permitted.
	MinimumIsolationScope IsolationScope
	// MinimumCleanup is the weakest clean-up permitted.
	MinimumCleanup Cleanup

	// DeniedCapabilities and DeniedIdentities are refused whatever the backend
	// offers.
	DeniedCapabilities CapabilitySet
	DeniedIdentities   IdentitySet
	// MaximumIdentityScope bounds an attached platform identity. Unspecified
	// permits none.
	MaximumIdentityScope IdentityScope

	// Egress is the upper bound of every workload's egress. An unspecified mode
	// is closed.
	Egress Egress
	// EgressMatch says how modes are compared with a backend's.
	EgressMatch EgressMatch
	// MissingGuarantees says what becomes of a workload whose mode leaves a way
	// around open on its backend: a warning unless it is refuse.
	MissingGuarantees MissingGuarantees
	// NeverReaches are hosts and ranges that no workload's egress may overlap.
	NeverReaches []string

	// FilesIn and FilesOut are ceilings of a workload's transfer limits; nil is
	// no opinion.
	FilesIn, FilesOut *TransferLimits

	// Images bounds what sandboxes are made from.
	Images ImagePolicy
}

// ImagePolicy bounds what sandboxes are made from.
type ImagePolicy struct {
	// Registries lists the registries that references may name, host and port.
	// Nil is no opinion; an empty list permits none.
	Registries []string
	// RequireDigest wants every image named by content.
	RequireDigest bool
	// Prebuilt says whether catalogue images are permitted; unspecified permits.
	Prebuilt PrebuiltRule
	// User bounds which user an image may run as.
	User ImageUser
}

// MissingGuarantees says what becomes of a workload on a backend that leaves a
// way around its egress mode open.
type MissingGuarantees uint8

const (
	MissingGuaranteesUnspecified MissingGuarantees = iota
	// MissingGuaranteesWarn lets it through with a finding.
	MissingGuaranteesWarn
	// MissingGuaranteesRefuse denies it.
	MissingGuaranteesRefuse
)

var missingGuarantees = vocabulary[MissingGuarantees]{
	noun:  "missing guarantees rule",
	words: []string{"", "warn", "refuse"},
}

// ParseMissingGuarantees reads "warn" or "refuse".
func ParseMissingGuarantees(text string) (MissingGuarantees, error) {
	return missingGuarantees.parse(text)
}

// MissingGuaranteesRules lists the rules.
func MissingGuaranteesRules() []MissingGuarantees { return missingGuarantees.all() }

// String is the rule's text, empty when unspecified.
func (m MissingGuarantees) String() string { return missingGuarantees.text(m) }

// MarshalText fails on a value outside the vocabulary.
func (m MissingGuarantees) MarshalText() ([]byte, error) { return missingGuarantees.marshal(m) }

// UnmarshalText accepts exactly what [ParseMissingGuarantees] does.
func (m *MissingGuarantees) UnmarshalText(text []byte) error {
	return missingGuarantees.unmarshal(m, text)
}
