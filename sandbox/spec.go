package sandbox

import "strings"

// Spec is what one workload asks for. It is plain data as people write it; the
// decision compiles it, and that is where hosts and paths are parsed. Its zero
// value asks for the defaults of every field and names no kind, which refuses.
//
// Field names are the attribute names of sandbox_workload and the keys of the
// workload document, in Go's spelling; what shares a prefix there (egress_mode,
// egress_hosts) is a struct here, and limits drop the suffix _limits.
type Spec struct {
	// Kind names the workload's kind, such as codeact. Required.
	Kind string
	// Backend names the backend that must serve it. Required in documents.
	Backend string
	// Image is what the sandbox is made from; the zero value leaves it to the
	// backend.
	Image Image
	// Requires is what the workload needs of the backend. Nil means
	// [DefaultCapabilities]; an empty set means nothing at all.
	Requires *CapabilitySet
	// MinimumIsolation is the workload's own floor; it can raise the policy's
	// and never lower it.
	MinimumIsolation Isolation
	// IsolationScope is the widest sharing the workload accepts; unspecified is
	// conversation.
	IsolationScope IsolationScope
	// MinimumCleanup is the weakest clean-up the workload accepts.
	MinimumCleanup Cleanup
	// OSFamily is asked only when set.
	OSFamily OSFamily
	// WorkDir is the absolute directory of the program inside the guest; empty
	// is [DefaultWorkDir].
	WorkDir string
	// Labels travel to the sandbox. Keys under the reserved prefix are refused.
	Labels map[string]string

	// Egress is how far the network reaches.
	Egress Egress

	// FilesIn and FilesOut bound transfers; nil is [DefaultTransferLimits].
	FilesIn, FilesOut *TransferLimits
	// Outputs are the files to collect, by name.
	Outputs map[string]Output
	// OutputsNamedAtCallTime lets a call name further outputs.
	OutputsNamedAtCallTime bool

	// Identities are the authorities the workload's host tools act under.
	Identities IdentitySet
	// MaximumIdentityScope and IdentityRetentionSeconds bound an attached
	// platform identity. They are stated exactly when attached_identity is
	// required.
	MaximumIdentityScope     IdentityScope
	IdentityRetentionSeconds int64

	// ProgramProfile asks for a program channel of that profile; empty asks for
	// none.
	ProgramProfile string
}

// DefaultWorkDir is where a program works when its spec does not say.
const DefaultWorkDir = "/maf-sandbox/work"

// RequiredCapabilities is what the spec requires before what its egress rules
// add to it.
func (s *Spec) RequiredCapabilities() CapabilitySet {
	if s.Requires == nil {
		return DefaultCapabilities()
	}
	return *s.Requires
}

// Egress is a network posture as people write it: a mode, hosts in the short
// form (port 443, any method, any path) and full rules by name. A workload asks
// for it, a policy bounds it from above.
type Egress struct {
	Mode  EgressMode
	Hosts []string
	Rules map[string]EgressRule
	// Guarantees are those that a backend must give, with evidence.
	Guarantees GuaranteeSet
}

// Image names what a sandbox is made from: a catalogue name or a registry
// reference, not both.
type Image struct {
	// Prebuilt is a name of the service's catalogue, such as python-3.13.
	Prebuilt string
	// Reference is a registry reference, host and all.
	Reference string
	// Digest is sha256:<64 hex digits>.
	Digest string
	// User is the image's configured user as the registry or the catalogue
	// tells it. Empty is absent knowledge, not root.
	User string
	// Platform is os/architecture[/variant].
	Platform string
}

// IsZero reports whether no image is named.
func (i Image) IsZero() bool { return i == Image{} }

// NamesPrebuilt reports whether text has the form of a catalogue name. The version
// is part of such a name; what has a slash or a colon, a tag or a digest included,
// is a registry reference.
func NamesPrebuilt(text string) bool { return text != "" && !strings.ContainsAny(text, "/:") }

// Registry is the registry of the image's reference, host and port in lower case,
// or "" when the reference does not name one.
func (i Image) Registry() string {
	first, _, found := strings.Cut(i.Reference, "/")
	if !found || (!strings.ContainsAny(first, ".:") && first != "localhost") {
		return ""
	}
	return strings.ToLower(first)
}

// Pinned is the reference that a service is asked for: by digest alone where one is
// known, since a tag beside it is ignored by some and compared by others. Two images
// that name the same content in the same repository have the same.
func (i Image) Pinned() string {
	name, digest, found := strings.Cut(i.Reference, "@")
	if !found {
		digest = i.Digest
	}
	if digest == "" || name == "" {
		return i.Reference
	}
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name = name[:colon]
	}
	return name + "@" + digest
}

// Output is one file a workload declares: literal and relative to the work
// directory, never a pattern (spec A36).
type Output struct {
	// Path is where the program writes it.
	Path string
	// Name is how it lands; empty means Path.
	Name string
	// MediaType is declared, never sniffed. It may be empty.
	MediaType string
	// Optional makes absence normal. Terraform and the documents say required =
	// false: the strict answer is what silence means, there as here.
	Optional bool
	// Disposition is land when unspecified.
	Disposition Disposition
}

// LandingName is the name the output lands under.
func (o Output) LandingName() string {
	if o.Name != "" {
		return o.Name
	}
	return o.Path
}

// Lands reports whether the output goes to a sink.
func (o Output) Lands() bool { return o.Disposition != DispositionConsume }

// ReservedLabelPrefix begins the labels that carry a sandbox's ownership. A
// workload's label with this prefix is refused, since one that overwrote an
// ownership label could hide a sandbox from its owner or take another's.
const ReservedLabelPrefix = "sandbox."

// ReservedLabel reports whether a label key lies under [ReservedLabelPrefix].
// ASCII case is ignored, since some engines do.
func ReservedLabel(key string) bool {
	return len(key) >= len(ReservedLabelPrefix) &&
		strings.EqualFold(key[:len(ReservedLabelPrefix)], ReservedLabelPrefix)
}
