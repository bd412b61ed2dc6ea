package egress

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Addition is the smallest addition to an egress list that admits one request.
// Make one with [AdditionFor].
type Addition struct {
	// Rule is the narrowest rule that admits the request.
	Rule sandbox.EgressRule
	// Short reports that the host alone says as much: it goes into egress_hosts,
	// and otherwise the rule into egress_rules.
	Short bool
}

// AdditionFor finds the narrowest rule that admits the request. A method or a path
// that no rule can name makes it any. What [BlockedAddress] refuses is not opened
// by it either.
func AdditionFor(r Request) Addition {
	anything := []string{"*"}
	rule := sandbox.EgressRule{Host: r.Host, Ports: []string{itoa(int(r.Port))}, Methods: anything, Paths: anything}
	if r.Addr.IsValid() {
		rule.Host = r.Addr.String()
	}
	admits := func(rule sandbox.EgressRule) bool {
		parsed, findings := ParseRule("", rule, nil)
		if len(findings) > 0 {
			return false
		}
		_, ok := NewSet([]Rule{parsed}).Match(r)
		return ok
	}
	narrower := rule
	if narrower.Methods = []string{r.Method}; admits(narrower) {
		rule = narrower
	}
	narrower = rule
	if narrower.Paths = []string{strings.TrimRight(r.Path, "/")}; admits(narrower) {
		rule = narrower
	}
	short := r.Port == httpsPort && slices.Equal(rule.Methods, anything) && slices.Equal(rule.Paths, anything)
	return Addition{Rule: rule, Short: short}
}

// Key is a name for the rule in egress_rules, made of its host: an identifier of
// HCL, which may be taken already.
func (a Addition) Key() string {
	label, _, _ := strings.Cut(a.Rule.Host, ".")
	key := strings.ReplaceAll(label, "-", "_")
	if key == "" || key[0] < 'a' || key[0] > 'z' || strings.Contains(key, ":") || key == "for" { // {for begins an expression
		return "rule"
	}
	return key
}

// HCL is the element to add: the host as a string, or the rule under key.
func (a Addition) HCL(key string) string {
	if a.Short {
		return HCLString(a.Rule.Host)
	}
	return key + " = { host = " + HCLString(a.Rule.Host) + ", ports = [" + a.Rule.Ports[0] + "], methods = [" +
		HCLString(a.Rule.Methods[0]) + "], paths = [" + HCLString(a.Rule.Paths[0]) + "] }"
}

// HCLString writes a string of HCL in which nothing is a template.
func HCLString(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(text))
}
