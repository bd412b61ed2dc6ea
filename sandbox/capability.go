package sandbox

// Capability is something a backend can do and a workload can require.
type Capability uint8

const (
	CapabilityUnspecified Capability = iota
	// CapabilityExec: run a command line or an argument vector.
	CapabilityExec
	// CapabilityRunCode: evaluate code in a language runtime, without a shell.
	CapabilityRunCode
	// CapabilityHostTools: the guest may call functions that the host registered.
	CapabilityHostTools
	// CapabilityFilesIn: write files into the guest.
	CapabilityFilesIn
	// CapabilityFilesOut: stat and read files at known paths.
	CapabilityFilesOut
	// CapabilityFilesList: enumerate a directory.
	CapabilityFilesList
	// CapabilityFilesDelete: remove files and directories.
	CapabilityFilesDelete
	// CapabilitySnapshot: save and restore a sandbox.
	CapabilitySnapshot
	// CapabilityAttachedIdentity: a platform identity is attached to the sandbox.
	CapabilityAttachedIdentity
	// CapabilityReclaim: the router may clean up below the guest's own reach.
	CapabilityReclaim
	// CapabilityEgressPorts: rules may name ports other than 443. Derived from rules.
	CapabilityEgressPorts
	// CapabilityEgressMethods: rules may name HTTP methods. Derived from rules.
	CapabilityEgressMethods
	// CapabilityEgressPaths: rules may name paths. Derived from rules.
	CapabilityEgressPaths
	// CapabilityEgressAddresses: rules may name addresses. Derived from rules.
	CapabilityEgressAddresses
)

var capabilities = vocabulary[Capability]{
	noun:  "capability",
	words: []string{"", "exec", "run_code", "host_tools", "files_in", "files_out", "files_list", "files_delete", "snapshot", "attached_identity", "reclaim", "egress_ports", "egress_methods", "egress_paths", "egress_addresses"},
}

// ParseCapability reads a word such as "exec", exactly as written.
func ParseCapability(text string) (Capability, error) { return capabilities.parse(text) }

// Capabilities lists every value.
func Capabilities() []Capability { return capabilities.all() }

// String is the value's text, empty when unspecified.
func (c Capability) String() string { return capabilities.text(c) }

// MarshalText fails on a value outside the vocabulary.
func (c Capability) MarshalText() ([]byte, error) { return capabilities.marshal(c) }

// UnmarshalText accepts exactly what [ParseCapability] does.
func (c *Capability) UnmarshalText(text []byte) error { return capabilities.unmarshal(c, text) }

// DefaultCapabilities are what a workload requires, and a backend is read as
// offering, when neither says anything (spec A9).
func DefaultCapabilities() CapabilitySet {
	return SetOf(CapabilityExec, CapabilityFilesIn)
}
