package conformance_test

import (
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// step is a question that the reference asks and we do not, and what it says.
type step struct {
	class string
	// before is the last of our questions that the reference asks before it.
	before sandbox.Code
}

var (
	channelsStep = step{"attach SandboxAttachedIdentityNotPermitted", sandbox.CodeAttachedIdentity}
	programStep  = step{"attach SandboxCapabilityNotSupported", sandbox.CodeProgramChannelMissing}
	limitsStep   = step{"attach SandboxTransferLimitsNotPermitted", sandbox.CodeLimitsOverCeiling}
	identityStep = step{"attach SandboxIdentityDenied", sandbox.CodeIdentityDenied}
	networkStep  = step{"attach SandboxCapabilityNotSupported", sandbox.CodeCapabilityMissing}
	// deniedStep is the first of all.
	deniedStep = step{"attach SandboxCapabilityDenied", ""}
)

// questionOrder are the codes of the questions in the reference's order.
var questionOrder = []sandbox.Code{
	sandbox.CodeCapabilityDenied, sandbox.CodeIdentityDenied, sandbox.CodeAttachedIdentity,
	sandbox.CodeIsolationBelowFloor, sandbox.CodeCapabilityMissing, sandbox.CodeEgressMethodUnsupported,
	sandbox.CodeOSFamilyUnsupported, sandbox.CodeProgramChannelMissing, sandbox.CodeLimitsOverCeiling,
	sandbox.CodeEgressNotEnforced, sandbox.CodeScopeNotEnforced,
}

// policyDiffers covers the vectors that an aspect applies to and that differ in
// nothing else: with the aspect taken out of the input we agree, or the
// reference stops at the step that we do not have and we had no objection up to
// there. A nil without takes nothing out.
func policyDiffers(applies func(*policyIn, string) bool, without func(*policyIn), at ...step) func(*vector, answer) bool {
	return func(v *vector, _ answer) bool {
		var in policyIn
		var out policyOut
		if v.in(&in) != nil || v.out(&out) != nil || !applies(&in, v.Oracle) {
			return false
		}
		if without == nil && len(at) == 0 {
			return true
		}
		if without != nil {
			without(&in)
		}
		ours := in.judge(v.Oracle)
		theirs := "allow"
		switch {
		case out.Error != "":
			theirs = out.Stage + " " + out.Error
		case out.Warned:
			theirs = "allow, warned"
		}
		if without != nil && ours.render(nil) == theirs {
			return true
		}
		return slices.ContainsFunc(at, func(s step) bool { return s.class == theirs && ours.passes(s.before) })
	}
}

// passes reports whether every question up to and including code's was answered
// with yes.
func (o outcome) passes(code sandbox.Code) bool {
	return o.finding == nil || (o.stage == "attach" &&
		slices.Index(questionOrder, o.finding.Code) > slices.Index(questionOrder, code))
}

func shapeOfBackend(in *policyIn, _ string) bool { return in.Backend.misshapen() }

func requires(s *specIn, c string) bool { return s.Requires != nil && slices.Contains(*s.Requires, c) }

// authorityChannels: what the backend attaches is used through other channels
// than the rules ask for.
func authorityChannels(in *policyIn, _ string) bool {
	if in.Backend.Attached == nil {
		return false
	}
	asked := slices.ContainsFunc(in.Spec.EgressAllow, func(e entryIn) bool { return e.Authority != nil })
	return asked != (len(in.Backend.Attached.Channels) > 0)
}

// hostToolsWithoutProgram: host tools are required without a program to call
// them, or declared without a channel that carries them.
func hostToolsWithoutProgram(in *policyIn, oracle string) bool {
	if oracle != newest {
		return false
	}
	declared := in.Backend.Capabilities != nil && slices.Contains(*in.Backend.Capabilities, "host_tools")
	carried := false
	for _, c := range in.Backend.Channels {
		carried = carried || c.HostTools
	}
	return in.Spec.Program == nil && requires(&in.Spec, "host_tools") || declared && !carried
}

// transportTransfers: host tools of a release that counted their transfers, or a
// program channel.
func transportTransfers(in *policyIn, oracle string) bool {
	if oracle == newest {
		return in.Spec.Program != nil
	}
	return in.Spec.HostTools != nil
}

func dropLimits(in *policyIn) {
	none := limitsIn{}
	in.Spec.FilesIn, in.Spec.FilesOut = &none, &none
}

func emptyAllowlist(in *policyIn, oracle string) bool {
	return oracle != newest && in.Spec.Egress != nil && *in.Spec.Egress == "allowlist" && len(in.Spec.EgressAllow) == 0
}

// openEgress names a host that stands for none, and takes out what that release
// added to the limits.
func openEgress(in *policyIn) {
	in.Spec.EgressAllow = []entryIn{{Host: "none.example.com", Short: true}}
	if in.Spec.HostTools != nil {
		dropLimits(in)
	}
}

func looseIdentities(in *policyIn, oracle string) bool {
	return firstEra(oracle) && len(in.Spec.Identities) > 0 && !requires(&in.Spec, "host_tools")
}

func dropIdentities(in *policyIn) {
	in.Spec.Identities = nil
	dropNetwork(in)
}

// unknownWord: the workload asks for something that is no word.
func unknownWord(in *policyIn, oracle string) bool {
	var findings []sandbox.Finding
	s := specIn{MinIsolation: in.Spec.MinIsolation, OSFamily: in.Spec.OSFamily, Requires: in.Spec.Requires}
	_, findings = s.spec(oracle)
	return len(findings) > 0 && !namesNetwork(in, oracle)
}

// silentLevel: the one level of the first release is missing or no level.
func silentLevel(in *policyIn, oracle string) bool {
	return firstEra(oracle) && !slices.Contains([]string{"closed", "allowlist", "unrestricted"}, in.Backend.Egress)
}

// looseHostTools: host tools that act under nothing, and are not required.
func looseHostTools(in *policyIn, _ string) bool {
	return in.Spec.HostTools != nil && len(in.Spec.HostTools.Identities) == 0 && !requires(&in.Spec, "host_tools")
}

func namesNetwork(in *policyIn, oracle string) bool {
	return firstEra(oracle) && (slices.Contains(in.Router.DeniedCapabilities, "network") || requires(&in.Spec, "network"))
}

func dropNetwork(in *policyIn) {
	if !requires(&in.Spec, "host_tools") {
		in.Spec.Identities = nil
	}
	isNetwork := func(c string) bool { return c == "network" }
	in.Router.DeniedCapabilities = slices.DeleteFunc(in.Router.DeniedCapabilities, isNetwork)
	if in.Spec.Requires != nil {
		kept := slices.DeleteFunc(*in.Spec.Requires, isNetwork)
		in.Spec.Requires = &kept
	}
}
