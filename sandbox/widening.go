package sandbox

// OnWidening says what becomes of a change through which a policy or a manifest
// would permit more than before. It is about changes, not about what is
// permitted, so it is no part of the documents. A larger value is stricter;
// unspecified is [OnWideningWarn].
type OnWidening uint8

const (
	OnWideningUnspecified OnWidening = iota
	// OnWideningAllow says nothing.
	OnWideningAllow
	// OnWideningWarn lets it through with a warning.
	OnWideningWarn
	// OnWideningRefuse refuses it, unless exactly this change was accepted.
	OnWideningRefuse
)

var onWidenings = vocabulary[OnWidening]{
	noun:  "widening rule",
	words: []string{"", "allow", "warn", "refuse"},
}

// ParseOnWidening reads "allow", "warn" or "refuse".
func ParseOnWidening(text string) (OnWidening, error) { return onWidenings.parse(text) }

// OnWidenings lists the rules, laxest first.
func OnWidenings() []OnWidening { return onWidenings.all() }

// OrDefault is the rule, [OnWideningWarn] where it is unspecified.
func (o OnWidening) OrDefault() OnWidening {
	if o == OnWideningUnspecified {
		return OnWideningWarn
	}
	return o
}

// String is the rule's text, empty when unspecified.
func (o OnWidening) String() string { return onWidenings.text(o) }

// MarshalText fails on a value outside the vocabulary.
func (o OnWidening) MarshalText() ([]byte, error) { return onWidenings.marshal(o) }

// UnmarshalText accepts exactly what [ParseOnWidening] does.
func (o *OnWidening) UnmarshalText(text []byte) error { return onWidenings.unmarshal(o, text) }
