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
	// Unnamed is what of the request no rule can name, "method" or "path", and empty
	// where there is neither. The rule admits any in its place: that is more than was
	// asked for, and nothing to take from a guest, which chose how to ask.
	Unnamed string
}

// AdditionFor finds the narrowest rule that admits the request. A method or a path
// that no rule can name makes it any; so does the path "/", which a rule names as any
// path. What [BlockedAddress] refuses is not opened by it either.
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
	unnamed := ""
	narrower := rule
	if narrower.Methods = []string{r.Method}; NamesMethod(r.Method) && admits(narrower) {
		rule = narrower
	} else if r.Method != "" {
		unnamed = "method"
	}
	narrower = rule
	path, named := NamedPath(r.Path)
	if narrower.Paths = []string{path}; named && admits(narrower) {
		rule = narrower
	} else if r.Path != "" && r.Path != "/" && unnamed == "" {
		unnamed = "path"
	}
	short := r.Port == httpsPort && slices.Equal(rule.Methods, anything) && slices.Equal(rule.Paths, anything)
	return Addition{Rule: rule, Short: short, Unnamed: unnamed}
}

// PathFlaw says why a rule with paths admits no request with this path, where readers
// may take it for another; it is empty where it is sound.
func PathFlaw(path string) string {
	at, kind := pathFlaw(path)
	if kind == pathSound {
		return ""
	}
	return charAt(path, at) + " " + kind.String()
}

// NamesMethod reports whether a rule can name the method of a request and mean no
// other by it: "*" is a legal method, and as a rule's it is any.
func NamesMethod(method string) bool { return method != "*" && parseMethod(method) == nil }

// NamedPath is the path of a request as a rule names it, and whether one can: what a
// rule reads as anything but that very path is not it, such as "/*", which is a legal
// path and as a rule's is any.
func NamedPath(path string) (string, bool) {
	text := strings.TrimRight(path, "/")
	normal, f := parsePath(text)
	return text, f == nil && text != "" && normal == text
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
