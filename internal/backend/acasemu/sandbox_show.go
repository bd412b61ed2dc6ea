package acasemu

import (
	"fmt"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

const vmmType = "CloudHypervisor"

// show is a sandbox as the service answers it. At the create it has no outbound
// addresses yet; stopped it says nothing of where it runs.
func (e *Emulator) show(tx *store.Tx, c *call, g *groupRecord, s *sandboxRecord, atCreate bool) (wire.Sandbox, error) {
	doc := s.Doc
	place := region(g.Group.Location)
	if !wire.SameState(doc.State, wire.StateStopped, wire.StateStopping, wire.StateFailed) {
		doc.Region = place
		doc.ManagementURL = fmt.Sprintf("https://%s%s/sandboxes/%s", c.request.Host, c.groupPath(), doc.ID)
		if doc.VMMType == "" {
			doc.VMMType = vmmType
		}
	} else {
		doc.VMMType = ""
	}
	if !atCreate {
		doc.OutboundIPAddresses = []string{"203.0.113.10", "203.0.113.11"}
	}
	if c.version == wire.V0901 {
		doc.VNetConnectionName, doc.CustomerVNetConnectionName = doc.CustomerVNetConnectionName, ""
	} else {
		doc.Cmd = nil
	}
	policy, err := egressOf(tx, s)
	if err != nil {
		return doc, err
	}
	if policy != nil {
		doc.EgressPolicy = echoed(*policy)
	}
	return doc, nil
}

// groupPath is the data plane's path of a request's group.
func (c *call) groupPath() string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/sandboxGroups/%s",
		c.seg[wire.SegSubscription], c.seg[wire.SegResourceGroup], c.seg[wire.SegGroup])
}

const purposeEgress, purposeBoot = "egress policy", "environment"

// egressOf is a sandbox's policy, nil when it has none.
func egressOf(tx *store.Tx, s *sandboxRecord) (*wire.EgressPolicy, error) {
	if len(s.Egress) == 0 {
		return nil, nil
	}
	var policy wire.EgressPolicy
	if err := tx.Unseal(purposeEgress, s.Egress, &policy); err != nil {
		return nil, err
	}
	return &policy, nil
}

// echoed is a policy as the service answers it, with its own second copy.
func echoed(policy wire.EgressPolicy) *wire.EgressPolicy {
	copied := policy
	copied.HTTP = nil
	copied.HostRules = slices.Clone(policy.HostRules)
	policy.HTTP = &copied
	return &policy
}
