package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func newVolumeResource() resource.Resource {
	return &remoteResource[volumeModel]{kind: volumeKind{}}
}

// volumeKind is a volume of a group, which is made by name.
type volumeKind struct{}

var _ objectKind[volumeModel] = volumeKind{}

func (volumeKind) name() string            { return "volume" }
func (volumeKind) describe() schema.Schema { return volumeSchema() }

func (volumeKind) header(m *volumeModel) header {
	return header{id: m.ID, timeouts: m.Timeouts, group: groupOf(m.Group), imported: m.Group.IsNull()}
}

func (volumeKind) limits() deadlines {
	return deadlines{create: 10 * time.Minute, read: 5 * time.Minute, update: 10 * time.Minute, remove: 10 * time.Minute}
}

func (volumeKind) filed(m *volumeModel) string { return m.ID.ValueString() }

// create looks first: the service answers a second PUT by changing what is there.
func (k volumeKind) create(ctx context.Context, h *home, plan, _ *volumeModel, a *attempt) (bool, error) {
	group, err := h.group(ctx, *groupOf(plan.Group))
	if err != nil {
		return false, err
	}
	name := plan.Name.ValueString()
	doc, err := group.Volume(ctx, name)
	switch {
	case errors.Is(err, sandbox.CodeServiceNotFound):
		body := plan.body()
		body.Labels[acasapi.MarkerLabel] = a.begin(ctx)
		doc, err = group.PutVolume(ctx, name, body, a.wait)
	case err != nil:
		return false, err
	case !a.resumes(ctx, marked(doc.Labels[acasapi.MarkerLabel])):
		return false, k.exists(plan, "")
	case !plan.is(doc):
		return false, k.exists(plan, madeOtherwise)
	default:
		doc, err = group.AwaitVolume(ctx, name, doc, a.wait)
	}
	if err != nil && !a.afterwards(ctx, err, func(ctx context.Context) (err error) { doc, err = group.Volume(ctx, name); return err }) {
		return false, err
	}
	if a.overwritten(doc.Labels) {
		return false, k.exists(plan, "")
	}
	plan.take(doc)
	return true, err
}

func (volumeKind) exists(m *volumeModel, hint string) error {
	return &existsError{kind: "volume", id: m.ID.ValueString(), object: "volume " + sandbox.Echo(m.Name.ValueString()), at: sandbox.Path("name"), hint: hint}
}

func (volumeKind) read(ctx context.Context, h *home, m *volumeModel) error {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return err
	}
	doc, err := group.Volume(ctx, m.Name.ValueString())
	if err == nil {
		m.take(doc)
	}
	return err
}

func (volumeKind) listed(ctx context.Context, h *home, m *volumeModel) (bool, error) {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return false, err
	}
	for doc, err := range group.Volumes(ctx, nil) {
		if err != nil || doc.Called() == m.Name.ValueString() {
			return err == nil, err
		}
	}
	return false, nil
}

// update changes the labels. The service replaces the whole description, so all of
// it is sent.
func (volumeKind) update(ctx context.Context, h *home, prior, plan, _ *volumeModel, wait acasapi.Wait) error {
	if prior.Labels.Equal(plan.Labels) {
		return nil
	}
	group, err := h.group(ctx, *groupOf(plan.Group))
	if err != nil {
		return err
	}
	doc, err := group.PutVolume(ctx, plan.Name.ValueString(), plan.body(), wait)
	if err == nil {
		plan.take(doc)
	}
	return err
}

func (volumeKind) remove(ctx context.Context, h *home, m *volumeModel, wait acasapi.Wait) error {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return err
	}
	return group.DeleteVolume(ctx, m.Name.ValueString(), wait)
}

func (volumeKind) locate(m *volumeModel, id string) error {
	group, name, err := splitChild(id, "volumes", "volume")
	if err != nil {
		return err
	}
	m.Group, m.Name, m.ID = group, types.StringValue(name), childID(group, "volumes", name)
	return nil
}
