package conformance_test

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// refusalClass names the reference's error for each of our codes that it knows.
// Every other code of the value family is its ValueError.
var refusalClass = map[sandbox.Code]string{
	sandbox.CodeCapabilityDenied:        "SandboxCapabilityDenied",
	sandbox.CodeIdentityDenied:          "SandboxIdentityDenied",
	sandbox.CodeAttachedIdentity:        "SandboxAttachedIdentityNotPermitted",
	sandbox.CodeIsolationBelowFloor:     "SandboxBackendNotPermitted",
	sandbox.CodeBackendNotPermitted:     "SandboxBackendNotPermitted",
	sandbox.CodeCapabilityMissing:       "SandboxCapabilityNotSupported",
	sandbox.CodeEgressMethodUnsupported: "SandboxCapabilityNotSupported",
	sandbox.CodeProgramChannelMissing:   "SandboxCapabilityNotSupported",
	sandbox.CodeOSFamilyUnsupported:     "SandboxOsFamilyNotSupported",
	sandbox.CodeLimitsOverCeiling:       "SandboxTransferLimitsNotPermitted",
	sandbox.CodeEgressNotEnforced:       "SandboxEgressNotEnforced",
	sandbox.CodeScopeNotEnforced:        "SandboxScopeNotEnforced",
	sandbox.CodeNoBackend:               "NoSandboxBackend",
}

func classOf(f sandbox.Finding) string {
	if class, known := refusalClass[f.Code]; known {
		return class
	}
	if f.Code.Family() == sandbox.ErrValue {
		return "ValueError"
	}
	return string(f.Code)
}

// firstDenial is the finding that decides, or nil.
func firstDenial(findings []sandbox.Finding) *sandbox.Finding {
	i := slices.IndexFunc(findings, func(f sandbox.Finding) bool { return f.Verdict == sandbox.Deny })
	if i < 0 {
		return nil
	}
	return &findings[i]
}

// outcome is a stage and a class of refusal, or an allow.
type outcome struct {
	stage   string
	finding *sandbox.Finding // nil allows
	warning *sandbox.Finding // a backend confines more than asked
}

// render writes the outcome as the vectors do. Items that the reference's text
// names must be named by ours; those that are not are added, so that they show.
func (o outcome) render(mentions []string) string {
	if o.finding == nil {
		if o.warning == nil {
			return "allow"
		}
		return "allow, warned" + unnamed(*o.warning, mentions)
	}
	return o.stage + " " + classOf(*o.finding) + unnamed(*o.finding, mentions)
}

// unnamed lists the items that a finding does not name. The workload's kind is
// the subject, which whoever judged the workload knows.
func unnamed(f sandbox.Finding, mentions []string) string {
	said := strings.Join([]string{f.Subject, f.Path.String(), f.Found, f.Required, f.Remedy}, "\n")
	var missing []string
	for _, item := range mentions {
		// A long item is named by its beginning.
		if item != probedKind && !strings.Contains(said, item) && !strings.Contains(said, sandbox.Echo(item)) {
			missing = append(missing, item)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return " without naming " + strings.Join(missing, ", ")
}

// probedKind is the kind of every workload in the vectors.
const probedKind = "wk"
