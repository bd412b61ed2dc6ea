package wire

// Version is an api-version, as it stands in the query.
type Version string

// The versions that the table of operations knows.
const (
	// V0201 is what every shipping client speaks, on both planes. It is the only
	// ARM version whose group has an identity.
	V0201 Version = "2026-02-01-preview"
	// V0701 is the stable version of the ARM plane.
	V0701 Version = "2026-07-01"
	// V0901 is the published next version of the data plane.
	V0901 Version = "2026-09-01-preview"
)

// Plane is which of the two services answers an operation. They have different
// hosts, different token audiences and different error documents.
type Plane uint8

const (
	// PlaneUnknown belongs to no operation.
	PlaneUnknown Plane = iota
	// ARM is the control plane: groups and their network connections.
	ARM
	// Data is everything inside a group.
	Data
)

// String is the word used in errors.
func (p Plane) String() string {
	switch p {
	case ARM:
		return "arm"
	case Data:
		return "data"
	default:
		return "unknown"
	}
}

// Versions lists what the plane speaks, the default first.
func (p Plane) Versions() []Version {
	switch p {
	case ARM:
		return []Version{V0201, V0701}
	case Data:
		return []Version{V0201, V0901}
	default:
		return []Version{}
	}
}
