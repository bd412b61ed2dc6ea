package cli

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/operate"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// sandboxRow is a sandbox in a list. Times are as the service stated them, never
// ages, which would be another at every look.
type sandboxRow struct {
	ID            string      `json:"id"`
	State         string      `json:"state"`
	StoppedReason string      `json:"stopped_reason,omitempty"`
	CreatedAt     string      `json:"created_at,omitempty"`
	Ours          bool        `json:"ours"`
	Labels        wire.Labels `json:"labels"`
	Image         sourceRow   `json:"image"`
	Egress        egressRow   `json:"egress"`
}

// sourceRow is what a sandbox was made from; the service tells of a public image by
// id too.
type sourceRow struct {
	Prebuilt string `json:"prebuilt,omitempty"`
	ID       string `json:"id,omitempty"`
	Snapshot string `json:"snapshot,omitempty"`
	Preset   string `json:"preset,omitempty"`
}

func rowOf(doc wire.Sandbox) sandboxRow {
	row := sandboxRow{
		ID: doc.ID, State: doc.State, StoppedReason: stoppedReason(doc), Ours: operate.Ours(doc.Labels), Labels: doc.Labels,
		Image: sourceOf(doc), Egress: egressOf(doc),
	}
	if created, ok := operate.Created(doc); ok {
		row.CreatedAt = created.Format(time.RFC3339)
	}
	if row.Labels == nil {
		row.Labels = wire.Labels{}
	}
	return row
}

// stoppedReason is who stopped the sandbox; the service keeps it after a resume, when
// it says nothing any more.
func stoppedReason(doc wire.Sandbox) string {
	if doc.StateDetails == nil || !wire.SameState(doc.State, wire.StateStopped, wire.StateSuspended, wire.StateIdle) {
		return ""
	}
	return doc.StateDetails.StoppedReason
}

func sourceOf(doc wire.Sandbox) sourceRow {
	source := sourceRow{Preset: doc.PresetSandboxType}
	ref := doc.SourcesRef
	switch {
	case ref == nil:
	case ref.Snapshot != nil:
		source.Snapshot = ref.Snapshot.ID
	case ref.DiskImage != nil:
		source.Prebuilt, source.ID = ref.DiskImage.Name, ref.DiskImage.ID
	}
	return source
}

func (s sourceRow) String() string {
	switch {
	case s.Prebuilt != "":
		return s.Prebuilt
	case s.ID != "":
		return s.ID
	case s.Snapshot != "":
		return "snapshot " + s.Snapshot
	case s.Preset != "":
		return "preset " + s.Preset
	default:
		return "not said"
	}
}

// rowColumns are the widths of the columns of a list. What is longer pushes the rest:
// rows are printed as they come, before anybody knows how wide they will be.
var rowColumns = [...]int{36, 14, 7, 14, 16}

// tableHead names the columns of [sandboxRow.line].
func tableHead() string {
	return columns("sandbox", "state", "age", "egress", "image", "labels")
}

func columns(cells ...string) string {
	line := ""
	for i, cell := range cells {
		if i < len(rowColumns) {
			cell = show.Pad(cell, rowColumns[i]) + "  "
		}
		line += cell
	}
	return strings.TrimRight(line, " ")
}

// line is the row of a table, by the service's clock.
func (r sandboxRow) line(at time.Time) string {
	state := r.State
	if r.StoppedReason != "" {
		state += " (" + r.StoppedReason + ")"
	}
	return columns(r.ID, show.Clip(state, 24), r.age(at), r.Egress.String(), show.Clip(r.Image.String(), 36), labelWords(r.Labels))
}

func (r sandboxRow) age(at time.Time) string {
	created, err := time.Parse(time.RFC3339, r.CreatedAt)
	if err != nil || at.IsZero() {
		return "unknown"
	}
	return ago(max(at.Sub(created), 0))
}

// labelWords puts labels into a line: the name people gave first, then whose it is,
// then theirs, at the end what of ours is for programs.
func labelWords(labels wire.Labels) string {
	var words []string
	if name := labels["name"]; name != "" {
		words = append(words, "name="+name)
	}
	words = append(words, ownerWord(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if key != "name" && !sandbox.ReservedLabel(key) {
			words = append(words, key+"="+labels[key])
		}
	}
	return show.Clip(strings.Join(words, " "), 120)
}

// ownerLabel is the label by which the confinement layer tells its owners apart. Its
// value is a keyed digest: enough to tell two apart.
const ownerLabel = sandbox.ReservedLabelPrefix + "owner"

// ownerWord says whose a sandbox is.
func ownerWord(labels wire.Labels) string {
	switch owner := labels[ownerLabel]; {
	case !operate.Ours(labels):
		return "not ours"
	case owner == "":
		return "ours"
	default:
		return "owner " + show.Clip(owner, 9)
	}
}

// labelFilter reads --label flags.
func labelFilter(pairs []string) (wire.Labels, error) {
	labels := wire.Labels{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, badInput("--label %s: write KEY=VALUE", sandbox.Echo(pair))
		}
		if other, twice := labels[key]; twice && other != value {
			return nil, badInput("--label: %s is given twice, and nothing carries both values", sandbox.Echo(key))
		}
		labels[key] = value
	}
	if err := labels.Check(); err != nil {
		return nil, badInput("--label: %w", err)
	}
	return labels, nil
}
