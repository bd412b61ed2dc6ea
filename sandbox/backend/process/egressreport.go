package process

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egresstrial"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// lackEgress notes why there is no allowlist.
func (r *Report) lackEgress(why string) {
	r.Egress = append(r.Egress, Check{Name: "allowlist", Shown: why, Remedy: "see what was found"})
}

// reportWall is the edit for a wall that does not hold, which no setting mends.
const reportWall = "offer no workload here that needs it, and file an issue with the maintainers of this provider: " +
	"this report, the versions of the kernel (uname -r) and of bubblewrap (bwrap --version)"

// noteEgress notes what was tried.
func (r *Report) noteEgress() {
	for _, w := range r.walls {
		c := Check{Name: w.Name, Shown: w.Shown, Held: w.Held}
		if !c.Held {
			c.Remedy = reportWall
		}
		r.Egress = append(r.Egress, c)
	}
}

// declareEgress says of the machine's sandboxes what the walls bear out. Those
// with no network at all have what follows from that.
func (r *Report) declareEgress(d *sandbox.Declarations) {
	const alone = "a network namespace with loopback only"
	d.EgressModes = sandbox.SetOf(sandbox.EgressClosed)
	tried := len(r.walls) > 0
	for _, g := range sandbox.Guarantees() {
		shown, held := egresstrial.Proof(r.walls, g)
		closed := closedBy(g)
		switch {
		case tried && !held, !tried && !closed:
			delete(d.Guarantees, g)
			continue
		case closed:
			shown = append([]string{alone}, shown...)
		}
		d.Guarantees[g] = sandbox.Evidence{Kind: sandbox.EvidenceProbed, Reference: "probed at start: " + strings.Join(shown, "; ")}
	}
	capabilities := *d.Capabilities
	enforced := egresstrial.Enforced(r.walls)
	if enforced {
		d.EgressModes = d.EgressModes.With(sandbox.EgressAllowlist)
	}
	for c, g := range egressCapabilities {
		if _, given := d.Guarantees[g]; !enforced || !given {
			capabilities = capabilities.Minus(sandbox.SetOf(c))
		}
	}
	d.Capabilities = &capabilities
}

// egressCapabilities are what rules can ask for beyond hosts, each with the
// guarantee that it rests on.
var egressCapabilities = map[sandbox.Capability]sandbox.Guarantee{
	sandbox.CapabilityEgressPorts:     sandbox.GuaranteePortConfined,
	sandbox.CapabilityEgressMethods:   sandbox.GuaranteeMethodConfined,
	sandbox.CapabilityEgressPaths:     sandbox.GuaranteePathConfined,
	sandbox.CapabilityEgressAddresses: sandbox.GuaranteeIPLiteralDenied,
}

// closedBy reports whether a guarantee follows from having no network.
func closedBy(g sandbox.Guarantee) bool {
	switch g {
	case sandbox.GuaranteeDNSConfined, sandbox.GuaranteeIPLiteralDenied, sandbox.GuaranteePortConfined,
		sandbox.GuaranteeMetadataDenied, sandbox.GuaranteeUDPDenied:
		return true
	}
	return false
}
