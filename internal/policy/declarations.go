package policy

import (
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// CompiledDeclarations is what a backend says of itself, with every silence
// read as its rule says. It is immutable.
type CompiledDeclarations struct {
	decl         sandbox.Declarations
	capabilities sandbox.CapabilitySet
	filesIn      sandbox.TransferLimits
	filesOut     sandbox.TransferLimits
	scopes       sandbox.IsolationScopeSet
	methods      []string // sorted; nil is any
	// proven are the guarantees with at least the evidence that is the index.
	proven [sandbox.EvidenceProbed + 1]sandbox.GuaranteeSet
	// others gives the backends that remedies may name; nil knows of none.
	others func() []sandbox.Declarations
}

// CompileDeclarations checks that a backend's declarations agree with each
// other. Its findings have the Subject backend NAME.
func CompileDeclarations(d sandbox.Declarations) (*CompiledDeclarations, []sandbox.Finding) {
	c := &CompiledDeclarations{
		decl:         d,
		capabilities: offered(d),
		filesIn:      d.FilesIn.Or(sandbox.DefaultTransferLimits()),
		filesOut:     d.FilesOut.Or(sandbox.DefaultTransferLimits()),
		scopes:       d.IsolationScopes,
	}
	if c.scopes.Empty() {
		c.scopes = sandbox.SetOf(sandbox.ScopeConversation)
	}
	if d.MethodTokens != nil {
		c.methods = slices.Clone(d.MethodTokens)
		slices.Sort(c.methods)
	}

	var findings []sandbox.Finding
	bad := func(path, found, required string) {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeBackendNotPermitted, Subject: "backend " + sandbox.Echo(d.Backend), Path: at(path),
			Found: found, Required: required, Remedy: "fix the backend's declarations, or choose another backend",
		})
	}
	if d.Backend == "" {
		bad("backend", "no name", "the backend's name")
	}
	if d.Isolation == sandbox.IsolationUnspecified || !d.Isolation.Meets(sandbox.IsolationNone) {
		bad("isolation", "no rung of the isolation ladder", "one rung")
	}
	if attached := c.capabilities.Has(sandbox.CapabilityAttachedIdentity); attached != d.AttachedIdentity.Attached() {
		bad("attached_identity", "the capability attached_identity and the attached identity disagree",
			"the capability exactly when an identity is attached")
	}
	switch a := d.AttachedIdentity; {
	case a.Attached() && (a.RetentionSeconds < 1 || a.Channels.Empty()):
		bad("attached_identity", "an attached identity without its retention or its channels",
			"retention_seconds of at least 1, and at least one channel")
	case !a.Attached() && (a.RetentionSeconds != 0 || !a.Channels.Empty()):
		bad("attached_identity", "a retention or channels of an identity that is not attached",
			"neither where nothing is attached")
	}
	for _, g := range sandbox.Guarantees() {
		e, claimed := d.Guarantees[g]
		if claimed && e.Kind == 0 {
			bad("guarantees", "guarantee "+g.String()+" without evidence", "probed, documented or emulated")
		}
		for kind := sandbox.EvidenceEmulated; kind <= e.Kind && kind <= sandbox.EvidenceProbed; kind++ {
			c.proven[kind] = c.proven[kind].With(g)
		}
	}
	for _, side := range []struct {
		field  string
		limits *sandbox.TransferLimits
	}{{"files_in_limits", d.FilesIn}, {"files_out_limits", d.FilesOut}} {
		for _, f := range limitRangeFindings(side.limits, at(side.field)) {
			bad(side.field, f.Found, f.Required)
		}
	}
	return c, findings
}

// Declarations is what the backend said.
func (c *CompiledDeclarations) Declarations() sandbox.Declarations { return c.decl }

// Effective is what the backend said, with each silence replaced by what it is
// read as: default capabilities and limits, one sandbox a conversation, files
// written as the guest.
func (c *CompiledDeclarations) Effective() sandbox.Declarations {
	d := c.decl
	capabilities, in, out := c.capabilities, c.filesIn, c.filesOut
	d.Capabilities, d.FilesIn, d.FilesOut = &capabilities, &in, &out
	d.IsolationScopes = c.scopes
	if d.WriteAuthority == sandbox.WriteAuthorityUnspecified {
		d.WriteAuthority = sandbox.WriteAuthorityGuest
	}
	return d
}

func (c *CompiledDeclarations) name() string { return c.decl.Backend }
