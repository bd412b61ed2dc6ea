package translate

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hcltext"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Label is a text as the label of a Terraform block.
func Label(text string) string { return hcltext.Name(text, "imported") }

// IsLabel reports whether a text stands as the label of a Terraform block as it is.
func IsLabel(text string) bool { return hclsyntax.ValidIdentifier(text) }

// HCL writes the policy as a sandbox_policy resource that is called label, one
// host or rule a line. A comment above it says what it was read from and how much
// of that is missing, so that the file cannot be taken for the whole.
func (t Translation) HCL(label string) []byte {
	f := hclwrite.NewEmptyFile()
	body := f.Body()
	body.AppendUnstructuredTokens(hcltext.Comment("Read from " + t.Source.describe() + ". " + t.missing()))
	b := body.AppendNewBlock("resource", []string{"sandbox_policy", label}).Body()
	if t.Policy.Name != "" {
		b.SetAttributeRaw("name", hcltext.String(t.Policy.Name))
		b.AppendNewline()
	}
	e := t.Policy.Egress
	b.SetAttributeValue("egress_mode", cty.StringVal(e.Mode.String()))
	if len(e.Hosts) > 0 {
		b.SetAttributeRaw("egress_hosts", hcltext.List(hcltext.Strings(e.Hosts)))
	}
	if len(e.Rules) > 0 {
		b.SetAttributeRaw("egress_rules", hcltext.Object(rules(e.Rules)))
	}
	if len(t.Policy.NeverReaches) > 0 {
		b.AppendNewline()
		b.SetAttributeRaw("never_reaches", hcltext.List(hcltext.Strings(t.Policy.NeverReaches)))
	}
	return hclwrite.Format(f.Bytes())
}

var descriptions = [...]string{
	ACA: "an egress policy of Azure Container Apps sandboxes", Docker: "network rules of Docker sandboxes",
	NetworkPolicy: "a NetworkPolicy of Kubernetes", OpenShell: "a policy of OpenShell",
}

func (s Source) describe() string {
	if int(s) < len(descriptions) {
		return descriptions[s]
	}
	return ""
}

// missing says in one sentence what the losses do.
func (t Translation) missing() string {
	counts := map[Effect]int{}
	for _, l := range t.Losses {
		counts[l.Effect]++
	}
	if len(t.Losses) == 0 {
		return "Nothing was lost."
	}
	text := strconv.Itoa(len(t.Losses)) + " parts are not in it"
	if len(t.Losses) == 1 {
		text = "1 part is not in it"
	}
	if n := counts[Widens]; n > 0 {
		text += "; " + strconv.Itoa(n) + " of these make it wider"
	}
	return text + "."
}

func rules(all map[string]sandbox.EgressRule) []hclwrite.Tokens {
	elements := make([]hclwrite.Tokens, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		rule := all[key]
		// In the order in which people read a rule, which is not that of the letters.
		object := hclwrite.TokensForObject([]hclwrite.ObjectAttrTokens{
			{Name: hclwrite.TokensForIdentifier("host"), Value: hcltext.String(rule.Host)},
			{Name: hclwrite.TokensForIdentifier("ports"), Value: hclwrite.TokensForTuple(hcltext.Strings(rule.Ports))},
			{Name: hclwrite.TokensForIdentifier("methods"), Value: hclwrite.TokensForTuple(hcltext.Strings(rule.Methods))},
			{Name: hclwrite.TokensForIdentifier("paths"), Value: hclwrite.TokensForTuple(hcltext.Strings(rule.Paths))},
		})
		elements = append(elements, hcltext.Pair(hclwrite.TokensForIdentifier(key), object))
	}
	return elements
}
