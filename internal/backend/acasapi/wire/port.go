package wire

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

var errNoPorts = errors.New("an answer without ports")

// Port is a door into a sandbox.
type Port struct {
	Name     string `json:"name,omitempty"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol,omitempty"`
	// ActivationMode is Manual or OnDemand.
	ActivationMode  string           `json:"activationMode,omitempty"`
	Auth            *PortAuth        `json:"auth,omitzero"`
	IPAccessControl *IPAccessControl `json:"ipAccessControl,omitzero"`
	CORS            jsontext.Value   `json:"cors,omitzero"`
	// URL and HostPort are the service's.
	URL      string `json:"url,omitempty"`
	HostPort int    `json:"hostPort,omitzero"`
	Extra    Extra  `json:",embed"`
}

// PortAuth is who may come in. Anonymous and EntraID exclude each other.
type PortAuth struct {
	Anonymous *bool          `json:"anonymous,omitzero"`
	EntraID   *EntraAuth     `json:"entraId,omitzero"`
	GitHub    jsontext.Value `json:"github,omitzero"`
	Extra     Extra          `json:",embed"`
}

// EntraAuth is who of Entra ID may come in.
type EntraAuth struct {
	Enabled       bool     `json:"enabled"`
	Emails        []string `json:"emails,omitempty"`
	EmailSuffixes []string `json:"emailSuffixes,omitempty"`
	ObjectIDs     []string `json:"objectIds,omitempty"`
	TenantIDs     []string `json:"tenantIds,omitempty"`
	Extra         Extra    `json:",embed"`
}

// IPAccessControl is from where one may come in.
type IPAccessControl struct {
	DefaultAction string   `json:"defaultAction"`
	Rules         []IPRule `json:"rules,omitempty"`
	Extra         Extra    `json:",embed"`
}

// IPRule answers for some source ranges; the lowest priority wins.
type IPRule struct {
	Name        string   `json:"name"`
	Action      string   `json:"action"`
	Priority    int      `json:"priority"`
	SourceCIDRs []string `json:"sourceCidrs"`
	Extra       Extra    `json:",embed"`
}

// Ports is the body and the answer of operations on all of a sandbox's ports.
type Ports struct {
	Ports []Port `json:"ports"`
	Extra Extra  `json:",embed"`
}

// PortRef names a port to remove, by number or by name.
type PortRef struct {
	Port int    `json:"port,omitzero"`
	Name string `json:"name,omitempty"`
}

// ReadPorts reads the answer to a port operation: {ports:[…]}, a bare array, or
// one port.
func ReadPorts(b []byte) ([]Port, error) {
	if jsontext.Value(b).Kind() == '[' {
		ports := []Port{}
		err := Decode(b, &ports)
		return ports, err
	}
	var doc struct {
		Ports *[]Port `json:"ports"`
		Extra Extra   `json:",embed"`
	}
	if err := Decode(b, &doc); err != nil {
		return nil, err
	}
	if doc.Ports != nil {
		return *doc.Ports, nil
	}
	var one Port
	if err := Decode(b, &one); err != nil {
		return nil, err
	}
	if one.Port == 0 {
		return nil, errNoPorts
	}
	return []Port{one}, nil
}
