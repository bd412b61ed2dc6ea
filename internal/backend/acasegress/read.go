package acasegress

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Reading is what a policy of the service lets out, as far as that can be told: the
// most that it may be, and the least. The zero value lets out anything, and nothing
// for certain.
type Reading struct {
	read bool
	// open: any destination at all may be let out.
	open        bool
	most, least egress.Region
	set         *egress.Set // both, where there are neither denials nor findings
	allows      int
	nothing     bool // no rule lets anything out
	findings    []sandbox.Finding
}

// Findings say why the most and the least may not be the same. Where there is one,
// the policy is not what anybody here would have sent, and nothing may rest on it.
// At most 16 are kept; the last then counts the others.
func (r Reading) Findings() []sandbox.Finding {
	if !r.read {
		return []sandbox.Finding{unclear(nil, "nothing was read", "")}
	}
	return r.findings
}

// Clear reports whether the policy can be read in one way only.
func (r Reading) Clear() bool { return r.read && len(r.findings) == 0 }

// Mode is the policy in one word, and [sandbox.EgressUnspecified] where it is not
// clear.
func (r Reading) Mode() sandbox.EgressMode {
	switch {
	case !r.Clear():
		return sandbox.EgressUnspecified
	case r.open:
		return sandbox.EgressUnrestricted
	case r.nothing:
		return sandbox.EgressClosed
	default:
		return sandbox.EgressAllowlist
	}
}

// Word is the mode for people, and "unclear" with the reason for every policy that can
// be read in more than one way. Nothing may rest on the word alone.
func (r Reading) Word() (mode, because string) {
	if findings := r.Findings(); len(findings) > 0 {
		return "unclear", findings[0].Found
	}
	return r.Mode().String(), ""
}

// Allows is how many rules let something out.
func (r Reading) Allows() int { return r.allows }

// Set is what is let out as rules, where the policy is clear, has no denials and is
// not unrestricted.
func (r Reading) Set() (*egress.Set, bool) { return r.set, r.set != nil }

// May reports whether the request may be let out: false is certain.
func (r Reading) May(q egress.Request) bool { return !r.read || r.open || r.most.Has(q) }

// Does reports whether the request is let out: true is certain.
func (r Reading) Does(q egress.Request) bool { return r.read && r.least.Has(q) }

// ReadSandbox reads what the service shows of a sandbox's egress. Without a policy
// everything is let out. A sandbox that goes around the proxy, or that follows a
// policy of its group, has no policy that could be read.
func ReadSandbox(doc wire.Sandbox) Reading {
	r := reader{}
	switch {
	case doc.SkipEgressProxy:
		r.opens(sandbox.Path("skipEgressProxy"), "it goes around the egress proxy", "make the sandbox without skipEgressProxy")
	case doc.EgressPolicyID != "":
		r.opens(sandbox.Path("egressPolicyId"), "it follows the group's policy "+sandbox.Echo(doc.EgressPolicyID), "give the sandbox a policy of its own")
	default:
		return Read(doc.EgressPolicy)
	}
	if doc.EgressPolicy != nil {
		r.policy(doc.EgressPolicy, sandbox.Path("egressPolicy"))
	}
	return r.reading()
}

// Read reads a policy. None is no restriction: everything is let out.
func Read(p *wire.EgressPolicy) Reading {
	r := reader{}
	if p == nil {
		r.open = true
		return r.reading()
	}
	r.policy(p, sandbox.Path("egressPolicy"))
	return r.reading()
}

// reader collects what is found on the way.
type reader struct {
	open     bool
	order    order
	findings []sandbox.Finding
	more     int
}

// maxFindings bounds what is said about one policy.
const maxFindings = 16

func (r *reader) add(f sandbox.Finding) {
	if len(r.findings) == maxFindings-1 {
		r.more++
		return
	}
	r.findings = append(r.findings, f)
}

func (r *reader) unclear(at sandbox.FieldPath, found, remedy string) {
	r.add(unclear(at, found, remedy))
}

// opens is what may let out anything.
func (r *reader) opens(at sandbox.FieldPath, found, remedy string) {
	r.open = true
	r.unclear(at, found, remedy)
}

func unclear(at sandbox.FieldPath, found, remedy string) sandbox.Finding {
	if remedy == "" {
		remedy = "set the policy again from the declared rules, or make the sandbox again"
	}
	return sandbox.Finding{
		Code: sandbox.CodeServiceEgressUnclear, Path: at, Found: found,
		Required: "a policy that is enforced, denies by default, is inspected in full, and allows by host, scheme and method alone",
		Remedy:   remedy,
	}
}

func (r *reader) reading() Reading {
	if n := r.order.turns(); n > maxTurns {
		r.tooMuch(sandbox.Path("egressPolicy", "rules"), strconv.Itoa(n)+" turns from allowing to denying and back", maxTurns)
	}
	got := Reading{read: true, open: r.open || r.order.openMost(), allows: r.order.allows}
	got.most, got.least = r.order.regions()
	if empty, err := got.most.Empty(); err == nil {
		got.nothing = empty && !got.open
	}
	if w, some, err := got.most.Minus(got.least).Witness(); len(r.findings) == 0 && !r.order.plain() && (some || err != nil) {
		r.ambiguous(w, err)
	}
	if r.more > 0 {
		r.findings = append(r.findings, unclear(sandbox.Path("egressPolicy"), strconv.Itoa(r.more)+" findings more", ""))
	}
	got.findings = r.findings
	if len(got.findings) == 0 && !got.open && r.order.plain() {
		got.set = r.order.all()
	}
	return got
}

