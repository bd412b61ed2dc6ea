package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestFactsShowEverythingThatIsDeclared(t *testing.T) {
	t.Parallel()
	capabilities := sandbox.DefaultCapabilities().With(sandbox.CapabilityAttachedIdentity)
	everything := sandbox.Declarations{
		Backend: "full", Isolation: sandbox.IsolationVM,
		IsolationEvidence: sandbox.Evidence{Kind: sandbox.EvidenceEmulated, Reference: "an emulator"},
		Capabilities:      &capabilities,
		Guarantees:        map[sandbox.Guarantee]sandbox.Evidence{sandbox.GuaranteeUDPDenied: {Kind: sandbox.EvidenceProbed, Reference: "a probe"}},
		AttachedIdentity: sandbox.AttachedIdentity{
			Scope: sandbox.IdentityScopeShared, RetentionSeconds: 3600, Channels: sandbox.SetOf(sandbox.AuthorityChannels()[0]),
		},
		ProgramChannels: []sandbox.ProgramChannel{{
			Name: "runner", Profiles: []string{"python"}, HostTools: true, Needs: sandbox.SetOf(sandbox.CapabilityExec),
		}},
		ObservesEgress: true, ExclusiveAdmission: true,
	}
	var out bytes.Buffer
	code := cli.Main(t.Context(), cli.Env{Stdout: &out, Stderr: &out, Backends: map[string]cli.Backend{
		"full": {Declarations: func() sandbox.Declarations { return everything }},
	}}, []string{"facts", "--backend", "full"})
	if code != cli.ExitAllowed {
		t.Fatalf("exit %d\n%s", code, out.String())
	}
	for _, want := range []string{
		"isolation     vm                 emulated    an emulator",
		"udp_denied         probed      a probe",
		"attached, shared, for 3,600 seconds, through " + sandbox.AuthorityChannels()[0].String(),
		"programs      runner for python, with host tools, needs exec",
		"reports       what its sandboxes connected to",
		"admits        one call at a time",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
