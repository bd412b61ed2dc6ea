package provider

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// volumeModel is sandbox_volume.
type volumeModel struct {
	Group            types.String   `tfsdk:"group"`
	Name             types.String   `tfsdk:"name"`
	Type             types.String   `tfsdk:"type"`
	Size             types.String   `tfsdk:"size"`
	Labels           types.Map      `tfsdk:"labels"`
	StorageContainer types.String   `tfsdk:"storage_container_id"`
	Identity         types.String   `tfsdk:"managed_identity_id"`
	ID               types.String   `tfsdk:"id"`
	Timeouts         timeouts.Value `tfsdk:"timeouts"`
}

// volumeKinds are the types that this version of the service makes.
func volumeKinds() []string { return []string{wire.VolumeBlob, wire.VolumeDisk, wire.VolumeBlobByo} }

// volumeSchema is the schema of sandbox_volume.
func volumeSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A volume of a group: storage that outlives sandboxes. **Replacing or deleting it deletes its files**; " +
			"`lifecycle { prevent_destroy = true }` keeps a plan from doing so. One that a sandbox has attached cannot be deleted.",
		Attributes: map[string]schema.Attribute{
			"group":                groupAttribute(),
			"name":                 fixedRequired("The volume's name: " + wire.SegmentGrammar() + ". Another name means another volume."),
			"type":                 fixedRequired("What it is: `" + strings.Join(volumeKinds(), "`, `") + "`. A `" + wire.VolumeDisk + "` is attached to one sandbox at a time, and an `" + wire.VolumeBlobByo + "` is a storage container of yours. Another type means another volume."),
			"size":                 fixedApartFrom(fixedText("The size of a `"+wire.VolumeDisk+"`: a number with `Mi`, `Gi` or `Ti`, such as `8Gi`. Another size means another volume; `1024Mi` is `1Gi`."), sameSize),
			"labels":               labelsAttribute(" They change in place."),
			"storage_container_id": byARM(fixedText("The storage container of an `" + wire.VolumeBlobByo + "`, by resource id. Another one means another volume.")),
			"managed_identity_id":  byARM(fixedText("The identity of the group that opens the container, by resource id. Another one means another volume.")),
			"id":                   idAttribute("GROUP_ID/volumes/NAME"),
		},
	}
}

// check finds volumes that the service does not make.
func (volumeKind) check(m *volumeModel) []sandbox.Finding {
	findings := append(checkGroup(m.Group), checkLabelMap(m.Labels)...)
	find := func(code sandbox.Code, at, found, required, remedy string) {
		findings = append(findings, sandbox.Finding{Code: code, Path: sandbox.Path(at), Found: found, Required: required, Remedy: remedy})
	}
	if text := m.Name.ValueString(); !m.Name.IsUnknown() && !m.Name.IsNull() && wire.CheckSegment(text) != nil {
		find(sandbox.CodeInvalidText, "name", sandbox.Echo(text)+", which "+wire.CheckSegment(text).Error(), wire.SegmentGrammar(), "choose another name")
	}
	if m.Type.IsUnknown() || m.Type.IsNull() {
		return findings
	}
	kind := m.Type.ValueString()
	switch {
	case !slices.Contains(volumeKinds(), kind):
		find(sandbox.CodeUnknownWord, "type", sandbox.Echo(kind), strings.Join(volumeKinds(), ", "), "write one of these")
	case kind == wire.VolumeDisk && m.Size.IsNull():
		find(sandbox.CodeMissing, "size", "no size", "the size of a "+wire.VolumeDisk, `set size, such as "8Gi"`)
	case kind == wire.VolumeDisk && !m.Size.IsUnknown() && !isDiskSize(m.Size.ValueString()):
		find(sandbox.CodeInvalidText, "size", sandbox.Echo(m.Size.ValueString()), "a positive number with Mi, Gi or Ti", `write it as "8Gi"`)
	case kind != wire.VolumeDisk && !m.Size.IsNull():
		find(sandbox.CodeContradiction, "size", "a size of type "+kind, "a size of a "+wire.VolumeDisk+" alone", "remove size")
	case kind == wire.VolumeBlobByo && m.StorageContainer.IsNull():
		find(sandbox.CodeMissing, "storage_container_id", "no container", "the container of an "+wire.VolumeBlobByo, "set storage_container_id")
	case kind != wire.VolumeBlobByo && (!m.StorageContainer.IsNull() || !m.Identity.IsNull()):
		find(sandbox.CodeContradiction, "storage_container_id", "a container of type "+kind, "storage of one's own with "+wire.VolumeBlobByo+" alone", `write type = "`+wire.VolumeBlobByo+`"`)
	}
	return findings
}

