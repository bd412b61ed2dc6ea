package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
)

// holder is a kind whose objects hold others, which a plan shows only as far as the
// same state has them.
type holder interface {
	// parting is what to know before the object of that id goes.
	parting(id string) diag.Diagnostic
}

// parting warns of an object that a plan deletes or replaces. Of a replacement that was
// asked for by hand it cannot: the first plan does not know of it, and Terraform drops
// the warnings of the second.
func (r *remoteResource[M]) parting(id string) diag.Diagnostics {
	k, ok := any(r.kind).(holder)
	if !ok || id == "" {
		return nil
	}
	return diag.Diagnostics{k.parting(id)}
}

var _ holder = groupKind{}

// parting asks nobody what lies in the group.
func (groupKind) parting(id string) diag.Diagnostic {
	name := id
	if g, err := acasapi.ParseGroupID(id); err == nil {
		name = g.Name
	}
	return diag.NewWarningDiagnostic("All in it goes too (group "+clip(name, maxSummary/2+2)+")",
		"Everything in the group goes with it: sandboxes, images, snapshots, volumes and secrets, also those that hosts and other configurations made, which no plan shows.\n\n"+
			"To keep the group, set lifecycle { prevent_destroy = true } in its resource.\n\n "+oneLine(id))
}
