package sandbox

// WriteAuthority is with whose power a backend reads, writes and removes files in
// a guest, and whether a guest that changes a path meanwhile can borrow it.
type WriteAuthority uint8

const (
	// WriteAuthorityUnspecified is read as guest.
	WriteAuthorityUnspecified WriteAuthority = iota
	// WriteAuthorityGuest: as the program's own user, with exactly its reach. A
	// swapped path gains nothing that the program could not do by itself.
	WriteAuthorityGuest
	// WriteAuthorityRootConfined: as root of the guest, with nothing that can
	// change between the look at a path and its use: the guest is frozen, or the
	// kernel resolves the path in one step.
	WriteAuthorityRootConfined
	// WriteAuthorityRoot: as root of the guest, and a path swapped between the look
	// and the use is followed. What that can reach is the whole guest.
	WriteAuthorityRoot
)

var writeAuthorities = vocabulary[WriteAuthority]{
	noun: "write authority", words: []string{"", "guest", "root_confined", "root"},
}

// ParseWriteAuthority reads "guest", "root_confined" or "root".
func ParseWriteAuthority(text string) (WriteAuthority, error) { return writeAuthorities.parse(text) }

// WriteAuthorities lists the authorities.
func WriteAuthorities() []WriteAuthority { return writeAuthorities.all() }

// Principal is as whom files are asked for.
func (a WriteAuthority) Principal() Principal {
	if a == WriteAuthorityRoot || a == WriteAuthorityRootConfined {
		return PrincipalRoot
	}
	return PrincipalGuest
}

// String is the authority's text, empty when unspecified.
func (a WriteAuthority) String() string { return writeAuthorities.text(a) }

// MarshalText fails on a value outside the vocabulary.
func (a WriteAuthority) MarshalText() ([]byte, error) { return writeAuthorities.marshal(a) }

// UnmarshalText accepts exactly what [ParseWriteAuthority] does.
func (a *WriteAuthority) UnmarshalText(text []byte) error { return writeAuthorities.unmarshal(a, text) }
