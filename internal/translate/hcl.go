package translate

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Label is a text as the label of a Terraform block.
func Label(text string) string { return slug(text, "imported") }

// IsLabel reports whether a text stands as the label of a Terraform block as it is.
func IsLabel(text string) bool { return hclsyntax.ValidIdentifier(text) }

// HCL writes the policy as a sandbox_policy resource that is called label, one
// host or rule a line. A comment above it says what it was read from and how much
// of that is missing, so that the file cannot be taken for the whole.
func (t Translation) HCL(label string) []byte {
	f := hclwrite.NewEmptyFile()
	body := f.Body()
	body.AppendUnstructuredTokens(comment("Read from " + t.Source.describe() + ". " + t.missing()))
	b := body.AppendNewBlock("resource", []string{"sandbox_policy", label}).Body()
	if t.Policy.Name != "" {
		b.SetAttributeRaw("name", quiet(t.Policy.Name))
		b.AppendNewline()
	}
	e := t.Policy.Egress
	b.SetAttributeValue("egress_mode", cty.StringVal(e.Mode.String()))
	if len(e.Hosts) > 0 {
		b.SetAttributeRaw("egress_hosts", lines(hclsyntax.TokenOBrack, texts(e.Hosts), hclsyntax.TokenCBrack))
	}
	if len(e.Rules) > 0 {
		b.SetAttributeRaw("egress_rules", lines(hclsyntax.TokenOBrace, rules(e.Rules), hclsyntax.TokenCBrace))
	}
	if len(t.Policy.NeverReaches) > 0 {
		b.AppendNewline()
		b.SetAttributeRaw("never_reaches", lines(hclsyntax.TokenOBrack, texts(t.Policy.NeverReaches), hclsyntax.TokenCBrack))
	}
	return hclwrite.Format(f.Bytes())
}

// quiet is a text whose number signs cannot command a CI runner that shows it.
// Everything else that is not printed is escaped by hclwrite.
func quiet(text string) hclwrite.Tokens {
	tokens := hclwrite.TokensForValue(cty.StringVal(text))
	for _, token := range tokens {
		token.Bytes = bytes.ReplaceAll(token.Bytes, []byte("##"), []byte(`#\u0023`))
	}
	return tokens
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

// lines writes elements between brackets, each on a line of its own.
func lines(open hclsyntax.TokenType, elements []hclwrite.Tokens, closing hclsyntax.TokenType) hclwrite.Tokens {
	brackets := map[hclsyntax.TokenType]string{
		hclsyntax.TokenOBrack: "[", hclsyntax.TokenCBrack: "]", hclsyntax.TokenOBrace: "{", hclsyntax.TokenCBrace: "}",
	}
	end := &hclwrite.Token{Type: hclsyntax.TokenNewline, Bytes: []byte("\n")}
	all := hclwrite.Tokens{{Type: open, Bytes: []byte(brackets[open])}, end}
	for _, element := range elements {
		all = append(all, element...)
		if open == hclsyntax.TokenOBrack {
			all = append(all, &hclwrite.Token{Type: hclsyntax.TokenComma, Bytes: []byte(",")})
		}
		all = append(all, end)
	}
	return append(all, &hclwrite.Token{Type: closing, Bytes: []byte(brackets[closing])})
}

func texts(all []string) []hclwrite.Tokens {
	elements := make([]hclwrite.Tokens, len(all))
	for i, text := range all {
		elements[i] = hclwrite.TokensForValue(cty.StringVal(text))
	}
	return elements
}

func rules(all map[string]sandbox.EgressRule) []hclwrite.Tokens {
	elements := make([]hclwrite.Tokens, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		rule := all[key]
		// In the order in which people read a rule, which is not that of the letters.
		object := hclwrite.TokensForObject([]hclwrite.ObjectAttrTokens{
			{Name: hclwrite.TokensForIdentifier("host"), Value: hclwrite.TokensForValue(cty.StringVal(rule.Host))},
			{Name: hclwrite.TokensForIdentifier("ports"), Value: hclwrite.TokensForTuple(texts(rule.Ports))},
			{Name: hclwrite.TokensForIdentifier("methods"), Value: hclwrite.TokensForTuple(texts(rule.Methods))},
			{Name: hclwrite.TokensForIdentifier("paths"), Value: hclwrite.TokensForTuple(texts(rule.Paths))},
		})
		element := hclwrite.TokensForIdentifier(key)
		element = append(element, &hclwrite.Token{Type: hclsyntax.TokenEqual, Bytes: []byte("=")})
		elements = append(elements, append(element, object...))
	}
	return elements
}

// comment is one line that the source cannot end.
func comment(text string) hclwrite.Tokens {
	return hclwrite.Tokens{{Type: hclsyntax.TokenComment, Bytes: []byte("# " + text + "\n")}}
}
