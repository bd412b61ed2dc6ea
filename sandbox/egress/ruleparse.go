package egress

import (
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// ruleParser collects every finding of one rule object.
type ruleParser struct{ findings []sandbox.Finding }

func (p *ruleParser) add(f sandbox.Finding) { p.findings = append(p.findings, f) }

// incomplete reports a part that is not stated.
func (p *ruleParser) incomplete(part, remedy string, at sandbox.FieldPath) {
	p.add((&fault{
		code:   sandbox.CodeEgressRuleIncomplete,
		why:    "it is null or empty",
		remedy: remedy,
	}).findingOf(part, at))
}

// findingOf is a finding about a part as a whole.
func (f *fault) findingOf(part string, at sandbox.FieldPath) sandbox.Finding {
	return sandbox.Finding{Code: f.code, Path: at, Found: part + ": " + f.why, Required: required(f.code), Remedy: f.remedy}
}

func (p *ruleParser) host(text string, at sandbox.FieldPath) Host {
	if text == "" {
		p.incomplete("host", `state one host, such as "api.example.com"`, at)
		return Host{}
	}
	h, f := parseHost(text)
	if f != nil {
		p.add(hostFinding(f, text, at))
	}
	return h
}

func (p *ruleParser) ports(texts []string, at sandbox.FieldPath) []PortRange {
	var ranges []PortRange
	all := p.list(listOf{"port", sandbox.CodeEgressPortInvalid, `["443"], or ["*"] for any`, maxPorts}, texts, at, func(text string) (any, *fault) {
		r, f := parsePortRange(text)
		ranges = append(ranges, r)
		return r, f
	})
	if all {
		return everyPort
	}
	return mergePorts(ranges)
}

func (p *ruleParser) methods(texts []string, at sandbox.FieldPath) []string {
	all := p.list(listOf{"method", sandbox.CodeEgressMethodInvalid, `["GET"], or ["*"] for any`, maxMethods}, texts, at, func(text string) (any, *fault) {
		return text, parseMethod(text)
	})
	if all {
		return nil
	}
	methods := slices.Clone(texts)
	slices.Sort(methods)
	return methods
}

func (p *ruleParser) paths(texts []string, at sandbox.FieldPath) []string {
	var prefixes []string
	all := p.list(listOf{"path", sandbox.CodeEgressPathInvalid, `["/v1"], or ["*"] for any`, maxPaths}, texts, at, func(text string) (any, *fault) {
		prefix, f := parsePath(text)
		if f == nil && prefix == "" {
			return "*", nil
		}
		prefixes = append(prefixes, prefix)
		return prefix, f
	})
	if all {
		return nil
	}
	return topPaths(prefixes)
}

// listOf describes a list of elements for [ruleParser.list].
type listOf struct {
	noun    string
	code    sandbox.Code
	example string
	most    int
}

// list checks the elements of one list. parse gives an element's comparable
// normal form, "*" when it is another spelling of any. It reports whether the
// list is any; what it returns means nothing when there were findings.
func (p *ruleParser) list(l listOf, texts []string, at sandbox.FieldPath, parse func(string) (any, *fault)) (all bool) {
	part := l.noun + "s"
	switch {
	case len(texts) == 0:
		p.incomplete(part, "state "+part+" = "+l.example, at)
		return false
	case len(texts) > l.most:
		p.add((&fault{code: l.code, why: plural(len(texts), l.noun) + ", and a rule has at most " + itoa(l.most), remedy: "split the rule"}).findingOf(part, at))
		return false
	}
	first := make(map[any]int, len(texts))
	for i, text := range texts {
		normal, f := any("*"), (*fault)(nil)
		if text != "*" {
			normal, f = parse(text)
		}
		if f == nil {
			f = l.said(first, normal, i, len(texts), part)
		}
		if f != nil {
			p.add(f.finding(l.noun, text, at.Append(sandbox.Index(i))))
		}
	}
	_, all = first["*"]
	return all
}

// said refuses an element that was said before, and any beside something else.
func (l listOf) said(first map[any]int, normal any, i, n int, part string) *fault {
	if j, ok := first[normal]; ok {
		return &fault{code: l.code, why: "it says the same as " + part + "[" + itoa(j) + "]", remedy: "remove one of the two"}
	}
	first[normal] = i
	if normal == "*" && n > 1 {
		return &fault{code: l.code, why: "it admits every " + l.noun + ", so that the others would mean nothing", remedy: `write ["*"] for any, or remove it from the list`}
	}
	return nil
}

// topPaths orders prefixes and drops those that lie below another.
func topPaths(prefixes []string) []string {
	slices.SortFunc(prefixes, comparePaths)
	top := prefixes[:0]
	for _, prefix := range prefixes {
		if n := len(top); n == 0 || !underPath(prefix, top[n-1]) {
			top = append(top, prefix)
		}
	}
	return slices.Clip(top)
}
