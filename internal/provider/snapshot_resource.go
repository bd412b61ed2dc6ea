package provider

import (
	"context"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func newSnapshotResource() resource.Resource {
	return &remoteResource[snapshotModel]{kind: snapshotKind{}}
}

// snapshotModel is sandbox_snapshot.
type snapshotModel struct {
	Group      types.String   `tfsdk:"group"`
	SandboxID  types.String   `tfsdk:"sandbox_id"`
	Labels     types.Map      `tfsdk:"labels"`
	ID         types.String   `tfsdk:"id"`
	SnapshotID types.String   `tfsdk:"snapshot_id"`
	CreatedAt  types.String   `tfsdk:"created_at"`
	Timeouts   timeouts.Value `tfsdk:"timeouts"`
}

// snapshotSchema is the schema of sandbox_snapshot.
func snapshotSchema() schema.Schema {
	labels := labelsAttribute(" Other labels mean another snapshot.")
	labels.PlanModifiers = []planmodifier.Map{mapplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "A copy of a running sandbox, taken when this is applied: its disk and **its memory, with whatever secrets stood there**. " +
			"Sandboxes that are started from it begin where the copied one was.\n\n" +
			"Under `embedded` there is no sandbox to copy, since nothing runs there.\n\n" +
			"The copy stays when the sandbox goes. It is never taken anew by itself: to do so, replace it with `terraform apply -replace`. " +
			"One whose group is replaced cannot be made again: the sandbox that it is a copy of goes with the group.",
		Attributes: map[string]schema.Attribute{
			"group":       groupAttribute(),
			"sandbox_id":  fixedRequired("The sandbox to copy, by the service's id. It has to run. Another one means another snapshot."),
			"labels":      labels,
			"id":          idAttribute("GROUP_ID/snapshots/SNAPSHOT_ID"),
			"snapshot_id": givenText("The service's own id of the snapshot."),
			"created_at":  givenText("When the service says that it was taken, in RFC 3339."),
		},
	}
}

// snapshotKind is a copy of a sandbox, which the service names.
type snapshotKind struct{}

var _ objectKind[snapshotModel] = snapshotKind{}

func (snapshotKind) name() string            { return "snapshot" }
func (snapshotKind) describe() schema.Schema { return snapshotSchema() }

func (snapshotKind) header(m *snapshotModel) header {
	return header{id: m.ID, timeouts: m.Timeouts, group: groupOf(m.Group), imported: m.Group.IsNull()}
}

func (snapshotKind) limits() deadlines {
	return deadlines{create: 15 * time.Minute, read: 5 * time.Minute, update: 5 * time.Minute, remove: 10 * time.Minute}
}

// check finds ids that name nothing.
func (snapshotKind) check(m *snapshotModel) []sandbox.Finding {
	findings := append(checkGroup(m.Group), checkLabelMap(m.Labels)...)
	if text := m.SandboxID.ValueString(); !m.SandboxID.IsNull() && !m.SandboxID.IsUnknown() && wire.CheckSegment(text) != nil {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeInvalidText, Path: sandbox.Path("sandbox_id"), Found: sandbox.Echo(text),
			Required: "a sandbox's id as the service gave it", Remedy: "copy the id, as data.sandbox_sandboxes lists it",
		})
	}
	return findings
}

// foresee has nothing to add: the service names the copy.
func (snapshotKind) foresee(_ *groundwork, _, _ *snapshotModel) foresight {
	return foresight{about: "snapshot"}
}

// filed is the sandbox and the labels: copies of one sandbox with the same labels are
// as good as each other.
func (snapshotKind) filed(m *snapshotModel) string {
	return childID(m.Group, "sandboxes", m.SandboxID.ValueString()+"/snapshot "+wire.Labels(textsOf(m.Labels)).Filter()).ValueString()
}

