package conformance_test

import (
	"encoding"
	"encoding/json"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// What the reference's vectors say of a router, a backend and a spec, and the
// same in our types. A key that is absent has the reference's default.

type routerIn struct {
	MinIsolation       *string  `json:"min_isolation"`
	MinIsolationScope  string   `json:"min_isolation_scope"`
	DeniedCapabilities []string `json:"denied_capabilities"`
	DeniedIdentities   []string `json:"denied_identities"`
	MaxIdentityScope   string   `json:"max_identity_scope"`
}

// limitsIn is [max_bytes_per_file, max_total_bytes, max_files].
type limitsIn [3]int64

type backendIn struct {
	Name         string
	Isolation    string
	Capabilities *[]string
	Limits       struct {
		FilesIn  *limitsIn `json:"files_in"`
		FilesOut *limitsIn `json:"files_out"`
	}
	// Egress is the one level of the first era; EgressModes came after it.
	Egress          string
	EgressModes     []string        `json:"egress_modes"`
	OSFamilies      []string        `json:"os_families"`
	IsolationScopes []string        `json:"isolation_scopes"`
	MethodTokens    json.RawMessage `json:"egress_method_tokens"`
	Attached        *struct {
		Scope    string
		Seconds  int64 `json:"auto_delete_seconds"`
		Channels []string
	} `json:"attached_identity"`
	Channels []struct {
		Name         string
		Mode         string
		Profiles     []string
		HostTools    bool `json:"host_tools"`
		Capabilities []string
	} `json:"program_channels"`
	Declares   *bool
	Superseded []string
	Purge      purgeIn
	// Shapes are Python types in place of the declared ones.
	CapabilitiesShape string `json:"capabilities_shape"`
	LimitsShape       string `json:"limits_shape"`
	ModesShape        string `json:"egress_modes_shape"`
	FamiliesShape     string `json:"os_families_shape"`
	ScopesShape       string `json:"isolation_scopes_shape"`
	TokensShape       string `json:"egress_method_tokens_shape"`
	DeclarationsNil   bool   `json:"declarations_nil"`
}

// misshapen reports whether the backend declares something that has another
// type in Python than the field's.
func (b *backendIn) misshapen() bool {
	return b.CapabilitiesShape+b.LimitsShape+b.ModesShape+b.FamiliesShape+b.ScopesShape+b.TokensShape != "" ||
		b.DeclarationsNil || len(b.Superseded) > 0
}

type hostToolsIn struct {
	Identities     []string
	MaxCalls       int64    `json:"max_calls"`
	ResponseLimits limitsIn `json:"response_limits"`
	Names          []string
}

type specIn struct {
	Kind         *string
	Requires     *[]string
	MinIsolation *string   `json:"min_isolation"`
	FilesIn      *limitsIn `json:"files_in"`
	FilesOut     *limitsIn `json:"files_out"`
	Egress       *string
	EgressAllow  []entryIn    `json:"egress_allow"`
	Identities   []string     // the first era's
	HostTools    *hostToolsIn `json:"host_tools"`
	OSFamily     string       `json:"requires_os_family"`
	Scope        *string      `json:"isolation_scope"`
	MaxIdentity  *string      `json:"max_identity_scope"`
	Retention    *int64       `json:"max_identity_retention_seconds"`
	Program      *struct {
		Profile string
		Bytes   int64 `json:"max_program_bytes"`
	}
}

// firstEra are the semantics of 0.18.1: no egress modes but one level.
func firstEra(oracle string) bool { return oracle == "0.18.1" }

// wordSet is a vocabulary that sets are made of.
type wordSet interface {
	sandbox.Capability | sandbox.Identity | sandbox.EgressMode | sandbox.OSFamily | sandbox.IsolationScope
	String() string
}

// words reads words into a set. Unknown ones are findings.
func words[T wordSet, P interface {
	*T
	encoding.TextUnmarshaler
}](list []string, field string, findings *[]sandbox.Finding) sandbox.Set[T] {
	set, problems := sandbox.ParseSet[T, P](list, sandbox.Path(field))
	*findings = append(*findings, problems...)
	return set
}

func word[T any](text, field string, parse func(string) (T, error), findings *[]sandbox.Finding) T {
	value, err := parse(text)
	*findings = append(*findings, sandbox.FindingsAt(err, sandbox.Path(field))...)
	return value
}

func optionalWord[T any](text, field string, parse func(string) (T, error), findings *[]sandbox.Finding) (value T) {
	if text != "" {
		value = word(text, field, parse, findings)
	}
	return value
}

func (l *limitsIn) limits() *sandbox.TransferLimits {
	if l == nil {
		return nil
	}
	return &sandbox.TransferLimits{MaxBytesPerFile: l[0], MaxTotalBytes: l[1], MaxFiles: l[2]}
}

// policy is the router's policy, and what is wrong with its words. The reference
// has no upper bound of egress, so ours is unrestricted.
func (r *routerIn) policy(oracle string) (sandbox.Policy, []sandbox.Finding) {
	var findings []sandbox.Finding
	p := sandbox.Policy{
		MinimumIsolation:      sandbox.DefaultIsolationFloor,
		MinimumIsolationScope: optionalWord(r.MinIsolationScope, "minimum_isolation_scope", sandbox.ParseIsolationScope, &findings),
		DeniedCapabilities:    words[sandbox.Capability](r.DeniedCapabilities, "denied_capabilities", &findings),
		DeniedIdentities:      words[sandbox.Identity](r.DeniedIdentities, "denied_identities", &findings),
		MaximumIdentityScope:  optionalWord(r.MaxIdentityScope, "maximum_identity_scope", sandbox.ParseIdentityScope, &findings),
		Egress:                sandbox.Egress{Mode: sandbox.EgressUnrestricted},
	}
	if firstEra(oracle) {
		p.EgressMatch = sandbox.EgressMatchAtLeast
	}
	if r.MinIsolation != nil {
		p.MinimumIsolation = word(*r.MinIsolation, "minimum_isolation", sandbox.ParseIsolation, &findings)
	}
	return p, findings
}

func compilePolicy(p sandbox.Policy) (*policy.CompiledPolicy, []sandbox.Finding) {
	return policy.CompilePolicy(policy.Layer{Source: "the host", Policy: p})
}

// declarations are the backend's, each claim probed. A rung that is none is an
// error. Typed sets cannot hold a word that is not one, so such a word declares
// nothing.
func (b *backendIn) declarations() (sandbox.Declarations, error) {
	var ignored []sandbox.Finding
	probed := sandbox.Evidence{Kind: sandbox.EvidenceProbed}
	d := sandbox.Declarations{
		Backend: b.Name, IsolationEvidence: probed, Guarantees: map[sandbox.Guarantee]sandbox.Evidence{},
	}
	for _, g := range sandbox.Guarantees() {
		d.Guarantees[g] = probed
	}
	var err error
	if d.Isolation, err = sandbox.ParseIsolation(b.Isolation); err != nil {
		return d, err
	}
	if b.Declares != nil && !*b.Declares {
		return d, nil
	}
	if b.Capabilities != nil {
		set := words[sandbox.Capability](*b.Capabilities, "capabilities", &ignored)
		d.Capabilities = &set
	}
	d.FilesIn, d.FilesOut = b.Limits.FilesIn.limits(), b.Limits.FilesOut.limits()
	d.EgressModes = words[sandbox.EgressMode](b.EgressModes, "egress_modes", &ignored)
	switch b.Egress {
	case "closed", "unrestricted":
		d.EgressModes = words[sandbox.EgressMode]([]string{b.Egress}, "egress", &ignored)
	case "allowlist":
		// The first era's one level reaches what is named, and nothing when
		// nothing is: both of our modes.
		d.EgressModes = sandbox.SetOf(sandbox.EgressClosed, sandbox.EgressAllowlist)
	}
	d.OSFamilies = words[sandbox.OSFamily](b.OSFamilies, "os_families", &ignored)
	d.IsolationScopes = words[sandbox.IsolationScope](b.IsolationScopes, "isolation_scopes", &ignored)
	d.MethodTokens = []string{}
	if len(b.MethodTokens) > 0 {
		if err := json.Unmarshal(b.MethodTokens, &d.MethodTokens); err != nil {
			return d, fmt.Errorf("egress_method_tokens: %w", err)
		}
	}
	if a := b.Attached; a != nil {
		d.AttachedIdentity = sandbox.AttachedIdentity{
			Scope: word(a.Scope, "scope", sandbox.ParseIdentityScope, &ignored), RetentionSeconds: a.Seconds,
			Channels: sandbox.SetOf(sandbox.ChannelEgressHeader),
		}
	}
	for _, c := range b.Channels {
		d.ProgramChannels = append(d.ProgramChannels, sandbox.ProgramChannel{
			Name: c.Name, Profiles: c.Profiles, HostTools: c.HostTools,
			Needs: words[sandbox.Capability](c.Capabilities, "needs", &ignored),
		})
	}
	return d, nil
}

// spec is the workload's ask, and what is wrong with its words.
func (s *specIn) spec(oracle string) (sandbox.Spec, []sandbox.Finding) {
	var findings []sandbox.Finding
	out := sandbox.Spec{
		Kind: probedKind, FilesIn: s.FilesIn.limits(), FilesOut: s.FilesOut.limits(),
		OSFamily:   optionalWord(s.OSFamily, "os_family", sandbox.ParseOSFamily, &findings),
		Identities: words[sandbox.Identity](s.Identities, "identities", &findings),
		Egress:     egressOf(s.EgressAllow),
	}
	if s.Kind != nil {
		out.Kind = *s.Kind
	}
	if s.MinIsolation != nil {
		out.MinimumIsolation = word(*s.MinIsolation, "minimum_isolation", sandbox.ParseIsolation, &findings)
	}
	if s.MaxIdentity != nil {
		out.MaximumIdentityScope = word(*s.MaxIdentity, "maximum_identity_scope", sandbox.ParseIdentityScope, &findings)
	}
	if s.Scope != nil {
		out.IsolationScope = word(*s.Scope, "isolation_scope", sandbox.ParseIsolationScope, &findings)
	}
	if s.Requires != nil {
		set := words[sandbox.Capability](*s.Requires, "requires", &findings)
		out.Requires = &set
	}
	switch {
	case s.Egress != nil:
		out.Egress.Mode = word(*s.Egress, "egress_mode", sandbox.ParseEgressMode, &findings)
	case firstEra(oracle) && len(s.EgressAllow) > 0:
		out.Egress.Mode = sandbox.EgressAllowlist
	}
	if s.HostTools != nil {
		out.Identities = words[sandbox.Identity](s.HostTools.Identities, "identities", &findings)
	}
	if s.Retention != nil {
		out.IdentityRetentionSeconds = *s.Retention
	}
	if s.Program != nil {
		out.ProgramProfile = s.Program.Profile
	}
	return out, findings
}

// egressOf keeps text as hosts and records as rules.
func egressOf(entries []entryIn) sandbox.Egress {
	e := sandbox.Egress{Rules: map[string]sandbox.EgressRule{}}
	for i, entry := range entries {
		if entry.Short {
			e.Hosts = append(e.Hosts, entry.Host)
			continue
		}
		e.Rules[fmt.Sprintf("entry%03d", i)] = entry.rule()
	}
	return e
}

// entryIn is a host, or a rule of the reference.
type entryIn struct {
	Host      string
	Short     bool
	Methods   []string
	Paths     []string
	Authority *string
}

func (e *entryIn) UnmarshalJSON(data []byte) error {
	var short text
	var record struct {
		Host      *text
		Methods   []string
		Paths     []string
		Authority *string
	}
	if data[0] != '{' {
		e.Short = true
		err := json.Unmarshal(data, &short)
		e.Host = string(short)
		return err
	}
	if err := json.Unmarshal(data, &record); err != nil {
		return err
	}
	if record.Host == nil { // text that is not valid UTF-8
		e.Short = true
		err := short.UnmarshalJSON(data)
		e.Host = string(short)
		return err
	}
	*e = entryIn{Host: string(*record.Host), Methods: record.Methods, Paths: record.Paths, Authority: record.Authority}
	return nil
}

// rule is the entry in our form: a list that the reference leaves out is any.
// Its hosts are reached on 443. A credential for a host says nothing of where
// it may be reached and is left out.
func (e *entryIn) rule() sandbox.EgressRule {
	stated := func(list []string) []string {
		if list == nil {
			return []string{"*"}
		}
		return list
	}
	return sandbox.EgressRule{
		Host: e.Host, Ports: []string{"443"}, Methods: stated(e.Methods), Paths: stated(e.Paths),
	}
}
