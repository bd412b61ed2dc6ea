package acasapi

import (
	"context"
	"iter"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// GetGroup reads a group.
func (c *Client) GetGroup(ctx context.Context, id GroupID) (wire.Group, error) {
	if err := id.Check(); err != nil {
		return wire.Group{}, err
	}
	return c.getGroup(ctx, id)
}

func (c *Client) getGroup(ctx context.Context, id GroupID) (wire.Group, error) {
	a, err := c.arm.send(ctx, call{op: wire.GroupGet, object: id.object(), seg: id.segments()})
	if err != nil {
		return wire.Group{}, err
	}
	return read[wire.Group](c.arm, a, nil)
}

// PutGroup makes a group, or replaces the one of that name, and waits until it is
// there. Location cannot change.
func (c *Client) PutGroup(ctx context.Context, id GroupID, body wire.Group, wait Wait) (wire.Group, error) {
	if err := id.Check(); err != nil {
		return wire.Group{}, err
	}
	if err := c.identityKnown(id, body.Identity); err != nil {
		return wire.Group{}, err
	}
	body.ID, body.Name, body.Type, body.SystemData = "", "", "", nil
	return c.changeGroup(ctx, call{op: wire.GroupPut, object: id.object(), seg: id.segments(), body: body}, id, wait)
}

// AwaitGroup waits until what somebody began to make of a group is done.
func (c *Client) AwaitGroup(ctx context.Context, id GroupID, wait Wait) (wire.Group, error) {
	if err := id.Check(); err != nil {
		return wire.Group{}, err
	}
	return c.changeGroup(ctx, call{op: wire.GroupGet, object: id.object(), seg: id.segments()}, id, wait)
}

// PatchGroup changes parts of a group and waits until they hold.
func (c *Client) PatchGroup(ctx context.Context, id GroupID, body wire.GroupPatchBody, wait Wait) (wire.Group, error) {
	if err := id.Check(); err != nil {
		return wire.Group{}, err
	}
	if err := c.identityKnown(id, body.Identity); err != nil {
		return wire.Group{}, err
	}
	return c.changeGroup(ctx, call{op: wire.GroupPatch, object: id.object(), seg: id.segments(), body: body}, id, wait)
}

// identityKnown refuses an identity that the version would drop without a word.
func (c *Client) identityKnown(id GroupID, identity *wire.GroupIdentity) error {
	if identity == nil || c.arm.version == wire.V0201 {
		return nil
	}
	return refusal(sandbox.CodeServiceNoOperation, id.object(), "an identity in "+string(c.arm.version), "api-version "+string(wire.V0201),
		"the stable version has no identity")
}

func (c *Client) changeGroup(ctx context.Context, change call, id GroupID, wait Wait) (wire.Group, error) {
	a, err := c.arm.send(ctx, change)
	if err != nil {
		return wire.Group{}, err
	}
	var last wire.Group
	err = c.settle(ctx, a, wait, func(ctx context.Context) (state string, err error) {
		last, err = c.getGroup(ctx, id)
		return last.Properties.ProvisioningState, err
	})
	return last, err
}

// DeleteGroup removes a group with everything in it and waits until it is gone,
// which has taken ten minutes. A group that does not exist is success.
func (c *Client) DeleteGroup(ctx context.Context, id GroupID, wait Wait) error {
	if err := id.Check(); err != nil {
		return err
	}
	return c.removeAndWait(ctx, call{op: wire.GroupDelete, object: id.object(), seg: id.segments()}, wait, func(ctx context.Context) error {
		_, err := c.getGroup(ctx, id)
		return err
	})
}

// ListGroups gives the groups of a resource group, or of the whole subscription
// when resourceGroup is empty.
func (c *Client) ListGroups(ctx context.Context, subscription, resourceGroup string) iter.Seq2[wire.Group, error] {
	l := listing[wire.Group]{
		call:  call{op: wire.GroupList, object: "sandbox groups", seg: wire.Segments{wire.SegSubscription: subscription, wire.SegResourceGroup: resourceGroup}},
		key:   "value",
		check: func(*wire.Group) error { return nil },
		id:    func(g *wire.Group) string { return g.ID + "/" + g.Name },
	}
	err := checkSubscription(subscription)
	if resourceGroup == "" {
		l.call.op = wire.GroupListSubscription
	} else if err == nil {
		err = checkPlace(subscription, resourceGroup)
	}
	if err != nil {
		return func(yield func(wire.Group, error) bool) { yield(wire.Group{}, err) }
	}
	return l.all(ctx, c.arm)
}
