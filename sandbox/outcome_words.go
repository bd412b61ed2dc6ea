package sandbox

// EntryKind is what stands at a guest path, links not followed (spec A21).
type EntryKind uint8

const (
	EntryKindUnspecified EntryKind = iota
	// EntryFile: a regular file.
	EntryFile
	// EntryDirectory: a directory.
	EntryDirectory
	// EntrySymlink: a symbolic link or anything that redirects like one.
	EntrySymlink
	// EntryOther: device, pipe, socket, hard link, or not recognised.
	EntryOther
)

var entryKinds = vocabulary[EntryKind]{
	noun:  "entry kind",
	words: []string{"", "file", "directory", "symlink", "other"},
}

// ParseEntryKind reads a word such as "file", exactly as written.
func ParseEntryKind(text string) (EntryKind, error) { return entryKinds.parse(text) }

// EntryKinds lists every value.
func EntryKinds() []EntryKind { return entryKinds.all() }

// String is the value's text, empty when unspecified.
func (e EntryKind) String() string { return entryKinds.text(e) }

// MarshalText fails on a value outside the vocabulary.
func (e EntryKind) MarshalText() ([]byte, error) { return entryKinds.marshal(e) }

// UnmarshalText accepts exactly what [ParseEntryKind] does.
func (e *EntryKind) UnmarshalText(text []byte) error { return entryKinds.unmarshal(e, text) }

// Disposition is what happens to a declared output (spec A22).
type Disposition uint8

const (
	DispositionUnspecified Disposition = iota
	// DispositionLand: the file goes to the sink. This is the default.
	DispositionLand
	// DispositionConsume: the workload's kind reads the file itself.
	DispositionConsume
)

var dispositions = vocabulary[Disposition]{
	noun:  "output disposition",
	words: []string{"", "land", "consume"},
}

// ParseDisposition reads a word such as "land", exactly as written.
func ParseDisposition(text string) (Disposition, error) { return dispositions.parse(text) }

// Dispositions lists every value.
func Dispositions() []Disposition { return dispositions.all() }

// String is the value's text, empty when unspecified.
func (d Disposition) String() string { return dispositions.text(d) }

// MarshalText fails on a value outside the vocabulary.
func (d Disposition) MarshalText() ([]byte, error) { return dispositions.marshal(d) }

// UnmarshalText accepts exactly what [ParseDisposition] does.
func (d *Disposition) UnmarshalText(text []byte) error { return dispositions.unmarshal(d, text) }

// DisposalCode says why a sandbox may still be there. The order is also the
// precedence when several failures are folded: the most actionable first
// (spec A25).
type DisposalCode uint8

const (
	DisposalCodeUnspecified DisposalCode = iota
	// DisposalUnreachable: the engine could not be asked.
	DisposalUnreachable
	// DisposalTimeout: the engine did not answer within the bound.
	DisposalTimeout
	// DisposalRefused: the engine answered no.
	DisposalRefused
	// DisposalUnlisted: the engine could not list what there is.
	DisposalUnlisted
	// DisposalUnknown: none of the others.
	DisposalUnknown
)

var disposalCodes = vocabulary[DisposalCode]{
	noun:  "disposal code",
	words: []string{"", "unreachable", "timeout", "refused", "unlisted", "unknown"},
}

// ParseDisposalCode reads a word such as "unreachable", exactly as written.
func ParseDisposalCode(text string) (DisposalCode, error) { return disposalCodes.parse(text) }

// DisposalCodes lists every value.
func DisposalCodes() []DisposalCode { return disposalCodes.all() }

// String is the value's text, empty when unspecified.
func (d DisposalCode) String() string { return disposalCodes.text(d) }

// MarshalText fails on a value outside the vocabulary.
func (d DisposalCode) MarshalText() ([]byte, error) { return disposalCodes.marshal(d) }

// UnmarshalText accepts exactly what [ParseDisposalCode] does.
func (d *DisposalCode) UnmarshalText(text []byte) error { return disposalCodes.unmarshal(d, text) }
