package sandbox

import "strings"

// Place is where a backend makes its sandboxes, where that is one place that a
// manifest can name. The zero value is nowhere in particular.
type Place struct {
	// Group is the resource id of a sandbox group.
	Group string
	// Endpoint is where the group is served from, as the host's own configuration
	// has it.
	Endpoint string
}

// Is reports whether the place is the group that a document names, served from the
// endpoint that it names, if it names one. Resource ids are compared without regard
// to case, as the service does.
func (p Place) Is(group, endpoint string) bool {
	return strings.EqualFold(p.Group, group) &&
		(endpoint == "" || strings.TrimSuffix(endpoint, "/") == strings.TrimSuffix(p.Endpoint, "/"))
}
