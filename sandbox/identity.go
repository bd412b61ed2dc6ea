package sandbox

// Identity is the authority under which a host tool acts (spec A20).
type Identity uint8

const (
	IdentityUnspecified Identity = iota
	// IdentityApp: the application's whole authority. It is not a safe choice.
	IdentityApp
	// IdentityUser: the authority of the person the call is made for.
	IdentityUser
)

var identities = vocabulary[Identity]{
	noun:  "identity",
	words: []string{"", "app", "user"},
}

// ParseIdentity reads a word such as "app", exactly as written.
func ParseIdentity(text string) (Identity, error) { return identities.parse(text) }

// Identities lists every value.
func Identities() []Identity { return identities.all() }

// String is the value's text, empty when unspecified.
func (i Identity) String() string { return identities.text(i) }

// MarshalText fails on a value outside the vocabulary.
func (i Identity) MarshalText() ([]byte, error) { return identities.marshal(i) }

// UnmarshalText accepts exactly what [ParseIdentity] does.
func (i *Identity) UnmarshalText(text []byte) error { return identities.unmarshal(i, text) }

// IdentityScope says how far an attached platform identity is shared, least first
// (spec B49).
type IdentityScope uint8

const (
	IdentityScopeUnspecified IdentityScope = iota
	// IdentityScopeNone: no platform identity is attached.
	IdentityScopeNone
	// IdentityScopePerSandbox: one identity for each sandbox.
	IdentityScopePerSandbox
	// IdentityScopePerScope: one identity for all sandboxes of a scope.
	IdentityScopePerScope
	// IdentityScopeShared: one identity for everybody.
	IdentityScopeShared
)

var identityScopes = vocabulary[IdentityScope]{
	noun:  "identity scope",
	words: []string{"", "none", "per_sandbox", "per_scope", "shared"},
}

// ParseIdentityScope reads a word such as "none", exactly as written.
func ParseIdentityScope(text string) (IdentityScope, error) { return identityScopes.parse(text) }

// IdentityScopes lists every value, weakest first.
func IdentityScopes() []IdentityScope { return identityScopes.all() }

// String is the value's text, empty when unspecified.
func (i IdentityScope) String() string { return identityScopes.text(i) }

// MarshalText fails on a value outside the vocabulary.
func (i IdentityScope) MarshalText() ([]byte, error) { return identityScopes.marshal(i) }

// UnmarshalText accepts exactly what [ParseIdentityScope] does.
func (i *IdentityScope) UnmarshalText(text []byte) error { return identityScopes.unmarshal(i, text) }

// AuthorityChannel is a way for an attached identity to be used by the guest
// without being readable by it.
type AuthorityChannel uint8

const (
	AuthorityChannelUnspecified AuthorityChannel = iota
	// ChannelEgressHeader: a header that is added on the way out.
	ChannelEgressHeader
)

var authorityChannels = vocabulary[AuthorityChannel]{
	noun:  "authority channel",
	words: []string{"", "egress_header"},
}

// ParseAuthorityChannel reads a word such as "egress_header", exactly as written.
func ParseAuthorityChannel(text string) (AuthorityChannel, error) {
	return authorityChannels.parse(text)
}

// AuthorityChannels lists every value.
func AuthorityChannels() []AuthorityChannel { return authorityChannels.all() }

// String is the value's text, empty when unspecified.
func (a AuthorityChannel) String() string { return authorityChannels.text(a) }

// MarshalText fails on a value outside the vocabulary.
func (a AuthorityChannel) MarshalText() ([]byte, error) { return authorityChannels.marshal(a) }

// UnmarshalText accepts exactly what [ParseAuthorityChannel] does.
func (a *AuthorityChannel) UnmarshalText(text []byte) error {
	return authorityChannels.unmarshal(a, text)
}

// SourceIntegrity is how far data is to be believed, least first (spec A19).
type SourceIntegrity uint8

const (
	IntegrityUnspecified SourceIntegrity = iota
	// IntegrityUntrusted: anybody may have written it.
	IntegrityUntrusted
	// IntegrityTrusted: the host vouches for it.
	IntegrityTrusted
)

var integrities = vocabulary[SourceIntegrity]{
	noun:  "source integrity",
	words: []string{"", "untrusted", "trusted"},
}

// ParseSourceIntegrity reads a word such as "untrusted", exactly as written.
func ParseSourceIntegrity(text string) (SourceIntegrity, error) { return integrities.parse(text) }

// SourceIntegrities lists every value, weakest first.
func SourceIntegrities() []SourceIntegrity { return integrities.all() }

// String is the value's text, empty when unspecified.
func (s SourceIntegrity) String() string { return integrities.text(s) }

// MarshalText fails on a value outside the vocabulary.
func (s SourceIntegrity) MarshalText() ([]byte, error) { return integrities.marshal(s) }

// UnmarshalText accepts exactly what [ParseSourceIntegrity] does.
func (s *SourceIntegrity) UnmarshalText(text []byte) error { return integrities.unmarshal(s, text) }
