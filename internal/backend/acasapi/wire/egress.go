package wire

import "github.com/go-json-experiment/json/jsontext"

// EgressPolicy is what a sandbox may reach. Absent on a sandbox it means
// everything. Writing it replaces the whole.
//
// Whoever compares one asks [Unknown] first: a member this type does not know may
// widen what the rest confines.
type EgressPolicy struct {
	DefaultAction string `json:"defaultAction,omitempty"`
	// HostRules and Rules are sent as [] when empty, and are applied in order,
	// Rules first.
	HostRules []HostRule   `json:"hostRules"`
	Rules     []EgressRule `json:"rules,omitempty"`
	// TrafficInspection is Full, Partial, None or Legacy.
	TrafficInspection string `json:"trafficInspection,omitempty"`

	// HTTP is the service's own second copy of the policy, in answers.
	HTTP *EgressPolicy `json:"http,omitzero"`

	// Of 2026-09-01-preview. Nothing here sends them; an answer with one is not
	// what was asked for.
	EnforcementMode    string           `json:"enforcementMode,omitempty"`
	TransportRules     jsontext.Value   `json:"transportRules,omitzero"`
	TDS                jsontext.Value   `json:"tds,omitzero"`
	HookRef            jsontext.Value   `json:"hookRef,omitzero"`
	ProxyActions       jsontext.Value   `json:"proxyActions,omitzero"`
	Source             jsontext.Value   `json:"source,omitzero"`
	ValidationWarnings []jsontext.Value `json:"validationWarnings,omitempty"`

	Extra Extra `json:",embed"`
}

// HostRule answers by host alone.
type HostRule struct {
	Pattern string `json:"pattern"`
	Action  string `json:"action"`
	Extra   Extra  `json:",embed"`
}

// EgressRule answers by host, path and method; the first that matches wins.
type EgressRule struct {
	Name   string       `json:"name,omitempty"`
	Match  EgressMatch  `json:"match"`
	Action EgressAction `json:"action"`
	Extra  Extra        `json:",embed"`
}

// EgressMatch is what a rule is about.
type EgressMatch struct {
	Host          string   `json:"host,omitempty"`
	Path          string   `json:"path,omitempty"`
	Methods       []string `json:"methods,omitempty"`
	Scheme        string   `json:"scheme,omitempty"`
	NormalizePath *bool    `json:"normalizePath,omitzero"`
	Extra         Extra    `json:",embed"`
}

// EgressAction is what a rule does.
type EgressAction struct {
	// Type is one of the Egress words.
	Type    string         `json:"type"`
	Host    string         `json:"host,omitempty"`
	Path    string         `json:"path,omitempty"`
	Scheme  string         `json:"scheme,omitempty"`
	Headers []EgressHeader `json:"headers,omitempty"`
	Extra   Extra          `json:",embed"`
}

// EgressHeader changes one header on the way out.
type EgressHeader struct {
	// Operation is Set, Insert or Remove.
	Operation string          `json:"operation"`
	Name      string          `json:"name"`
	Value     string          `json:"value,omitempty"`
	ValueRef  *EgressValueRef `json:"valueRef,omitzero"`
	Extra     Extra           `json:",embed"`
}

// EgressValueRef is a header's value that stands elsewhere: exactly one member.
type EgressValueRef struct {
	Secret   *SecretRef   `json:"secretRef,omitzero"`
	Identity *IdentityRef `json:"managedIdentityRef,omitzero"`
	Extra    Extra        `json:",embed"`
}

// SecretRef is one key of a secret of the group.
type SecretRef struct {
	SecretID  string `json:"secretId"`
	SecretKey string `json:"secretKey"`
	Format    string `json:"format,omitempty"`
	Extra     Extra  `json:",embed"`
}

// IdentityRef is a token of one of the group's identities. Its discriminator is
// "type".
type IdentityRef struct {
	Type               string `json:"type"`
	Resource           string `json:"resource"`
	IdentityResourceID string `json:"identityResourceId,omitempty"`
	Format             string `json:"format,omitempty"`
	Extra              Extra  `json:",embed"`
}

// The words of an egress policy.
const (
	EgressAllow     = "Allow"
	EgressDeny      = "Deny"
	EgressTransform = "Transform"
	EgressRewrite   = "Rewrite"

	InspectFull     = "Full"
	InspectPartial  = "Partial"
	InspectNone     = "None"
	InspectLegacy   = "Legacy"
	EnforceEnforced = "Enforced"
	EnforceAudit    = "Audit"
)

// Decisions is the log of what a sandbox's egress was answered. It lags: a denial
// may be missing for seconds.
type Decisions struct {
	// NetworkEgress is the older name and HTTP the newer one; [Decisions.Log] is
	// whichever came.
	NetworkEgress *DecisionLog   `json:"networkEgress,omitzero"`
	HTTP          *DecisionLog   `json:"http,omitzero"`
	StatefulTCP   jsontext.Value `json:"statefulTcp,omitzero"`
	LastUpdated   string         `json:"lastUpdated,omitempty"`
	Extra         Extra          `json:",embed"`
}

// Log is the decisions under either name.
func (d *Decisions) Log() DecisionLog {
	switch {
	case d.NetworkEgress != nil:
		return *d.NetworkEgress
	case d.HTTP != nil:
		return *d.HTTP
	default:
		return DecisionLog{}
	}
}

// DecisionLog is the last answers, fifty of each kind.
type DecisionLog struct {
	Allowed []DecisionEntry `json:"allowed"`
	Denied  []DecisionEntry `json:"denied"`
	Extra   Extra           `json:",embed"`
}

// DecisionEntry is one request and what it was answered.
type DecisionEntry struct {
	Timestamp      string         `json:"timestamp,omitempty"`
	Host           string         `json:"host,omitempty"`
	Method         string         `json:"method,omitempty"`
	Path           string         `json:"path,omitempty"`
	Scheme         string         `json:"scheme,omitempty"`
	ConnectionID   string         `json:"connectionId,omitempty"`
	ConnectionName string         `json:"connectionName,omitempty"`
	MatchedRule    jsontext.Value `json:"matchedRule,omitzero"`
	Extra          Extra          `json:",embed"`
}

// NamedEgressPolicy is a policy of the group that sandboxes refer to by id.
type NamedEgressPolicy struct {
	ID           string `json:"id,omitempty"`
	EgressPolicy `json:",embed"`
}
