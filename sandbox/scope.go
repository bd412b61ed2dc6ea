package sandbox

// IsolationScope says what may share a sandbox, widest sharing first. A backend
// that declares none is read as keeping conversations apart and nothing more
// (spec A43).
type IsolationScope uint8

const (
	ScopeUnspecified IsolationScope = iota
	// ScopeConversation: one sandbox serves every call of a conversation.
	ScopeConversation
	// ScopeCall: every call gets a sandbox of its own.
	ScopeCall
)

var isolationScopes = vocabulary[IsolationScope]{
	noun:  "isolation scope",
	words: []string{"", "conversation", "call"},
}

// ParseIsolationScope reads a word such as "conversation", exactly as written.
func ParseIsolationScope(text string) (IsolationScope, error) { return isolationScopes.parse(text) }

// IsolationScopes lists every value, weakest first.
func IsolationScopes() []IsolationScope { return isolationScopes.all() }

// String is the value's text, empty when unspecified.
func (i IsolationScope) String() string { return isolationScopes.text(i) }

// MarshalText fails on a value outside the vocabulary.
func (i IsolationScope) MarshalText() ([]byte, error) { return isolationScopes.marshal(i) }

// UnmarshalText accepts exactly what [ParseIsolationScope] does.
func (i *IsolationScope) UnmarshalText(text []byte) error { return isolationScopes.unmarshal(i, text) }

// Cleanup is a rung of the clean-up ladder, weakest first: what is done to a
// sandbox at the end of a call (spec B45).
type Cleanup uint8

const (
	CleanupUnspecified Cleanup = iota
	// CleanupReclaim: the call's directory is removed.
	CleanupReclaim
	// CleanupReset: files and processes are put back to a snapshot.
	CleanupReset
	// CleanupDispose: the sandbox is removed. This is the host's default minimum.
	CleanupDispose
)

var cleanups = vocabulary[Cleanup]{
	noun:  "clean-up rung",
	words: []string{"", "reclaim", "reset", "dispose"},
}

// ParseCleanup reads a word such as "reclaim", exactly as written.
func ParseCleanup(text string) (Cleanup, error) { return cleanups.parse(text) }

// Cleanups lists every value, weakest first.
func Cleanups() []Cleanup { return cleanups.all() }

// String is the value's text, empty when unspecified.
func (c Cleanup) String() string { return cleanups.text(c) }

// MarshalText fails on a value outside the vocabulary.
func (c Cleanup) MarshalText() ([]byte, error) { return cleanups.marshal(c) }

// UnmarshalText accepts exactly what [ParseCleanup] does.
func (c *Cleanup) UnmarshalText(text []byte) error { return cleanups.unmarshal(c, text) }
