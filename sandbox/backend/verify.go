package backend

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// fileCapabilities are those that the engine's file plane serves.
var fileCapabilities = [...]sandbox.Capability{
	sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut,
	sandbox.CapabilityFilesList, sandbox.CapabilityFilesDelete, sandbox.CapabilityReclaim,
}

// verifier collects every disagreement between what is declared and what is there.
type verifier struct{ refusals sandbox.Refusals }

func (v *verifier) disagree(path sandbox.FieldPath, found, required, remedy string) {
	v.refusals = append(v.refusals, sandbox.Finding{
		Code: sandbox.CodeBackendNotPermitted, Path: path,
		Found: found, Required: required, Remedy: remedy,
	}.Refusal(nil))
}

// verify answers the way in which files will be asked for, and why the
// declarations cannot stand.
func verify(e engine.Engine, d sandbox.Declarations, s settings) (engine.Access, sandbox.Refusals) {
	var v verifier
	if e == nil {
		v.disagree(nil, "no engine", "an engine", "give backend.New the engine to serve")
		return engine.Access{}, v.refusals
	}
	v.settings(s)
	v.claims(d)
	v.capabilities(e, d)
	v.limits("files_in_limits", d.FilesIn)
	v.limits("files_out_limits", d.FilesOut)
	return v.access(e, d), v.refusals
}

func (v *verifier) settings(s settings) {
	if s.outputLimit <= 0 || s.listLimit <= 0 || s.cleanupTimeout <= 0 {
		v.disagree(nil, "a limit or timeout that is not positive", "a positive one", "leave the option out for its default")
	}
	if s.labelKey != nil && len(s.labelKey) < 16 {
		v.disagree(nil, "a label key of "+strconv.Itoa(len(s.labelKey))+" bytes", "at least 16 bytes",
			"generate one, or leave the option out")
	}
}

func (v *verifier) claims(d sandbox.Declarations) {
	if d.Backend == "" || strings.ContainsFunc(d.Backend, func(r rune) bool { return r <= ' ' || r > '~' }) {
		v.disagree(sandbox.Path("backend"), "backend name "+sandbox.Echo(d.Backend), "printable ASCII without spaces",
			"name the backend as workloads will, such as docker")
	}
	if !slices.Contains(sandbox.Isolations(), d.Isolation) {
		v.disagree(sandbox.Path("isolation"), "no rung", "one of the isolation ladder", "declare the rung that was shown")
	}
	if !evident(d.IsolationEvidence) {
		v.disagree(sandbox.Path("isolation_evidence"), "a rung without evidence", "probed, documented or emulated",
			"declare what stands behind the rung")
	}
	for _, g := range sandbox.Guarantees() {
		if evidence, ok := d.Guarantees[g]; ok && !evident(evidence) {
			v.disagree(sandbox.Path("guarantees", sandbox.MapKey(g.String())), "a guarantee without evidence",
				"probed, documented or emulated", "declare what stands behind the guarantee, or leave it out")
		}
	}
	if d.AttachedIdentity.Attached() != capabilitiesOf(d).Has(sandbox.CapabilityAttachedIdentity) {
		v.disagree(sandbox.Path("attached_identity"), "an identity or the capability without the other",
			"both or neither", "declare attached_identity exactly when sandboxes carry one")
	}
}

func evident(e sandbox.Evidence) bool { return slices.Contains(sandbox.EvidenceKinds(), e.Kind) }

func (v *verifier) capabilities(e engine.Engine, d sandbox.Declarations) {
	declared, able := capabilitiesOf(d), e.Abilities()
	for _, pair := range []struct {
		capability sandbox.Capability
		able       bool
	}{
		{sandbox.CapabilityExec, able.Exec},
		{sandbox.CapabilityRunCode, able.RunCode},
		// No engine ability stands behind it yet, so nobody can have it.
		{sandbox.CapabilitySnapshot, false},
	} {
		name := pair.capability.String()
		switch has := declared.Has(pair.capability); {
		case has && !pair.able:
			v.disagree(sandbox.Path("capabilities"), name+" declared", "an engine that can "+name,
				"take "+name+" out of the declarations")
		case !has && pair.able:
			v.disagree(sandbox.Path("capabilities"), name+" not declared", "what the engine can do",
				"declare "+name+", or switch it off in the engine")
		}
	}
}

func (v *verifier) limits(name string, l *sandbox.TransferLimits) {
	if l == nil {
		return
	}
	for _, n := range []int64{l.MaxBytesPerFile, l.MaxTotalBytes, l.MaxFiles} {
		if n < 0 || n > sandbox.MaxDocumentInteger {
			v.disagree(sandbox.Path(name), l.String(), "numbers from 0 to 2^53-1", "state limits in that range")
			return
		}
	}
}

// access picks how files are asked for: as the declared principal, and without
// following links where the engine can. What is declared about paths that change
// meanwhile must be borne out.
func (v *verifier) access(e engine.Engine, d sandbox.Declarations) engine.Access {
	authority := max(d.WriteAuthority, sandbox.WriteAuthorityGuest)
	access, found := pickAccess(e, authority.Principal())
	serves := slices.ContainsFunc(fileCapabilities[:], capabilitiesOf(d).Has)
	held := access.Links == engine.Beneath || e.Abilities().Freeze
	switch {
	case !found && serves:
		v.disagree(sandbox.Path("write_authority"), "files as "+authority.Principal().String(),
			"a principal that the engine's file plane acts as",
			"declare write_authority as the engine has it, or take the file capabilities out")
	case found && authority == sandbox.WriteAuthorityRootConfined && !held:
		v.disagree(sandbox.Path("write_authority"), authority.String()+" over an engine that follows links and cannot freeze",
			"an engine that resolves paths in one step, or freezes its guests", "declare write_authority root")
	}
	if capabilitiesOf(d).Has(sandbox.CapabilityReclaim) && found && authority == sandbox.WriteAuthorityRoot {
		v.disagree(sandbox.Path("capabilities"), "reclaim declared", "files removed as the guest, or as root with the path held",
			"take reclaim out of the declarations; such sandboxes are disposed instead")
	}
	return access
}

func pickAccess(e engine.Engine, as sandbox.Principal) (access engine.Access, found bool) {
	for _, links := range []engine.Links{engine.Beneath, engine.Follow} {
		if want := (engine.Access{As: as, Links: links}); slices.Contains(e.Access(), want) {
			return want, true
		}
	}
	return engine.Access{}, false
}
