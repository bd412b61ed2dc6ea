package manifest

import (
	"bytes"
	_ "embed"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// APIVersion is the version of the documents that this package reads and writes.
const APIVersion = "sandbox/v1"

//go:embed sandbox-v1.schema.json
var schema []byte

// Schema is the published JSON Schema (draft 2020-12) of all documents.
func Schema() []byte { return bytes.Clone(schema) }

// Manifest is what a host is given: the policies in force and the workloads
// they admitted.
type Manifest struct {
	// Generation grows with each rollout; 0 is unstated. A host that reloads
	// refuses a lower one.
	Generation int64
	// Policy is the team's policy.
	Policy sandbox.Policy
	// HostPolicy is what the runner imposed, if anything. Both hold.
	HostPolicy *sandbox.Policy
	// Group names the sandbox group that serves the workloads, if it is known.
	Group *Group
	// Guarantees are what each backend must still give at run time, by the
	// backend's name.
	Guarantees map[string]sandbox.GuaranteeSet
	// Workloads are the admitted workloads by name; at least one.
	Workloads map[string]sandbox.Spec
}

// Group names a sandbox group of the Azure service.
type Group struct {
	// ID is the group's ARM resource id.
	ID string
	// Endpoint is one of those that the host's own configuration lists.
	Endpoint string
	// Location is the group's region.
	Location string
}

// String names the group by its resource id, and says where it is served from.
func (g Group) String() string {
	text := g.ID
	for _, more := range []string{g.Location, g.Endpoint} {
		if more != "" {
			text += ", " + more
		}
	}
	return text
}

// PlatformPolicy is how messages call the policy that a runner imposes.
const PlatformPolicy = policy.PlatformPolicy

// PolicySource is how messages call a team's policy.
func PolicySource(p sandbox.Policy) string {
	if p.Name == "" {
		return "the policy"
	}
	return "policy " + sandbox.Echo(p.Name)
}

// Layers are the policies in force, the imposed one first.
func (m Manifest) Layers() []policy.Layer {
	var layers []policy.Layer
	if m.HostPolicy != nil {
		layers = append(layers, policy.Layer{Source: PlatformPolicy, Policy: *m.HostPolicy})
	}
	return append(layers, policy.Layer{Source: PolicySource(m.Policy), Policy: m.Policy})
}

// Posture is what the manifest says about which sandboxes a host may make, for
// comparing it with another one's. The generation says nothing about that.
func (m Manifest) Posture() policy.Posture {
	p := policy.Posture{
		Policy:     policy.Layer{Source: PolicySource(m.Policy), Policy: m.Policy},
		Guarantees: m.Guarantees, Workloads: make(map[string]policy.Ask, len(m.Workloads)),
	}
	if m.HostPolicy != nil {
		p.HostPolicy = &policy.Layer{Source: PlatformPolicy, Policy: *m.HostPolicy}
	}
	if m.Group != nil {
		p.Group = m.Group.String()
	}
	for name, spec := range m.Workloads {
		p.Workloads[name] = policy.Ask{Spec: spec}
	}
	return p
}

// WorkloadNames lists the workloads, sorted.
func (m Manifest) WorkloadNames() []string {
	names := make([]string, 0, len(m.Workloads))
	for name := range m.Workloads {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
