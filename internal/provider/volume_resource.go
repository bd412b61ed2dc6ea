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

// create looks first: the service answers a second PUT by changing what is there.
func (volumeKind) create(ctx context.Context, h *home, plan, _ *volumeModel, wait acasapi.Wait) (bool, error) {
	group, err := h.group(ctx, *groupOf(plan.Group))
	if err != nil {
		return false, err
	}
	name := plan.Name.ValueString()
	switch _, err := group.Volume(ctx, name); {
	case err == nil:
		return false, &existsError{kind: "volume", id: plan.ID.ValueString(), object: "volume " + sandbox.Echo(name), at: sandbox.Path("name")}
	case !errors.Is(err, sandbox.CodeServiceNotFound):
		return false, err
	}
	doc, err := group.PutVolume(ctx, name, plan.body(), wait)
	if err != nil && !afterwards(ctx, err, func(ctx context.Context) (err error) { doc, err = group.Volume(ctx, name); return err }) {
		return false, err
	}
	plan.take(doc)
	return true, err
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
		if err != nil || volumeName(doc) == m.Name.ValueString() {
			return err == nil, err
		}
	}
	return false, nil
}

func volumeName(doc wire.Volume) string {
	if doc.VolumeName != "" {
		return doc.VolumeName
	}
	return doc.Name
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
