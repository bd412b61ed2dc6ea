package provider

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/unfinished"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func newVNetConnectionResource() resource.Resource {
	return &remoteResource[vnetConnectionModel]{kind: vnetConnectionKind{}}
}

// vnetConnectionModel is sandbox_vnet_connection.
type vnetConnectionModel struct {
	Group    types.String   `tfsdk:"group"`
	Name     types.String   `tfsdk:"name"`
	SubnetID types.String   `tfsdk:"subnet_id"`
	ID       types.String   `tfsdk:"id"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// vnetConnectionSchema is the schema of sandbox_vnet_connection.
func vnetConnectionSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A connection of a group to a subnet, which sandboxes of the group can be attached to by its name. " +
			"**What the subnet reaches, an attached sandbox may reach**: a workload's egress rules are about the service's own proxy.",
		Attributes: map[string]schema.Attribute{
			"group":     groupAttribute(),
			"name":      byARM(fixedRequired("The connection's name: 1 to 32 letters, digits and hyphens, not starting with a hyphen. Another name means another connection.")),
			"subnet_id": byARM(fixedRequired("The subnet, by resource id. It has to be delegated to `Microsoft.App/environments`. Another subnet means another connection.")),
			"id":        idAttribute("GROUP_ID/vnetConnections/NAME"),
		},
	}
}

// vnetConnectionKind is a group's connection to a subnet, on the ARM plane.
type vnetConnectionKind struct{}

var _ objectKind[vnetConnectionModel] = vnetConnectionKind{}

func (vnetConnectionKind) name() string            { return "vnet_connection" }
func (vnetConnectionKind) describe() schema.Schema { return vnetConnectionSchema() }

func (vnetConnectionKind) header(m *vnetConnectionModel) header {
	return header{id: m.ID, timeouts: m.Timeouts, group: groupOf(m.Group), imported: m.Group.IsNull()}
}

func (vnetConnectionKind) limits() deadlines {
	return deadlines{create: 15 * time.Minute, read: 5 * time.Minute, update: 5 * time.Minute, remove: 15 * time.Minute}
}

// check finds names that no connection has, and a subnet that is none.
func (vnetConnectionKind) check(m *vnetConnectionModel) []sandbox.Finding {
	findings := checkGroup(m.Group)
	if !m.Name.IsNull() && !m.Name.IsUnknown() {
		// Connections are named as groups are.
		id := acasapi.GroupID{Subscription: embeddedSubscription, ResourceGroup: "g", Name: m.Name.ValueString()}
		for _, f := range placedAt("name", "choose another name", id.Check()) {
			f.Subject = "network connection"
			findings = append(findings, f)
		}
	}
	if text := m.SubnetID.ValueString(); !m.SubnetID.IsNull() && !m.SubnetID.IsUnknown() && !strings.Contains(strings.ToLower(text), "/subnets/") {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeInvalidText, Path: sandbox.Path("subnet_id"), Found: sandbox.Echo(text),
			Required: "/subscriptions/…/virtualNetworks/NETWORK/subnets/SUBNET", Remedy: "write the subnet's resource id",
		})
	}
	return findings
}

// foresee plans the id.
func (vnetConnectionKind) foresee(_ *groundwork, _, plan *vnetConnectionModel) foresight {
	plan.ID = types.StringUnknown()
	if !plan.Group.IsUnknown() && !plan.Name.IsUnknown() {
		plan.ID = childID(plan.Group, "vnetConnections", plan.Name.ValueString())
	}
	return foresight{about: "network connection " + plan.Name.ValueString()}
}

func (vnetConnectionKind) filed(m *vnetConnectionModel) string { return m.ID.ValueString() }

// create makes the connection. It has nothing that could carry a mark, and nothing in
// it: one of the same name to the same subnet is the one that was begun.
func (vnetConnectionKind) create(ctx context.Context, h *home, plan, _ *vnetConnectionModel, a *attempt) (bool, error) {
	arm, err := h.arm()
	if err != nil {
		return false, err
	}
	group, name := *groupOf(plan.Group), plan.Name.ValueString()
	look := func(ctx context.Context) error { _, err := arm.GetVNetConnection(ctx, group, name); return err }
	switch doc, err := arm.GetVNetConnection(ctx, group, name); {
	case errors.Is(err, sandbox.CodeServiceNotFound):
		a.begin(ctx)
	case err != nil:
		return false, err
	case !strings.EqualFold(doc.Properties.SubnetID, plan.SubnetID.ValueString()) || !a.resumes(ctx, func(unfinished.Creation) bool { return true }):
		return false, &existsError{kind: "vnet_connection", id: plan.ID.ValueString(), object: "network connection " + sandbox.Echo(name), at: sandbox.Path("name")}
	}
	_, err = arm.PutVNetConnection(ctx, group, name, wire.VNetConnection{Properties: wire.VNetProperties{SubnetID: plan.SubnetID.ValueString()}}, a.wait)
	return err == nil || a.afterwards(ctx, err, look), err
}

func (vnetConnectionKind) read(ctx context.Context, h *home, m *vnetConnectionModel) error {
	arm, err := h.arm()
	if err != nil {
		return err
	}
	doc, err := arm.GetVNetConnection(ctx, *groupOf(m.Group), m.Name.ValueString())
	if err != nil {
		return err
	}
	if !strings.EqualFold(doc.Properties.SubnetID, m.SubnetID.ValueString()) {
		m.SubnetID = types.StringValue(doc.Properties.SubnetID)
	}
	return nil
}

func (vnetConnectionKind) listed(ctx context.Context, h *home, m *vnetConnectionModel) (bool, error) {
	arm, err := h.arm()
	if err != nil {
		return false, err
	}
	for doc, err := range arm.ListVNetConnections(ctx, *groupOf(m.Group)) {
		if err != nil || strings.EqualFold(doc.Name, m.Name.ValueString()) {
			return err == nil, err
		}
	}
	return false, nil
}

// update has nothing to change but deadlines.
func (vnetConnectionKind) update(context.Context, *home, *vnetConnectionModel, *vnetConnectionModel, *vnetConnectionModel, acasapi.Wait) error {
	return nil
}

func (vnetConnectionKind) remove(ctx context.Context, h *home, m *vnetConnectionModel, wait acasapi.Wait) error {
	arm, err := h.arm()
	if err != nil {
		return err
	}
	return arm.DeleteVNetConnection(ctx, *groupOf(m.Group), m.Name.ValueString(), wait)
}

func (vnetConnectionKind) locate(m *vnetConnectionModel, id string) error {
	group, name, err := splitChild(id, "vnetConnections", "network connection")
	if err != nil {
		return err
	}
	m.Group, m.Name, m.ID = group, types.StringValue(name), childID(group, "vnetConnections", name)
	return nil
}
