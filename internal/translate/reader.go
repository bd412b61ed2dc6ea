package translate

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// reader collects what one source permits and denies. The first error ends the
// reading; what is read after it is not looked at.
type reader struct {
	policy sandbox.Policy
	losses []Loss
	err    error

	grants  []grant
	denials []denial
	// steps are the parts of rules that were read and cut.
	steps int
}

// grant is something that the source permits.
type grant struct {
	name string
	rule egress.Rule
	at   node
	// order is the place in a list of which the first match decides: only denials
	// of a lower order go before it. Where denials always win it is lastOrder.
	order int
	// from is the object that the grant was made of, and within the prefix below
	// which that object decides, for denials that are about some grants only.
	from   *yaml.Node
	within string
}

// denial is something that the source refuses. Where it cannot be written as it
// is, it stands for more than the source refuses, and broad says why.
type denial struct {
	// everywhere is any host and any address; the rule's host then means nothing.
	everywhere bool
	rule       egress.Rule
	at         node
	order      int
	broad      string
	// applies says which grants it is about; nil is all.
	applies func(*grant) bool
	// asserts makes it a never_reaches, where that is possible.
	asserts bool
}

const lastOrder = 1 << 30

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) lose(at node, effect Effect, why, remedy string) {
	if len(r.losses) == maxLosses {
		r.fail(documentError(sandbox.CodeDocumentTooLarge, at.path, at.value.Line,
			"more than "+strconv.Itoa(maxLosses)+" parts that cannot be carried over", "fewer", "split the file"))
		return
	}
	r.losses = append(r.losses, Loss{Effect: effect, Line: at.value.Line, Path: at.path, Why: why, Remedy: remedy})
}

// take pays for reading or cutting n parts of a rule, while there is something left.
func (r *reader) take(n int) bool {
	if r.steps += n; r.steps > maxSteps {
		r.fail(documentError(sandbox.CodeDocumentTooLarge, nil, 0, "more than "+strconv.Itoa(maxSteps)+" ports, methods and paths in all its rules",
			"fewer", "split the file"))
	}
	return r.err == nil
}

// unknown lists a name that the reader does not know.
func (r *reader) unknown(at node, name string) {
	r.lose(at, Unknown, "nothing is known of "+sandbox.Echo(name), "look it up in the source's documentation; it may restrict or permit something")
}

// elsewhere lists a part that is about something else than the network.
func (r *reader) elsewhere(at node, name, remedy string) {
	r.lose(at, NoEquivalent, "a policy says nothing of "+name, remedy)
}

// anything is how a rule says that it does not restrict.
func anything() []string { return []string{"*"} }

// permit adds a grant, in the grammar of this product. What the grammar refuses
// is left out.
func (r *reader) permit(at node, name string, rule sandbox.EgressRule, order int) {
	rule.Host = masked(rule.Host)
	parsed, ok := r.rule(at, name, rule, "left out: ")
	if !ok {
		return
	}
	if why, blocked := parsed.Host().AlwaysBlocked(); blocked {
		r.lose(at, Narrows, "left out: "+parsed.Host().String()+" is "+why+", which is refused whatever the rules say", "")
		return
	}
	r.grants = append(r.grants, grant{name: name, rule: parsed, at: at, order: order, from: at.value, within: "*"})
}

// masked is a range without the bits behind its length, which other tools pass
// over.
func masked(host string) string {
	p, err := netip.ParsePrefix(host)
	if err != nil {
		return host
	}
	return prefixText(p.Masked())
}

// rule parses a rule. What the grammar does not have is a loss.
func (r *reader) rule(at node, name string, rule sandbox.EgressRule, what string) (egress.Rule, bool) {
	if !r.take(len(rule.Ports) + len(rule.Methods) + len(rule.Paths)) {
		return egress.Rule{}, false
	}
	parsed, findings := egress.ParseRule(name, rule, nil)
	if len(findings) > 0 {
		r.lose(at, Narrows, what+findings[0].Found, findings[0].Remedy)
		return parsed, false
	}
	return parsed, true
}