// create copies, unless an earlier creation did. Where it is interrupted the client
// removes what it left, so there is nothing to keep.
func (k snapshotKind) create(ctx context.Context, h *home, plan, _ *snapshotModel, a *attempt) (bool, error) {
	group, err := h.group(ctx, *groupOf(plan.Group))
	if err != nil {
		return false, err
	}
	source, err := group.Sandbox(plan.SandboxID.ValueString())
	if err != nil {
		return false, err
	}
	doc, found, err := k.resume(ctx, group, plan, a)
	if err == nil && !found {
		doc, err = source.CreateSnapshot(ctx, textsOf(plan.Labels), acasapi.Making{Marker: a.begin(ctx), Wait: a.wait})
	}
	if err != nil {
		return false, missingSource(plan.SandboxID.ValueString(), err)
	}
	plan.take(doc)
	return true, nil
}

// missingSource says of a sandbox that is not there that it is the one to copy.
func missingSource(id string, err error) error {
	r := sandbox.RefusalOf(err)
	if r == nil || r.Code != sandbox.CodeServiceNotFound || acasapi.MayHaveRun(err) {
		return err
	}
	f := r.Finding
	f.Path, f.Subject, f.Required = sandbox.Path("sandbox_id"), "a snapshot of sandbox "+sandbox.Echo(id), "a sandbox of the group that runs"
	f.Remedy = "write the id of one that data.sandbox_sandboxes lists; the provider block embedded has none"
	return f.Refusal(r.Err)
}

// resume looks for a copy that an earlier creation made. A copy has no name that one
// of the same would collide with, so what was left is looked for before anything is
// made.
func (snapshotKind) resume(ctx context.Context, group *acasapi.Group, plan *snapshotModel, a *attempt) (doc wire.Snapshot, found bool, err error) {
	for c := range a.left(ctx, true) {
		for doc, err := range group.Snapshots(ctx, wire.Labels{acasapi.MarkerLabel: c.Mark}) {
			if err != nil {
				return doc, false, err
			}
			if plan.is(doc) {
				a.creation, a.resumed = c, true
				return doc, true, nil
			}
		}
	}
	return doc, false, nil
}

// is reports that a copy is the planned one: a mark alone does not say of what.
func (m *snapshotModel) is(doc wire.Snapshot) bool {
	return doc.SandboxID == m.SandboxID.ValueString() && maps.Equal(ownLabels(doc.Labels), textsOf(m.Labels))
}

func (m *snapshotModel) take(doc wire.Snapshot) {
	m.SnapshotID, m.ID = types.StringValue(doc.ID), childID(m.Group, "snapshots", doc.ID)
	m.CreatedAt = plainText(doc.CreatedAtUTC)
	m.Labels = mapFrom(m.Labels, ownLabels(doc.Labels))
	if doc.SandboxID != "" {
		m.SandboxID = types.StringValue(doc.SandboxID)
	}
}

func (snapshotKind) read(ctx context.Context, h *home, m *snapshotModel) error {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return err
	}
	doc, err := group.Snapshot(ctx, m.SnapshotID.ValueString())
	if err == nil {
		m.take(doc)
	}
	return err
}

func (snapshotKind) listed(ctx context.Context, h *home, m *snapshotModel) (bool, error) {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return false, err
	}
	for doc, err := range group.Snapshots(ctx, nil) {
		if err != nil || doc.ID == m.SnapshotID.ValueString() {
			return err == nil, err
		}
	}
	return false, nil
}

// update has nothing to change but deadlines.
func (snapshotKind) update(context.Context, *home, *snapshotModel, *snapshotModel, *snapshotModel, acasapi.Wait) error {
	return nil
}

func (snapshotKind) remove(ctx context.Context, h *home, m *snapshotModel, wait acasapi.Wait) error {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return err
	}
	return group.DeleteSnapshot(ctx, m.SnapshotID.ValueString(), wait)
}

func (snapshotKind) locate(m *snapshotModel, id string) error {
	group, snapshot, err := splitChild(id, "snapshots", "snapshot")
	if err != nil {
		return err
	}
	m.Group, m.SnapshotID, m.ID = group, types.StringValue(snapshot), childID(group, "snapshots", snapshot)
	return nil
}
