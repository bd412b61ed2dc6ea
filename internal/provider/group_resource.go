package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func newGroupResource() resource.Resource { return &remoteResource[groupModel]{kind: groupKind{}} }

// groupKind is the sandbox group, which lives on the ARM plane.
type groupKind struct{}

var _ objectKind[groupModel] = groupKind{}

func (groupKind) name() string            { return "group" }
func (groupKind) describe() schema.Schema { return groupSchema() }

func (groupKind) header(m *groupModel) header {
	return header{id: m.ID, timeouts: m.Timeouts, imported: m.Name.IsNull()}
}

// limits: deleting a group has taken ten minutes.
func (groupKind) limits() deadlines {
	return deadlines{create: 30 * time.Minute, read: 5 * time.Minute, update: 30 * time.Minute, remove: 30 * time.Minute}
}

func (groupKind) filed(m *groupModel) string { return m.groupID().String() }

func (k groupKind) create(ctx context.Context, h *home, plan, _ *groupModel, a *attempt) (bool, error) {
	arm, err := h.arm()
	if err != nil {
		return false, err
	}
	id := plan.groupID()
	doc, err := arm.GetGroup(ctx, id)
	switch {
	case errors.Is(err, sandbox.CodeServiceNotFound):
		tags := plan.wireTags()
		tags[acasapi.MarkerLabel] = a.begin(ctx)
		doc, err = arm.PutGroup(ctx, id, wire.Group{
			Location: plan.Location.ValueString(), Tags: tags, Identity: plan.wireIdentity(),
			Properties: wire.GroupProperties{EnvironmentID: plan.EnvironmentID.ValueString()},
		}, a.wait)
	case err != nil:
		return false, err
	case !a.resumes(ctx, marked(doc.Tags[acasapi.MarkerLabel])):
		return false, groupExists(id, secondGroup)
	case !plan.is(doc):
		return false, groupExists(id, madeOtherwise)
	default:
		doc, err = arm.AwaitGroup(ctx, id, a.wait)
	}
	if err != nil && !a.afterwards(ctx, err, func(ctx context.Context) (err error) { doc, err = arm.GetGroup(ctx, id); return err }) {
		return false, err
	}
	if a.overwritten(doc.Tags) {
		return false, groupExists(id, secondGroup)
	}
	h.settle(id, doc.Location)
	k.fill(h, plan, doc)
	return true, err
}

const secondGroup = "If it is the one that this resource replaces, remove create_before_destroy: its successor has the same id"

func groupExists(id acasapi.GroupID, hint string) error {
	return &existsError{kind: "group", id: id.String(), object: "sandbox group " + sandbox.Echo(id.Name), at: sandbox.Path("name"), hint: hint}
}

// fill takes what the service says and what follows from it.
func (groupKind) fill(h *home, m *groupModel, doc wire.Group) {
	m.take(doc)
	placeGroup(h, m)
}

func (k groupKind) read(ctx context.Context, h *home, m *groupModel) error {
	arm, err := h.arm()
	if err != nil {
		return err
	}
	doc, err := arm.GetGroup(ctx, m.groupID())
	if err != nil {
		return err
	}
	h.settle(m.groupID(), doc.Location)
	k.fill(h, m, doc)
	return nil
}

// listed is not asked: ARM itself says whether a group exists.
func (groupKind) listed(context.Context, *home, *groupModel) (bool, error) { return false, nil }

// update changes what differs and leaves alone what this resource does not know.
func (k groupKind) update(ctx context.Context, h *home, prior, plan, _ *groupModel, wait acasapi.Wait) error {
	arm, err := h.arm()
	if err != nil {
		return err
	}
	patch := wire.GroupPatchBody{}
	if !prior.Tags.Equal(plan.Tags) {
		patch.Tags = plan.wireTags()
	}
	if !prior.Identity.Equal(plan.Identity) {
		patch.Identity = plan.wireIdentity()
	}
	if !prior.EnvironmentID.Equal(plan.EnvironmentID) {
		patch.Properties = &wire.GroupProperties{EnvironmentID: plan.EnvironmentID.ValueString()}
	}
	doc, err := arm.GetGroup(ctx, plan.groupID())
	if err == nil && (patch.Tags != nil || patch.Identity != nil || patch.Properties != nil) {
		doc, err = arm.PatchGroup(ctx, plan.groupID(), patch, wait)
	}
	if err != nil {
		return err
	}
	k.fill(h, plan, doc)
	return nil
}

func (groupKind) remove(ctx context.Context, h *home, m *groupModel, wait acasapi.Wait) error {
	arm, err := h.arm()
	if err != nil {
		return err
	}
	defer h.forget(m.groupID())
	return arm.DeleteGroup(ctx, m.groupID(), wait)
}

func (groupKind) locate(m *groupModel, id string) error {
	g, err := acasapi.ParseGroupID(id)
	if err != nil {
		return err
	}
	m.Name, m.SubscriptionID, m.ResourceGroup = types.StringValue(g.Name), types.StringValue(g.Subscription), types.StringValue(g.ResourceGroup)
	m.ID = types.StringValue(g.String())
	return nil
}
