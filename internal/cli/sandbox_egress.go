package cli

import (
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
)

// The modes of a sandbox's egress as they are shown. Unclear is every policy that
// this command could only guess at; nothing may rest on the word alone.
const (
	egressClosed       = "closed"
	egressAllowlist    = "allowlist"
	egressUnrestricted = "unrestricted"
	egressUnclear      = "unclear"
)

// egressRow is what a sandbox may reach, in a word.
type egressRow struct {
	Mode string `json:"mode"`
	// Rules is how many rules let something out.
	Rules int `json:"rules"`
	// Because is why the mode is unclear.
	Because string `json:"because,omitempty"`
}

func (e egressRow) String() string {
	if e.Mode == egressAllowlist {
		return e.Mode + " (" + strconv.Itoa(e.Rules) + ")"
	}
	return e.Mode
}

// egressOf reads what the service says holds. No policy is no restriction.
func egressOf(doc wire.Sandbox) egressRow {
	p := doc.EgressPolicy
	if why := unclear(doc); why != "" {
		return egressRow{Mode: egressUnclear, Because: why}
	}
	if p == nil || !strings.EqualFold(p.DefaultAction, wire.EgressDeny) {
		return egressRow{Mode: egressUnrestricted}
	}
	let := 0
	for _, r := range egressRules(p) {
		switch {
		case strings.EqualFold(r.Action, wire.EgressDeny):
			continue
		case anyHost(r.Host) && r.Path == "" && len(r.Methods) == 0:
			return egressRow{Mode: egressUnrestricted}
		case anyHost(r.Host):
			return egressRow{Mode: egressUnclear, Because: "a rule of it lets out to every host"}
		}
		let++
	}
	if let == 0 {
		return egressRow{Mode: egressClosed}
	}
	return egressRow{Mode: egressAllowlist, Rules: let}
}

// anyHost reports a pattern without a letter of a host in it.
func anyHost(pattern string) bool { return strings.Trim(pattern, "*.: ") == "" }

// unclear is why a policy cannot be put into one word, empty where it can.
func unclear(doc wire.Sandbox) string {
	p := doc.EgressPolicy
	switch {
	case doc.SkipEgressProxy:
		return "it goes around the egress proxy"
	case doc.EgressPolicyID != "":
		return "it follows the group's policy " + doc.EgressPolicyID
	case p == nil:
		return ""
	}
	if unknown := wire.Unknown(p); len(unknown) > 0 {
		return "it has what this command does not know: " + strings.Join(unknown, ", ")
	}
	switch {
	case p.EnforcementMode != "" && !strings.EqualFold(p.EnforcementMode, wire.EnforceEnforced):
		return "its enforcement is " + p.EnforcementMode
	case p.TrafficInspection != "" && !strings.EqualFold(p.TrafficInspection, wire.InspectFull):
		return "its traffic inspection is " + p.TrafficInspection
	case len(p.TransportRules) > 0, len(p.TDS) > 0, len(p.HookRef) > 0, len(p.ProxyActions) > 0, len(p.Source) > 0:
		return "it has rules of kinds that are not sent from here"
	case p.DefaultAction == "":
		return "it has no default"
	}
	for _, r := range p.Rules {
		if !strings.EqualFold(r.Action.Type, wire.EgressDeny) && !strings.EqualFold(r.Action.Type, wire.EgressAllow) {
			return "a rule of it answers " + r.Action.Type
		}
	}
	return ""
}

// egressRuleRow is one rule, in the order in which the service asks them.
type egressRuleRow struct {
	Action  string   `json:"action"`
	Host    string   `json:"host"`
	Methods []string `json:"methods,omitempty"`
	Path    string   `json:"path,omitempty"`
	Scheme  string   `json:"scheme,omitempty"`
	Name    string   `json:"name,omitempty"`
	// Changes are what the rule does to a request on its way, without any value.
	Changes []string `json:"changes,omitempty"`
}

func egressRules(p *wire.EgressPolicy) []egressRuleRow {
	rows := []egressRuleRow{}
	if p == nil {
		return rows
	}
	for _, r := range p.Rules {
		rows = append(rows, egressRuleRow{
			Action: r.Action.Type, Host: r.Match.Host, Methods: r.Match.Methods, Path: r.Match.Path, Scheme: r.Match.Scheme,
			Name: r.Name, Changes: changes(r.Action),
		})
	}
	for _, r := range p.HostRules {
		rows = append(rows, egressRuleRow{Action: r.Action, Host: r.Pattern})
	}
	return rows
}

// changes puts into words what an action does to a request. A header's value may be
// a secret, wherever it comes from: none is shown.
func changes(action wire.EgressAction) []string {
	var words []string
	if action.Host != "" || action.Path != "" || action.Scheme != "" {
		words = append(words, "sent to "+firstOf(action.Scheme, "the same scheme")+"://"+firstOf(action.Host, "the same host")+firstOf(action.Path, ", same path"))
	}
	for _, h := range action.Headers {
		text := strings.ToLower(firstOf(h.Operation, "set")) + " header " + h.Name
		switch ref := h.ValueRef; {
		case ref == nil || (ref.Secret == nil && ref.Identity == nil):
		case ref.Secret != nil:
			text += " from secret " + ref.Secret.SecretID + ", key " + ref.Secret.SecretKey
		default:
			text += " from a token of the group's identity for " + ref.Identity.Resource
		}
		words = append(words, text)
	}
	return words
}

func (r egressRuleRow) line() string {
	text := show.Pad(strings.ToLower(r.Action), 9) + " " + firstOf(r.Host, "any host")
	if r.Path != "" {
		text += r.Path
	}
	if len(r.Methods) > 0 {
		text += "  " + strings.Join(r.Methods, ", ")
	}
	if r.Scheme != "" {
		text += "  over " + r.Scheme
	}
	if len(r.Changes) > 0 {
		text += "; " + strings.Join(r.Changes, ", ")
	}
	if r.Name != "" {
		text += "  (" + r.Name + ")"
	}
	return text
}
