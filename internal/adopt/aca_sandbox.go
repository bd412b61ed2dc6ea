package adopt

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

const whyACASandbox = "hosts make sandboxes from workloads and delete them. Terraform lets go of these and they stay as they are, " +
	"running and paid for, until somebody deletes them, as sandboxctl reap --all-owners does; the lines are their rules as a sandbox_policy, to begin from"

// takeSandbox lets go of a sandbox: it goes on as it is, and its rules are shown as a
// policy. Of its environment and of headers no value is read.
func (m *migration) takeSandbox(r stateResource) bool {
	if r.Mode != "managed" || r.Type != acaSandbox {
		return false
	}
	if m.past(r, kindSandbox) {
		return true
	}
	policy := acaPolicy(objectAt(r.Values, "egress_policy"))
	text := policyText(policy)
	if skip, _ := r.Values["skip_egress_proxy"].(bool); skip {
		text = "egress goes around the proxy"
	}
	l := Left{Kind: kindSandbox, Name: r.Address, What: strings.Join([]string{r.text("id"), m.madeFrom(r), text}, ", "), Why: whyACASandbox}
	var remarks []string
	switch {
	case policy == nil:
		remarks = []string{"It has no egress_policy, and reaches every destination. A workload here without egress reaches none."}
	case !m.warned:
		remarks, m.warned = []string{whyOpen}, true
	}
	if policy != nil {
		l.instead = policyHCL(r.title(), policy)
	}
	m.letGo(r, remarks...)
	m.leave(l)
	return true
}

// madeFrom is what a sandbox was made from, as the new configuration names it.
func (m *migration) madeFrom(r stateResource) string {
	source := objectAt(r.Values, "source")
	id := textAt(source, "private_disk_image_id")
	switch address, known := m.images[id]; {
	case known:
		return "from " + address
	case id != "":
		return "from disk image " + id
	case textAt(source, "public_disk_image") != "":
		return "from the prebuilt image " + textAt(source, "public_disk_image")
	case textAt(source, "preset") != "":
		return "from the preset " + textAt(source, "preset")
	default:
		return "from what the state does not say"
	}
}

// acaPolicy is the other provider's egress_policy in the service's form, without the
// values of headers. None is nil, which lets everything out.
func acaPolicy(from map[string]any) *wire.EgressPolicy {
	if from == nil {
		return nil
	}
	p := &wire.EgressPolicy{
		DefaultAction: textAt(from, "default_action"), TrafficInspection: textAt(from, "traffic_inspection"), HostRules: []wire.HostRule{},
	}
	for _, rule := range objectsAt(from, "host_rules") {
		p.HostRules = append(p.HostRules, wire.HostRule{Pattern: textAt(rule, "pattern"), Action: textAt(rule, "action")})
	}
	for _, rule := range objectsAt(from, "rules") {
		match, action := objectAt(rule, "match"), objectAt(rule, "action")
		r := wire.EgressRule{
			Name:   textAt(rule, "name"),
			Match:  wire.EgressMatch{Host: textAt(match, "host"), Path: textAt(match, "path"), Methods: textsAt(match, "methods")},
			Action: wire.EgressAction{Type: textAt(action, "type"), Host: textAt(action, "host"), Path: textAt(action, "path"), Scheme: textAt(action, "scheme")},
		}
		for _, header := range objectsAt(action, "headers") {
			r.Action.Headers = append(r.Action.Headers, wire.EgressHeader{Operation: textAt(header, "operation"), Name: textAt(header, "name")})
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}

func objectsAt(of map[string]any, name string) []map[string]any {
	list, _ := of[name].([]any)
	var objects []map[string]any
	for _, item := range list {
		if object, ok := item.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}
