package auth

import "fmt"

// Secret is text that no print shows. The zero value is empty.
type Secret struct {
	// A function, so that printing through any nesting finds an address at most.
	reveal func() string
}

// NewSecret hides text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{func() string { return text }}
}

// Reveal is the text, for whoever sends it on.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Set reports whether there is any text.
func (s Secret) Set() bool { return s.reveal != nil }

// String says whether there is a secret, and nothing of it.
func (s Secret) String() string {
	if s.Set() {
		return "(secret)"
	}
	return "(none)"
}

// Format is String for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText is String, for encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
