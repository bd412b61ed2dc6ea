package acasemu

import (
	"context"
	"net/http"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

func (c *call) vnetKey() store.Key { return append(c.groupKey(), strings.ToLower(c.seg[wire.SegVNet])) }

func (e *Emulator) vnetGet(ctx context.Context, c *call) (answer, error) {
	var v vnetRecord
	err := e.store.View(ctx, func(tx *store.Tx) error {
		if _, err := e.group(tx, c); err != nil {
			return err
		}
		var exists bool
		var err error
		if v, exists, err = store.Get[vnetRecord](tx, kindVNet, c.vnetKey()); err == nil && !exists {
			err = refuse(http.StatusNotFound, "ResourceNotFound", "there is no such VNet connection")
		}
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return ok(v.VNet)
}

func (e *Emulator) vnetPut(ctx context.Context, c *call) (answer, error) {
	var body wire.VNetConnection
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	if !groupName.MatchString(c.seg[wire.SegVNet]) {
		return answer{}, refuse(http.StatusBadRequest, "InvalidResourceName", "a VNet connection's name is 1 to 32 letters, digits and hyphens")
	}
	if body.Properties.SubnetID == "" {
		return answer{}, refuse(http.StatusBadRequest, "InvalidRequest", "properties.subnetId is required")
	}
	var v vnetRecord
	status := http.StatusOK
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		g, err := e.group(tx, c)
		if err != nil {
			return err
		}
		old, exists, err := store.Get[vnetRecord](tx, kindVNet, c.vnetKey())
		if err != nil {
			return err
		}
		if exists && !strings.EqualFold(old.VNet.Properties.SubnetID, body.Properties.SubnetID) {
			return refuse(http.StatusConflict, "SubnetCannotChange", "properties.subnetId cannot be changed")
		}
		if status = http.StatusOK; !exists {
			status = http.StatusCreated
		}
		if body.Location == "" {
			body.Location = g.Group.Location
		}
		v = vnetRecord{VNet: wire.VNetConnection{
			ID: c.request.URL.Path, Name: c.seg[wire.SegVNet], Type: groupType + "/vnetConnections", Location: body.Location,
			Properties: wire.VNetProperties{SubnetID: body.Properties.SubnetID, ProvisioningState: wire.ARMSucceeded},
		}}
		return store.Put(tx, kindVNet, c.vnetKey(), v)
	})
	if err != nil {
		return answer{}, err
	}
	return answer{status: status, doc: v.VNet}, nil
}

func (e *Emulator) vnetDelete(ctx context.Context, c *call) (answer, error) {
	existed := false
	err := e.store.Update(ctx, func(tx *store.Tx) (err error) {
		if _, existed, err = store.Get[vnetRecord](tx, kindVNet, c.vnetKey()); err != nil || !existed {
			return err
		}
		return tx.Delete(kindVNet, c.vnetKey())
	})
	switch {
	case err != nil:
		return answer{}, err
	case !existed:
		return nothing()
	}
	return answer{status: http.StatusAccepted}, nil
}

func (e *Emulator) vnetList(ctx context.Context, c *call) (answer, error) {
	var all []wire.VNetConnection
	err := e.store.View(ctx, func(tx *store.Tx) error {
		all = nil
		if _, err := e.group(tx, c); err != nil {
			return err
		}
		for v, err := range store.Each[vnetRecord](tx, kindVNet, c.groupKey()) {
			if err != nil {
				return err
			}
			all = append(all, v.VNet)
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return armPage(e, c, all)
}
