package explain

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Edit is the smallest edit of one policy or workload.
type Edit struct {
	// Where is the policy or workload.
	Where string `json:"where"`
	// Remove are entries to take out. One that is wider than the request takes away
	// more than that.
	Remove []Rule `json:"remove,omitempty"`
	// Change are rules to change, as they are; the lines show what becomes of them.
	Change []Rule `json:"change,omitempty"`
	// HCL are lines to type: attributes as they read afterwards, with a comment
	// where something long stays as it is.
	HCL []string `json:"hcl,omitempty"`
}

// permit takes out of never_reaches what names the request.
func (e *Edit) permit(never *[]string, o policy.Opinion) {
	if len(o.Never) == 0 {
		return
	}
	e.Remove = append(e.Remove, rulesOf(o.Never)...)
	kept := slices.DeleteFunc(slices.Clone(*never), func(text string) bool {
		return slices.ContainsFunc(o.Never, func(p policy.PlacedRule) bool { return p.Rule.Name() == text })
	})
	*never = kept
	e.list("never_reaches", kept, "")
}

// refuse takes out of the workload what admits the request. The policies are left
// alone: what they admit, other workloads may need.
func refuse(m manifest.Manifest, name string, o policy.Opinion) (manifest.Manifest, []Edit) {
	spec := m.Workloads[name]
	edit := Edit{Where: o.Source}
	eg := &spec.Egress
	if o.Mode == sandbox.EgressAllowlist {
		edit.Remove = rulesOf(o.By)
		eg.Hosts, eg.Rules = withoutPlaces(*eg, o.By)
	}
	if len(eg.Hosts)+len(eg.Rules) == 0 {
		eg.Mode = sandbox.EgressClosed
		edit.HCL = append(edit.HCL, `egress_mode = "closed"`)
	} else if len(eg.Hosts) < len(m.Workloads[name].Egress.Hosts) {
		edit.list("egress_hosts", eg.Hosts, "")
	}
	m.Workloads = maps.Clone(m.Workloads)
	m.Workloads[name] = spec
	return m, []Edit{edit}
}

func withoutPlaces(e sandbox.Egress, gone []policy.PlacedRule) ([]string, map[string]sandbox.EgressRule) {
	at := map[string]bool{}
	for _, p := range gone {
		at[p.Path.String()] = true
	}
	var hosts []string
	for i, host := range e.Hosts {
		if !at[sandbox.Path("egress_hosts", i).String()] {
			hosts = append(hosts, host)
		}
	}
	rules := maps.Clone(e.Rules)
	maps.DeleteFunc(rules, func(key string, _ sandbox.EgressRule) bool {
		return at[sandbox.Path("egress_rules", sandbox.MapKey(key)).String()]
	})
	return hosts, rules
}

// maxList is how long a list may be to be shown whole.
const maxList = 6

// list adds a line for an attribute. A long list is shown by what is added to it,
// and not at all when something was only removed.
func (e *Edit) list(attribute string, elements []string, added string) {
	switch {
	case len(elements) <= maxList:
		texts := make([]string, len(elements))
		for i, text := range elements {
			texts[i] = egress.HCLString(text)
		}
		e.HCL = append(e.HCL, attribute+" = ["+strings.Join(texts, ", ")+"]")
	case added != "":
		e.HCL = append(e.HCL, attribute+" = [", "  # the "+strconv.Itoa(len(elements)-1)+" there are, and", "  "+egress.HCLString(added)+",", "]")
	}
}
