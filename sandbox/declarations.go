package sandbox

// Declarations are what a backend says of itself. Each zero value is that
// field's silence: it claims the least, and silence about egress serves nobody
// (spec A42, A43).
type Declarations struct {
	// Backend is the backend's name.
	Backend string
	// Isolation is the rung, and what stands behind the claim.
	Isolation         Isolation
	IsolationEvidence Evidence
	// Capabilities is what the backend offers; nil is [DefaultCapabilities].
	Capabilities *CapabilitySet
	// FilesIn and FilesOut are ceilings; nil is [DefaultTransferLimits].
	FilesIn, FilesOut *TransferLimits
	// EgressModes are the modes it enforces.
	EgressModes EgressModeSet
	// Guarantees are the ways around a mode that it shuts, with evidence.
	Guarantees map[Guarantee]Evidence
	// MethodTokens are the HTTP methods it can tell apart. Nil is any token; it
	// only matters where egress_methods is offered.
	MethodTokens []string
	// ImageSources are the ways of naming an image that it can make a sandbox
	// from. Empty refuses only a workload that names one.
	ImageSources ImageSourceSet
	// OSFamilies are the guests it has. Empty refuses only a workload that asks.
	OSFamilies OSFamilySet
	// IsolationScopes are the sharings it keeps apart; empty is read as
	// conversation.
	IsolationScopes IsolationScopeSet
	// AttachedIdentity is the platform identity its sandboxes carry, if any.
	AttachedIdentity AttachedIdentity
	// ProgramChannels are the ways it can run a program of a profile.
	ProgramChannels []ProgramChannel
	// WriteAuthority says with whose power files are read, written and removed;
	// unspecified is guest.
	WriteAuthority WriteAuthority
	// ObservesEgress and ExclusiveAdmission are facts for hosts.
	ObservesEgress     bool
	ExclusiveAdmission bool
}

// AttachedIdentity describes a platform identity that the guest's traffic can
// use. The zero value is none.
type AttachedIdentity struct {
	Scope            IdentityScope
	RetentionSeconds int64
	Channels         AuthorityChannelSet
}

// Attached reports whether there is an identity at all.
func (a AttachedIdentity) Attached() bool {
	return a.Scope != IdentityScopeUnspecified && a.Scope != IdentityScopeNone
}

// ProgramChannel is one way a backend can run a whole program.
type ProgramChannel struct {
	Name string
	// Profiles are the program profiles it serves.
	Profiles []string
	// HostTools says whether host tools work through it.
	HostTools bool
	// Needs are the capabilities it builds on.
	Needs CapabilitySet
}

// Principal is as whom something is done inside a guest.
type Principal uint8

const (
	PrincipalUnspecified Principal = iota
	// PrincipalGuest: as the program's own user, with exactly its reach.
	PrincipalGuest
	// PrincipalRoot: as root of the guest, which can do what the program cannot.
	PrincipalRoot
)

var principals = vocabulary[Principal]{noun: "principal", words: []string{"", "guest", "root"}}

// ParsePrincipal reads "guest" or "root".
func ParsePrincipal(text string) (Principal, error) { return principals.parse(text) }

// Principals lists the principals.
func Principals() []Principal { return principals.all() }

// String is the principal's text, empty when unspecified.
func (p Principal) String() string { return principals.text(p) }

// MarshalText fails on a value outside the vocabulary.
func (p Principal) MarshalText() ([]byte, error) { return principals.marshal(p) }

// UnmarshalText accepts exactly what [ParsePrincipal] does.
func (p *Principal) UnmarshalText(text []byte) error { return principals.unmarshal(p, text) }
