package policy

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// check is one question of the decision. The constants stand in the order in
// which the questions are asked, which is also the order of findings. Every one
// is asked, whatever the others say.
type check uint8

const (
	checkDeniedCapabilities check = iota
	checkDeniedIdentities
	checkAttachedIdentity
	checkIsolationFloor
	checkIsolationEvidence
	checkCapabilities
	checkMethodTokens
	checkOSFamily
	checkProgramChannel
	checkTransferLimits
	checkEgressMode
	checkEgressWithinPolicy
	checkEgressGuarantees
	checkIsolationScope
	checkImage
	checkCount
)

var checkNames = [checkCount]string{
	checkDeniedCapabilities: "denied capabilities",
	checkDeniedIdentities:   "denied identities",
	checkAttachedIdentity:   "attached identity",
	checkIsolationFloor:     "isolation floor",
	checkIsolationEvidence:  "isolation evidence",
	checkCapabilities:       "capabilities",
	checkMethodTokens:       "method tokens",
	checkOSFamily:           "OS family",
	checkProgramChannel:     "program channel",
	checkTransferLimits:     "transfer limits",
	checkEgressMode:         "egress mode",
	checkEgressWithinPolicy: "egress within policy, and what it never reaches",
	checkEgressGuarantees:   "egress guarantees",
	checkIsolationScope:     "isolation scope",
	checkImage:              "image",
}

// ask runs one check; it says what it has to say and nothing when it is content.
// It is a switch and not a table of functions so that the question can live on
// the stack: an allow without warnings allocates nothing.
func (q *question) ask(c check) {
	switch c {
	case checkDeniedCapabilities:
		q.deniedCapabilities()
	case checkDeniedIdentities:
		q.deniedIdentities()
	case checkAttachedIdentity:
		q.attachedIdentity()
	case checkIsolationFloor:
		q.isolationFloor()
	case checkIsolationEvidence:
		q.isolationEvidence()
	case checkCapabilities:
		q.capabilities()
	case checkMethodTokens:
		q.methodTokens()
	case checkOSFamily:
		q.osFamily()
	case checkProgramChannel:
		q.programChannel()
	case checkTransferLimits:
		q.transferLimits()
	case checkEgressMode:
		q.egressMode()
	case checkEgressWithinPolicy:
		q.egressWithinPolicy()
	case checkEgressGuarantees:
		q.egressGuarantees()
	case checkIsolationScope:
		q.isolationScope()
	case checkImage:
		q.image()
	}
}

// CheckNames lists the questions in order, for the docs.
func CheckNames() []string {
	return append([]string(nil), checkNames[:]...)
}

// question is one decision being made.
type question struct {
	policy   *CompiledPolicy
	backend  *CompiledDeclarations
	spec     *CompiledSpec
	findings []sandbox.Finding
}

// Decide judges one workload on one backend under the policies in force. A nil
// argument refuses. Paths lie inside the workload, in the attribute to edit.
func Decide(p *CompiledPolicy, b *CompiledDeclarations, s *CompiledSpec) sandbox.Decision {
	if p == nil || b == nil || s == nil {
		return sandbox.Decision{}
	}
	q := question{policy: p, backend: b, spec: s}
	for c := range checkCount {
		q.ask(c)
	}
	return sandbox.Decide(q.findings)
}

func (q *question) say(f sandbox.Finding) { q.findings = append(q.findings, f) }

func (q *question) deny(code sandbox.Code, path sandbox.FieldPath, found, required, remedy string) {
	q.say(sandbox.Finding{Code: code, Path: path, Found: found, Required: required, Remedy: remedy})
}

func (q *question) warn(code sandbox.Code, path sandbox.FieldPath, found, required, remedy string) {
	q.say(sandbox.Finding{
		Verdict: sandbox.Allow, Code: code, Path: path, Found: found, Required: required, Remedy: remedy,
	})
}

// wait says that the answer turns on a value that is not known yet. The path is
// the workload's attribute that is judged; what is unknown is named in Found.
func (q *question) wait(path sandbox.FieldPath, unknown, decides string) {
	q.say(sandbox.Finding{
		Verdict: sandbox.Undecided, Code: sandbox.CodeUndecided, Path: path,
		Found: unknown + " is not known yet", Required: "a known value, which decides " + decides,
		Remedy: "nothing to do before apply; it is decided then",
	})
}

func (q *question) backendName() string { return q.backend.name() }
