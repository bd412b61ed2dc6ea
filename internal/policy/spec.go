package policy

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

// CompiledSpec is a workload's ask, parsed. It is immutable.
type CompiledSpec struct {
	spec  sandbox.Spec
	known sandbox.Known

	requires     sandbox.CapabilitySet // what is known to be required, derived needs included
	requiresOpen bool                  // more may be required
	egress       compiledEgress
	baseline     sandbox.GuaranteeSet // what the mode and the rules need to be worth anything
	filesIn      sandbox.TransferLimits
	filesOut     sandbox.TransferLimits
	open         specOpen
}

// specOpen says which of a workload's fields are not known yet.
type specOpen struct {
	backend, floor, scope, family, identities, identityBounds, filesIn, filesOut, guarantees, profile, image bool
}

// CompileSpec parses one workload. Every finding is about the workload alone:
// malformed values and contradictions. The compiled spec is only meant for
// [Decide] when no finding denies.
func CompileSpec(spec sandbox.Spec, known sandbox.Known) (*CompiledSpec, []sandbox.Finding) {
	s, findings := readSpec(spec, known)
	s.egress.set = egress.NewSet(s.egress.rules)
	return s, findings
}

// SpecFindings is what [CompileSpec] finds, for whoever decides nothing.
func SpecFindings(spec sandbox.Spec, known sandbox.Known) []sandbox.Finding {
	_, findings := readSpec(spec, known)
	return findings
}

// readSpec is all of [CompileSpec] but the set of rules.
func readSpec(spec sandbox.Spec, known sandbox.Known) (*CompiledSpec, []sandbox.Finding) {
	s := &CompiledSpec{spec: spec, known: known}
	s.open = specOpen{
		backend:        !known.Has(at("backend")),
		floor:          !known.Has(at("minimum_isolation")),
		scope:          !known.Has(at("isolation_scope")),
		family:         !known.Has(at("os_family")),
		identities:     !known.Whole(at("identities")),
		identityBounds: !known.Has(at("maximum_identity_scope")) || !known.Has(at("identity_retention_seconds")),
		filesIn:        !known.Whole(at("files_in_limits")),
		filesOut:       !known.Whole(at("files_out_limits")),
		guarantees:     !known.Whole(at("egress_guarantees")),
		profile:        !known.Has(at("program_profile")),
		image:          !known.Has(at("image")),
	}
	var findings []sandbox.Finding
	findings = append(findings, kindFindings(spec, known)...)

	eg, problems := readEgress(spec.Egress, known)
	findings = append(findings, problems...)
	if !eg.modeOpen && eg.mode == sandbox.EgressUnspecified {
		eg.mode = sandbox.EgressClosed
	}
	s.egress = eg

	s.requires = eg.derived
	if known.Has(at("requires")) {
		s.requires = s.requires.Union(spec.RequiredCapabilities())
	}
	s.requiresOpen = !known.Whole(at("requires"))
	s.baseline = baselineGuarantees(eg)
	s.filesIn = spec.FilesIn.Or(sandbox.DefaultTransferLimits())
	s.filesOut = spec.FilesOut.Or(sandbox.DefaultTransferLimits())

	if !s.open.filesIn {
		findings = append(findings, limitRangeFindings(spec.FilesIn, at("files_in_limits"))...)
	}
	if !s.open.filesOut {
		findings = append(findings, limitRangeFindings(spec.FilesOut, at("files_out_limits"))...)
	}
	findings = append(findings, s.requireFindings()...)
	findings = append(findings, s.outputFindings()...)
	findings = append(findings, s.identityFindings()...)
	findings = append(findings, s.placeFindings()...)
	findings = append(findings, imageFindings(spec.Image, known)...)
	return s, findings
}

// Spec is the workload as it was given.
func (s *CompiledSpec) Spec() sandbox.Spec { return s.spec }

// Required is what the workload is known to require, egress needs included.
func (s *CompiledSpec) Required() sandbox.CapabilitySet { return s.requires }

// baselineGuarantees are the ways around a mode that must be shut for the mode
// to mean what it says.
func baselineGuarantees(e compiledEgress) sandbox.GuaranteeSet {
	if e.modeOpen {
		return sandbox.GuaranteeSet{}
	}
	closed := sandbox.SetOf(sandbox.GuaranteeDNSConfined, sandbox.GuaranteeMetadataDenied, sandbox.GuaranteeUDPDenied)
	switch e.mode {
	case sandbox.EgressClosed:
		return closed
	case sandbox.EgressAllowlist:
		need := closed.With(sandbox.GuaranteeIPLiteralDenied).With(sandbox.GuaranteePortConfined).With(sandbox.GuaranteeSNIBound)
		if e.derived.Has(sandbox.CapabilityEgressMethods) {
			need = need.With(sandbox.GuaranteeMethodConfined)
		}
		if e.derived.Has(sandbox.CapabilityEgressPaths) {
			need = need.With(sandbox.GuaranteePathConfined)
		}
		return need
	default:
		return sandbox.GuaranteeSet{}
	}
}

// maxKind bounds a kind's name, in bytes.
const maxKind = 63

func kindFindings(spec sandbox.Spec, known sandbox.Known) []sandbox.Finding {
	if !known.Has(at("kind")) || isWord(spec.Kind, maxKind) {
		return nil
	}
	code := sandbox.CodeInvalidText
	if spec.Kind == "" {
		code = sandbox.CodeMissing
	}
	return []sandbox.Finding{{
		Code: code, Path: at("kind"), Found: sandbox.Echo(spec.Kind),
		Required: "lower-case letters, digits, - and _, at most 63, starting with a letter",
		Remedy:   `write a kind such as "codeact"`,
	}}
}

