package cli

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasegress"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
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
	if e.Rules > 0 {
		return e.Mode + " (" + strconv.Itoa(e.Rules) + ")"
	}
	return e.Mode
}

// egressOf reads what the service says holds. No policy is no restriction.
func egressOf(doc wire.Sandbox) egressRow {
	reading := acasegress.ReadSandbox(doc)
	var row egressRow
	row.Mode, row.Because = reading.Word()
	if reading.Mode() == sandbox.EgressAllowlist {
		row.Rules = reading.Allows()
	}
	return row
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
		words = append(words, "sent to "+cmp.Or(action.Scheme, "the same scheme")+"://"+cmp.Or(action.Host, "the same host")+cmp.Or(action.Path, ", same path"))
	}
	for _, h := range action.Headers {
		text := strings.ToLower(cmp.Or(h.Operation, "set")) + " header " + h.Name
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
	text := show.Pad(strings.ToLower(r.Action), 9) + " " + cmp.Or(r.Host, "any host")
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
