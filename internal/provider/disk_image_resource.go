package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/operate"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func newDiskImageResource() resource.Resource {
	return &remoteResource[diskImageModel]{kind: diskImageKind{}}
}

// diskImageKind is a disk image made from a registry.
type diskImageKind struct{}

var (
	_ objectKind[diskImageModel]   = diskImageKind{}
	_ configReader[diskImageModel] = diskImageKind{}
)

func (diskImageKind) name() string            { return "disk_image" }
func (diskImageKind) describe() schema.Schema { return diskImageSchema() }

func (diskImageKind) header(m *diskImageModel) header {
	return header{id: m.ID, timeouts: m.Timeouts, group: groupOf(m.Group), imported: m.Group.IsNull()}
}

func (diskImageKind) limits() deadlines {
	return deadlines{create: 20 * time.Minute, read: 5 * time.Minute, update: 5 * time.Minute, remove: 10 * time.Minute}
}

// filed is the reference: the service gives the id.
func (diskImageKind) filed(m *diskImageModel) string {
	return childID(m.Group, "diskimages", m.Reference.ValueString()).ValueString()
}

// create makes the one image of the reference. What was interrupted goes on being
// built and stands in the state, so that the next apply removes it first.
func (diskImageKind) create(ctx context.Context, h *home, plan, config *diskImageModel, a *attempt) (bool, error) {
	group, err := h.group(ctx, *groupOf(plan.Group))
	if err != nil {
		return false, err
	}
	base := plan.Reference.ValueString()
	for image, err := range group.Images(ctx, nil) {
		if err != nil {
			return false, err
		}
		switch {
		case image.Reference() != base || wire.SameState(image.State(), wire.ImageFailed):
		case !a.resumes(ctx, marked(image.Labels[acasapi.MarkerLabel])):
			return false, imageExists(plan, image.ID, secondImage)
		case !plan.is(image):
			return false, imageExists(plan, image.ID, madeOtherwise)
		}
	}
	if !a.resumed {
		a.begin(ctx)
	}
	token := plan.RegistryToken.ValueString()
	if token == "" {
		token = config.RegistryTokenWO.ValueString()
	}
	found, err := operate.Import{Body: plan.body(token), Marker: a.creation.Mark, ReplaceOwnFailed: true, Wait: a.wait}.Run(ctx, group)
	switch {
	case err != nil && found.Existed && wire.SameState(found.Image.State(), wire.ImageFailed):
		return false, adviseFailedImage(plan, found.Image, err)
	case err == nil && found.Existed:
		return false, imageExists(plan, found.Image.ID, secondImage) // another import was first
	case found.Image.ID == "" || found.Existed:
		return false, err
	}
	plan.take(found.Image)
	return true, err
}

// adviseFailedImage says what to do about an image whose build failed and that nothing
// of ours made: it may be somebody's evidence.
func adviseFailedImage(m *diskImageModel, image wire.Image, err error) error {
	r := sandbox.RefusalOf(err)
	if r == nil {
		return err
	}
	f := r.Finding
	f.Path = sandbox.Path("image")
	f.Remedy = "delete " + childID(m.Group, "diskimages", image.ID).ValueString() + ", which somebody else made, or ask who did"
	return f.Refusal(r.Err)
}

const secondImage = "If it is the one that this resource replaces, remove create_before_destroy: a group has one image of a reference"

func imageExists(m *diskImageModel, id, hint string) error {
	return &existsError{
		kind: "disk_image", id: childID(m.Group, "diskimages", id).ValueString(), object: "a disk image of " + sandbox.Echo(m.Reference.ValueString()),
		at:   sandbox.Path("image"),
		hint: hint,
	}
}

func (diskImageKind) read(ctx context.Context, h *home, m *diskImageModel) error {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return err
	}
	image, err := group.Image(ctx, m.ImageID.ValueString())
	if err != nil {
		return err
	}
	m.take(image)
	if wire.SameState(image.State(), wire.ImageFailed) {
		return &spoiledError{object: "disk image " + sandbox.Echo(image.ID), why: image.Why()}
	}
	return nil
}

func (diskImageKind) listed(ctx context.Context, h *home, m *diskImageModel) (bool, error) {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return false, err
	}
	for image, err := range group.Images(ctx, nil) {
		if err != nil || image.ID == m.ImageID.ValueString() {
			return err == nil, err
		}
	}
	return false, nil
}

// update changes what is only handed on.
func (diskImageKind) update(context.Context, *home, *diskImageModel, *diskImageModel, *diskImageModel, acasapi.Wait) error {
	return nil
}

func (diskImageKind) remove(ctx context.Context, h *home, m *diskImageModel, wait acasapi.Wait) error {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return err
	}
	return group.DeleteImage(ctx, m.ImageID.ValueString(), wait)
}

func (diskImageKind) locate(m *diskImageModel, id string) error {
	group, image, err := splitChild(id, "diskimages", "disk image")
	if err != nil {
		return err
	}
	m.Group, m.ImageID, m.ID = group, types.StringValue(image), childID(group, "diskimages", image)
	return nil
}