// deny adds a denial. A host of "*" is any. A denial that the grammar refuses
// stands for any host: whatever it was meant to refuse, the policy refuses too.
func (r *reader) deny(at node, rule sandbox.EgressRule, order int, broad string, asserts bool) {
	rule.Host = masked(rule.Host)
	d := denial{at: at, order: order, broad: broad, asserts: asserts}
	if rule.Host == "*" {
		d.everywhere = true
		rule.Host = "any.invalid"
	}
	parsed, findings := egress.ParseRule("", rule, nil)
	if len(findings) > 0 {
		d.everywhere, d.asserts = true, false
		d.broad = "the denial cannot be read (" + findings[0].Found + "), and so everything after it is left out"
		parsed, _ = egress.ParseRule("", sandbox.EgressRule{Host: "any.invalid", Ports: anything(), Methods: anything(), Paths: anything()}, nil)
	}
	d.rule = parsed
	r.denials = append(r.denials, d)
}

// mapping gives a value's field as a mapping; absent is not ok.
func (r *reader) mapping(n node, name string) (node, bool) {
	v, ok := n.field(name)
	if !ok {
		return v, false
	}
	if v.value.Kind != yaml.MappingNode {
		r.fail(v.wrongType("a mapping"))
		return v, false
	}
	return v, true
}

// list gives the elements of a field that is a list; absent is none.
func (r *reader) list(n node, name string) []node {
	v, ok := n.field(name)
	if !ok {
		return nil
	}
	return r.items(v)
}

// items gives the elements of a list.
func (r *reader) items(v node) []node {
	if v.value.Kind != yaml.SequenceNode {
		r.fail(v.wrongType("a list"))
		return nil
	}
	all := make([]node, len(v.value.Content))
	for i := range all {
		all[i] = v.at(i)
	}
	return all
}

// mappings gives the elements of a list, each of which must be a mapping.
func (r *reader) mappings(n node, name string) []node {
	all := r.list(n, name)
	for _, v := range all {
		if v.value.Kind != yaml.MappingNode {
			r.fail(v.wrongType("a mapping"))
			return nil
		}
	}
	return all
}

// text gives a field's text, empty where absent.
func (r *reader) text(n node, name string) string {
	v, ok := n.field(name)
	if !ok {
		return ""
	}
	return r.textOf(v)
}

func (r *reader) textOf(v node) string {
	text, ok := v.scalar()
	if !ok || isNull(v.value) {
		r.fail(v.wrongType("a text"))
		return ""
	}
	return text
}

// texts gives the elements of a list of texts.
func (r *reader) texts(n node, name string) []string {
	items := r.list(n, name)
	all := make([]string, 0, len(items))
	for _, v := range items {
		all = append(all, r.textOf(v))
	}
	return all
}

// port reads a port number, from 1 to 65535, in the one spelling that has no other
// meaning: to YAML 1.1, which the sources' own tools read, 0443 is 291.
func (r *reader) port(v node) (uint16, bool) {
	text, _ := v.scalar()
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return 0, false
	}
	return uint16(n), true
}

// isRange reports whether a text is an address or a range of them.
func isRange(text string) bool {
	if _, err := netip.ParsePrefix(text); err == nil {
		return true
	}
	_, err := netip.ParseAddr(text)
	return err == nil
}

// namesMayLeadTo says what a denial of addresses does not stop here: a permitted
// name is judged by its name, wherever it leads.
func (r *reader) namesMayLeadTo(at node, text string, effect Effect) {
	r.lose(at, effect, sandbox.Echo(text)+" is denied to requests that name an address; a permitted name that leads there is judged by its name, and only private and special addresses are refused then", "")
}

// word reads one of a few words. Another one is an error, as it is to the source.
func (r *reader) word(n node, name string, words ...string) string {
	v, ok := n.field(name)
	if !ok {
		return ""
	}
	text := r.textOf(v)
	if slices.Contains(words, text) {
		return text
	}
	if r.err == nil {
		r.fail(documentError(sandbox.CodeUnknownWord, v.path, v.value.Line, sandbox.Echo(text), "one of "+strings.Join(words, ", "), "write one of these"))
	}
	return ""
}

// notThis says that a file is of another format.
func (r *reader) notThis(root node, required, remedy string) {
	r.fail(documentError(sandbox.CodeDocumentType, nil, root.value.Line, "a file that has none of its names", required, remedy))
}