func isWord(text string, limit int) bool {
	if text == "" || len(text) > limit || text[0] < 'a' || text[0] > 'z' {
		return false
	}
	for i := range len(text) {
		switch b := text[i]; {
		case b >= 'a' && b <= 'z', b >= '0' && b <= '9', b == '-', b == '_':
		default:
			return false
		}
	}
	return true
}

func (s *CompiledSpec) requireFindings() []sandbox.Finding {
	var findings []sandbox.Finding
	if s.requires.Has(sandbox.CapabilityReclaim) {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeReclaimNotRequirable, Path: at("requires"), Found: "reclaim",
			Required: "capabilities that a workload uses",
			Remedy:   "take reclaim out of requires; state minimum_cleanup instead",
		})
	}
	return findings
}

// outputFindings judges the outputs that are known, by the rules that collection
// applies at run time.
func (s *CompiledSpec) outputFindings() []sandbox.Finding {
	if !s.known.Has(at("outputs")) {
		return nil
	}
	var known []guestpath.OutputAt
	for _, name := range sortedKeys(s.spec.Outputs) {
		if path := at("outputs").Append(sandbox.MapKey(name)); s.known.Whole(path) {
			known = append(known, guestpath.OutputAt{At: path, Output: s.spec.Outputs[name]})
		}
	}
	findings := guestpath.CheckOutputs(s.workDir(), known, guestpath.NormalizeArtifactName)
	collects := len(s.spec.Outputs) > 0 || s.spec.OutputsNamedAtCallTime
	if collects && !s.requiresOpen && !s.requires.Has(sandbox.CapabilityFilesOut) {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeOutputsNeedFilesOut, Path: at("requires"),
			Found: s.requires.String(), Required: "files_out, since outputs are declared",
			Remedy: `add "files_out" to requires`,
		})
	}
	return findings
}

// workDir is where the outputs are read from, as far as it can be relied on.
func (s *CompiledSpec) workDir() string {
	if dir := s.spec.WorkDir; s.known.Has(at("work_dir")) && guestpath.ValidateBase(dir) == nil {
		return dir
	}
	return sandbox.DefaultWorkDir
}

// identityFindings holds what is attached against its bounds.
func (s *CompiledSpec) identityFindings() []sandbox.Finding {
	var findings []sandbox.Finding
	if !s.open.identities && !s.requiresOpen && !s.spec.Identities.Empty() && !s.requires.Has(sandbox.CapabilityHostTools) {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeHostToolsNotRequired, Path: at("identities"), Found: s.spec.Identities.String(),
			Required: "host_tools in requires, since identities are what host tools act under",
			Remedy:   `add "host_tools" to requires, or remove identities`,
		})
	}
	if s.requiresOpen || s.open.identityBounds {
		return findings
	}
	stated := s.spec.MaximumIdentityScope > sandbox.IdentityScopeNone
	switch wants := s.requires.Has(sandbox.CapabilityAttachedIdentity); {
	case wants && (!stated || s.spec.IdentityRetentionSeconds <= 0):
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeIdentityBounds, Path: at("maximum_identity_scope"),
			Found:    "attached_identity is required without its bounds",
			Required: "maximum_identity_scope other than none, and identity_retention_seconds of at least 1",
			Remedy:   `set maximum_identity_scope = "per_sandbox" and identity_retention_seconds`,
		})
	case !wants && (stated || s.spec.IdentityRetentionSeconds != 0):
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeIdentityBounds, Path: at("maximum_identity_scope"),
			Found:    "bounds of an attached identity that is not required",
			Required: "no bounds without attached_identity",
			Remedy:   `add "attached_identity" to requires, or remove the bounds`,
		})
	}
	return findings
}

// placeFindings judges the work directory and the labels.
func (s *CompiledSpec) placeFindings() []sandbox.Finding {
	var findings []sandbox.Finding
	if dir := s.spec.WorkDir; dir != "" && s.known.Has(at("work_dir")) {
		if err := guestpath.ValidateBase(dir); err != nil {
			findings = append(findings, sandbox.FindingsAt(err, at("work_dir"))...)
		}
	}
	if !s.known.Has(at("labels")) {
		return findings
	}
	for _, key := range sortedKeys(s.spec.Labels) {
		path := at("labels").Append(sandbox.MapKey(key))
		switch {
		case sandbox.ReservedLabel(key):
			findings = append(findings, sandbox.Finding{
				Code: sandbox.CodeInvalidText, Path: path, Found: sandbox.Echo(key),
				Required: "a key that does not start with " + sandbox.ReservedLabelPrefix + ", which carries ownership",
				Remedy:   "rename the label",
			})
		case !isLabelKey(key) || len(s.spec.Labels[key]) > maxLabelValue:
			findings = append(findings, sandbox.Finding{
				Code: sandbox.CodeInvalidText, Path: path, Found: sandbox.Echo(key),
				Required: "letters, digits, dots, hyphens and underscores, at most 63, and a value of at most 256 bytes",
				Remedy:   "rename the label or shorten its value",
			})
		}
	}
	return findings
}

const (
	maxLabelKey   = 63
	maxLabelValue = 256
)

func isLabelKey(key string) bool {
	if key == "" || len(key) > maxLabelKey {
		return false
	}
	for i := range len(key) {
		switch b := key[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '-', b == '_', b == '.':
		default:
			return false
		}
	}
	return true
}
