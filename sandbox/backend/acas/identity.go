package acas

import (
	"context"
	"errors"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// identityRemedy names the attribute to edit, as the plan's own finding does.
const identityRemedy = "remove the block identity of the sandbox_group, or keep workloads that need an identity in a group of their own"

// withoutIdentity refuses while the group has an identity: a sandbox may use every
// identity of its group unless it was told otherwise, and this version of the service
// shows of no sandbox that it was. No workload can require one here. An identity can
// be given to a group at any time, so it is asked before every sandbox.
func (e *Engine) withoutIdentity(ctx context.Context) error {
	if e.config.GroupHasNoIdentity {
		return nil
	}
	id := e.group.ID()
	group, err := e.arm.GetGroup(ctx, id)
	switch {
	case errors.Is(err, sandbox.CodeServiceForbidden):
		return sandbox.Finding{
			Code: sandbox.CodeServiceForbidden, Subject: "group " + sandbox.Echo(id.Name),
			Found:    "a group that this host may not read, so that nobody knows whether programs in its sandboxes can get tokens",
			Required: "a role that reads the group, such as Reader",
			Remedy:   "give the host's identity the role on the group, or say of a group that is known to have no identity GroupHasNoIdentity in the backend's configuration",
		}.Refusal(err)
	case err != nil:
		return engineError("read the group", err)
	case group.Identity == nil || group.Identity.Type == "" || strings.EqualFold(group.Identity.Type, wire.IdentityNone):
		return nil
	}
	return sandbox.Finding{
		Code: sandbox.CodeAttachedIdentity, Subject: "group " + sandbox.Echo(id.Name),
		Found:    "an identity, " + sandbox.Echo(group.Identity.Type) + ", of which programs in every sandbox of the group can get tokens",
		Required: "none, since no workload can require one here", Remedy: identityRemedy,
	}.Refusal(nil)
}