// tooMuch is a policy that is not read any further.
func (r *reader) tooMuch(at sandbox.FieldPath, found string, most int) {
	r.open, r.order = true, order{allows: r.order.allows}
	f := unclear(at, found, "")
	f.Code, f.Required = sandbox.CodeEgressTooComplex, "at most "+strconv.Itoa(most)
	r.add(f)
}

// ambiguous says that what is let out depends on an order that nobody documents.
func (r *reader) ambiguous(w egress.Witness, err error) {
	f := unclear(sandbox.Path("egressPolicy"), "it allows and denies the same requests, and which of the two is done to them is not documented", "take the denials out; what no rule allows is denied")
	f.Witness = w.String()
	if err != nil {
		f.Code, f.Found = sandbox.CodeEgressTooComplex, err.Error()
	}
	r.add(f)
}

// policy reads everything of a policy but what its sandbox says.
func (r *reader) policy(p *wire.EgressPolicy, at sandbox.FieldPath) {
	if unknown := wire.Unknown(p); len(unknown) > 0 {
		r.opens(at, "it has what is not known here: "+sandbox.Echo(strings.Join(unknown, ", ")), "use a release that knows it, or set the policy again from the declared rules")
	}
	r.frame(p, at)
	if len(p.Rules)+len(p.HostRules) > maxRules {
		r.tooMuch(at, strconv.Itoa(len(p.Rules)+len(p.HostRules))+" rules", maxRules)
		return
	}
	for i := range p.Rules {
		r.rule(&p.Rules[i], at.Append(sandbox.Attr("rules"), sandbox.Index(i)))
	}
	for i := range p.HostRules {
		r.hostRule(&p.HostRules[i], at.Append(sandbox.Attr("hostRules"), sandbox.Index(i)))
	}
	if p.HTTP != nil {
		r.copy(p, at.Append(sandbox.Attr("http")))
	}
}

// frame reads what holds for all rules.
func (r *reader) frame(p *wire.EgressPolicy, at sandbox.FieldPath) {
	member := func(name string) sandbox.FieldPath { return at.Append(sandbox.Attr(name)) }
	switch p.EnforcementMode {
	case "", wire.EnforceEnforced:
	default:
		r.opens(member("enforcementMode"), "its enforcement is "+word(p.EnforcementMode), "set enforcementMode to Enforced")
	}
	switch p.TrafficInspection {
	case wire.InspectFull:
	case "":
		r.opens(member("trafficInspection"), "its traffic inspection is not stated", "set trafficInspection to Full")
	default:
		r.opens(member("trafficInspection"), "its traffic inspection is "+word(p.TrafficInspection), "set trafficInspection to Full")
	}
	switch p.DefaultAction {
	case wire.EgressDeny:
	case wire.EgressAllow:
		r.open = true
	case "":
		r.opens(member("defaultAction"), "it has no default", "set defaultAction to Deny")
	default:
		r.opens(member("defaultAction"), "its default is "+word(p.DefaultAction), "set defaultAction to Deny")
	}
	for _, other := range []struct {
		name  string
		value string
	}{
		{"transportRules", string(p.TransportRules)},
		{"tds", string(p.TDS)},
		{"hookRef", string(p.HookRef)},
		{"proxyActions", string(p.ProxyActions)},
		{"source", string(p.Source)},
	} {
		if other.value != "" && other.value != "null" {
			r.opens(member(other.name), "it has "+other.name+", which is not sent from here", "take it out")
		}
	}
	if n := len(p.ValidationWarnings); n > 0 {
		r.opens(member("validationWarnings"), "the service has "+strconv.Itoa(n)+" warnings about it", "")
	}
}

// word is a word of the service in a message: as it is where it is a word.
func word(text string) string {
	if len(text) <= 32 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == "" {
		return text
	}
	return sandbox.Echo(text)
}

// copy reads the service's own second copy of the policy, which has to say the same.
func (r *reader) copy(p *wire.EgressPolicy, at sandbox.FieldPath) {
	inner := *p.HTTP
	if inner.HTTP != nil {
		r.opens(at.Append(sandbox.Attr("http")), "a copy of it has a copy", "")
		return
	}
	outer := *p
	outer.HTTP = nil
	if inner.TrafficInspection == "" {
		inner.TrafficInspection = outer.TrafficInspection
	}
	if equal(outer, inner) {
		return
	}
	a, b := Read(&outer), Read(&inner)
	if !b.Clear() || a.open != b.open {
		r.opens(at, "its copy under http cannot be relied on", "")
		return
	}
	if same, err := a.most.Equal(b.most); err != nil || !same {
		r.open = r.open || err != nil
		r.order.also(b.most)
		r.unclear(at, "its copy under http says something else than the rules around it", "")
	}
}

// equal reports whether two policies are the same document.
func equal(a, b wire.EgressPolicy) bool {
	one, err := wire.Encode(a)
	other, errOther := wire.Encode(b)
	return err == nil && errOther == nil && bytes.Equal(one, other)
}