// foresee plans the id.
func (volumeKind) foresee(_ *groundwork, _, plan *volumeModel) foresight {
	plan.ID = types.StringUnknown()
	if !plan.Group.IsUnknown() && !plan.Name.IsUnknown() {
		plan.ID = childID(plan.Group, "volumes", plan.Name.ValueString())
	}
	return foresight{about: "volume " + plan.Name.ValueString()}
}

// body is the volume as it is asked for.
func (m *volumeModel) body() wire.Volume {
	v := wire.Volume{
		Type: m.Type.ValueString(), Size: m.Size.ValueString(), Labels: textsOf(m.Labels),
		StorageContainerResourceID: m.StorageContainer.ValueString(),
	}
	if id := m.Identity.ValueString(); id != "" {
		v.Auth = &wire.VolumeAuth{Kind: "ManagedIdentity", Identity: &wire.VolumeIdentity{Kind: wire.IdentityUser, ResourceID: id}}
	}
	return v
}

// is reports that the service's volume is the one that is planned.
func (m *volumeModel) is(doc wire.Volume) bool {
	same := *m
	same.take(doc)
	return same.Type.Equal(m.Type) && same.Size.Equal(m.Size) && same.Labels.Equal(m.Labels) &&
		same.StorageContainer.Equal(m.StorageContainer) && same.Identity.Equal(m.Identity)
}

// take fills the model with what the service says. What it says of the size of other
// kinds, and of use, is its own affair.
func (m *volumeModel) take(doc wire.Volume) {
	m.Labels = mapFrom(m.Labels, ownLabels(doc.Labels))
	if doc.Type != "" {
		m.Type = types.StringValue(doc.Type)
	}
	if doc.Type == wire.VolumeDisk && doc.Size != "" && !sameSize(doc.Size, m.Size.ValueString()) {
		m.Size = types.StringValue(doc.Size)
	}
	if id := doc.StorageContainerResourceID; id != "" && !strings.EqualFold(id, m.StorageContainer.ValueString()) {
		m.StorageContainer = types.StringValue(id)
	}
	if doc.Auth != nil && doc.Auth.Identity != nil && doc.Auth.Identity.ResourceID != "" &&
		!strings.EqualFold(doc.Auth.Identity.ResourceID, m.Identity.ValueString()) {
		m.Identity = types.StringValue(doc.Auth.Identity.ResourceID)
	}
}

// isDiskSize reports that a text is a size that a disk can have: a plain number above
// zero with its unit.
func isDiskSize(text string) bool {
	size, ok := sizeBytes(text)
	number := strings.TrimRight(text, "MGTi")
	return ok && size > 0 && len(text) == len(number)+2 && strings.Trim(number, "0123456789.") == ""
}

// sameSize compares sizes, whatever unit each is in: "1Gi" and "1024Mi".
func sameSize(a, b string) bool {
	x, okX := sizeBytes(a)
	y, okY := sizeBytes(b)
	return a == b || (okX && okY && x == y)
}

func sizeBytes(text string) (float64, bool) {
	for n, unit := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			size, err := strconv.ParseFloat(number, 64)
			return size * float64(int64(1)<<(10*(n+1))), err == nil
		}
	}
	return 0, false
}
