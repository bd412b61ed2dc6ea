package sandbox

// EgressMode says how far a sandbox's network reaches. The zero value is
// unspecified: a backend that declares it enforces nothing, and a workload that
// states nothing gets [EgressClosed].
//
// Modes are not a ladder for backends: a workload's mode must be one that the
// backend declares, and no other mode stands in for it (spec A15).
type EgressMode uint8

const (
	EgressUnspecified EgressMode = iota
	// EgressClosed: no network.
	EgressClosed
	// EgressAllowlist: what the rules name, and nothing else.
	EgressAllowlist
	// EgressUnrestricted: any destination. No shipped backend declares it.
	EgressUnrestricted
)

var egressModes = vocabulary[EgressMode]{
	noun:  "egress mode",
	words: []string{"", "closed", "allowlist", "unrestricted"},
}

// ParseEgressMode reads "closed", "allowlist" or "unrestricted".
func ParseEgressMode(text string) (EgressMode, error) { return egressModes.parse(text) }

// EgressModes lists the modes, narrowest first.
func EgressModes() []EgressMode { return egressModes.all() }

// String is the mode's text, empty when unspecified.
func (m EgressMode) String() string { return egressModes.text(m) }

// MarshalText fails on a value outside the vocabulary.
func (m EgressMode) MarshalText() ([]byte, error) { return egressModes.marshal(m) }

// UnmarshalText accepts exactly what [ParseEgressMode] does.
func (m *EgressMode) UnmarshalText(text []byte) error { return egressModes.unmarshal(m, text) }

// EgressRule is one rule as people write it. All four parts are stated; "*"
// alone in a list means any. Package egress parses it.
type EgressRule struct {
	// Host is a DNS name, *.suffix, an IP address or a CIDR range.
	Host string `json:"host"`
	// Ports are numbers from 1 to 65535 in decimal, or ranges such as 8000-8099.
	Ports []string `json:"ports"`
	// Methods are HTTP tokens in upper case.
	Methods []string `json:"methods"`
	// Paths are prefixes of whole segments: /v1 admits /v1 and /v1/x, not /v10.
	Paths []string `json:"paths"`
}

// EgressMatch says how a workload's mode is compared with a backend's.
type EgressMatch uint8

const (
	EgressMatchUnspecified EgressMatch = iota
	// EgressMatchExact: the mode must be declared as it is. This is the default.
	EgressMatchExact
	// EgressMatchAtLeast: a backend that confines more than asked is let through
	// with a warning, as the first release of the reference did (spec A14).
	EgressMatchAtLeast
)

var egressMatches = vocabulary[EgressMatch]{
	noun:  "egress match",
	words: []string{"", "exact", "at_least"},
}

// ParseEgressMatch reads "exact" or "at_least".
func ParseEgressMatch(text string) (EgressMatch, error) { return egressMatches.parse(text) }

// EgressMatches lists the ways of matching.
func EgressMatches() []EgressMatch { return egressMatches.all() }

// String is the text, empty when unspecified.
func (m EgressMatch) String() string { return egressMatches.text(m) }

// MarshalText fails on a value outside the vocabulary.
func (m EgressMatch) MarshalText() ([]byte, error) { return egressMatches.marshal(m) }

// UnmarshalText accepts exactly what [ParseEgressMatch] does.
func (m *EgressMatch) UnmarshalText(text []byte) error { return egressMatches.unmarshal(m, text) }

// Guarantee is one way around an egress mode that a backend shuts. Guarantees
// form a set, not a ladder: real systems shut different ones.
type Guarantee uint8

const (
	_ Guarantee = iota
	// GuaranteeDNSConfined: no name is resolved that the rules do not allow.
	GuaranteeDNSConfined
	// GuaranteeIPLiteralDenied: an address is refused unless an address rule names it.
	GuaranteeIPLiteralDenied
	// GuaranteePortConfined: ports are judged, not only hosts.
	GuaranteePortConfined
	// GuaranteeSNIBound: the TLS server name must be the host that was allowed.
	GuaranteeSNIBound
	// GuaranteeMethodConfined: HTTP methods are judged on every request.
	GuaranteeMethodConfined
	// GuaranteePathConfined: HTTP paths are judged on every request.
	GuaranteePathConfined
	// GuaranteeMetadataDenied: no cloud metadata address is reachable.
	GuaranteeMetadataDenied
	// GuaranteeUDPDenied: no datagram leaves.
	GuaranteeUDPDenied
)

var guarantees = vocabulary[Guarantee]{
	noun: "egress guarantee",
	words: []string{
		"", "dns_confined", "ip_literal_denied", "port_confined", "sni_bound",
		"method_confined", "path_confined", "metadata_denied", "udp_denied",
	},
}

// ParseGuarantee reads a guarantee's text, such as "dns_confined".
func ParseGuarantee(text string) (Guarantee, error) { return guarantees.parse(text) }

// Guarantees lists all guarantees.
func Guarantees() []Guarantee { return guarantees.all() }

// String is the guarantee's text.
func (g Guarantee) String() string { return guarantees.text(g) }

// MarshalText fails on a value outside the vocabulary.
func (g Guarantee) MarshalText() ([]byte, error) { return guarantees.marshal(g) }

// UnmarshalText accepts exactly what [ParseGuarantee] does.
func (g *Guarantee) UnmarshalText(text []byte) error { return guarantees.unmarshal(g, text) }
