package acasapi

import (
	"context"
	"iter"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func (c *Client) vnetCall(op wire.Op, id GroupID, name string) (call, error) {
	if err := id.Check(); err != nil {
		return call{}, err
	}
	if err := checkName("network connection", name); err != nil {
		return call{}, err
	}
	return call{op: op, object: "network connection " + sandbox.Echo(name), seg: with(id.segments(), wire.SegVNet, name)}, nil
}

// GetVNetConnection reads a group's connection to a subnet.
func (c *Client) GetVNetConnection(ctx context.Context, id GroupID, name string) (wire.VNetConnection, error) {
	get, err := c.vnetCall(wire.VNetGet, id, name)
	if err != nil {
		return wire.VNetConnection{}, err
	}
	a, err := c.arm.send(ctx, get)
	if err != nil {
		return wire.VNetConnection{}, err
	}
	return read[wire.VNetConnection](c.arm, a, nil)
}

// PutVNetConnection connects a group to a subnet and waits until it is. The subnet
// of a connection cannot change.
func (c *Client) PutVNetConnection(ctx context.Context, id GroupID, name string, body wire.VNetConnection, wait Wait) (wire.VNetConnection, error) {
	put, err := c.vnetCall(wire.VNetPut, id, name)
	if err != nil {
		return wire.VNetConnection{}, err
	}
	body.ID, body.Name, body.Type, body.SystemData = "", "", "", nil
	put.body = body
	a, err := c.arm.send(ctx, put)
	if err != nil {
		return wire.VNetConnection{}, err
	}
	var last wire.VNetConnection
	err = c.settle(ctx, a, wait, func(ctx context.Context) (state string, err error) {
		last, err = c.GetVNetConnection(ctx, id, name)
		return last.Properties.ProvisioningState, err
	})
	return last, err
}

// DeleteVNetConnection removes a connection and waits until it is gone. One that
// does not exist is success.
func (c *Client) DeleteVNetConnection(ctx context.Context, id GroupID, name string, wait Wait) error {
	remove, err := c.vnetCall(wire.VNetDelete, id, name)
	if err != nil {
		return err
	}
	return c.removeAndWait(ctx, remove, wait, func(ctx context.Context) error {
		_, err := c.GetVNetConnection(ctx, id, name)
		return err
	})
}

// ListVNetConnections gives a group's connections.
func (c *Client) ListVNetConnections(ctx context.Context, id GroupID) iter.Seq2[wire.VNetConnection, error] {
	if err := id.Check(); err != nil {
		return func(yield func(wire.VNetConnection, error) bool) { yield(wire.VNetConnection{}, err) }
	}
	return listing[wire.VNetConnection]{
		call:  call{op: wire.VNetList, object: id.object(), seg: id.segments()},
		key:   "value",
		check: func(*wire.VNetConnection) error { return nil },
		id:    func(v *wire.VNetConnection) string { return v.ID + "/" + v.Name },
	}.all(ctx, c.arm)
}
