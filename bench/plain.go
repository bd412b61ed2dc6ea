package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// The plain forms are what the peers are given: JSON with the hosts already
// parsed, ladders as numbers, and for each host the texts under which a rule that
// covers it can be found. The peers are spared that work.
type (
	plainLimits struct {
		File  int64 `json:"file"`
		Total int64 `json:"total"`
		Files int64 `json:"files"`
	}
	plainRule struct {
		Host string `json:"host"`
		// Keys are the host itself and every wildcard above it.
		Keys  []string    `json:"keys"`
		Ports []plainPort `json:"ports"`
		// Methods and Paths are nil for any.
		Methods []string `json:"methods"`
		Paths   []string `json:"paths"`
	}
	plainPort struct {
		First uint16 `json:"first"`
		Last  uint16 `json:"last"`
	}
	plainPolicy struct {
		Floor              uint8                `json:"floor"`
		FloorWord          string               `json:"floor_word"`
		DeniedCapabilities []string             `json:"denied_capabilities"`
		DeniedIdentities   []string             `json:"denied_identities"`
		FilesIn            plainLimits          `json:"files_in"`
		FilesOut           plainLimits          `json:"files_out"`
		Guarantees         []string             `json:"guarantees"`
		Rules              map[string]plainRule `json:"rules"` // by host
	}
	plainBackend struct {
		Rung         uint8       `json:"rung"`
		RungWord     string      `json:"rung_word"`
		Capabilities []string    `json:"capabilities"`
		FilesIn      plainLimits `json:"files_in"`
		FilesOut     plainLimits `json:"files_out"`
		Modes        []string    `json:"modes"`
		OSFamilies   []string    `json:"os_families"`
		Scopes       []string    `json:"scopes"`
		Guarantees   []string    `json:"guarantees"`
	}
	plainWorkload struct {
		Floor      uint8       `json:"floor"`
		FloorWord  string      `json:"floor_word"`
		Requires   []string    `json:"requires"`
		Identities []string    `json:"identities"`
		FilesIn    plainLimits `json:"files_in"`
		FilesOut   plainLimits `json:"files_out"`
		Mode       string      `json:"mode"`
		OSFamily   string      `json:"os_family"` // empty asks for none
		Scope      string      `json:"scope"`
		Rules      []plainRule `json:"rules"`
	}
)

func toPlainLimits(l *sandbox.TransferLimits) plainLimits {
	return plainLimits{File: l.MaxBytesPerFile, Total: l.MaxTotalBytes, Files: l.MaxFiles}
}

func toPlainPolicy(p *sandbox.Policy) (plainPolicy, error) {
	rules, err := parseRules(p.Egress)
	if err != nil {
		return plainPolicy{}, err
	}
	byHost := map[string]plainRule{}
	for _, r := range rules {
		byHost[r.Host().String()] = toPlainRule(r)
	}
	return plainPolicy{
		Floor: uint8(p.MinimumIsolation), FloorWord: p.MinimumIsolation.String(),
		DeniedCapabilities: p.DeniedCapabilities.Strings(), DeniedIdentities: p.DeniedIdentities.Strings(),
		FilesIn: toPlainLimits(p.FilesIn), FilesOut: toPlainLimits(p.FilesOut),
		Guarantees: p.Egress.Guarantees.Strings(), Rules: byHost,
	}, nil
}

func toPlainBackend(d *sandbox.Declarations) plainBackend {
	guarantees := sandbox.SetOf(slices.Collect(maps.Keys(d.Guarantees))...)
	return plainBackend{
		Rung: uint8(d.Isolation), RungWord: d.Isolation.String(), Capabilities: d.Capabilities.Strings(),
		FilesIn: toPlainLimits(d.FilesIn), FilesOut: toPlainLimits(d.FilesOut), Modes: d.EgressModes.Strings(),
		OSFamilies: d.OSFamilies.Strings(), Scopes: d.IsolationScopes.Strings(), Guarantees: guarantees.Strings(),
	}
}

// toPlainWorkload takes what the workload requires, derived capabilities
// included.
func toPlainWorkload(s *sandbox.Spec, requires sandbox.CapabilitySet) (plainWorkload, error) {
	rules, err := parseRules(s.Egress)
	if err != nil {
		return plainWorkload{}, err
	}
	w := plainWorkload{
		Floor: uint8(s.MinimumIsolation), Requires: requires.Strings(), Identities: s.Identities.Strings(),
		FilesIn: toPlainLimits(s.FilesIn), FilesOut: toPlainLimits(s.FilesOut), Mode: s.Egress.Mode.String(),
		Scope: sandbox.Strongest(sandbox.ScopeConversation, s.IsolationScope).String(),
	}
	if s.MinimumIsolation != sandbox.IsolationUnspecified {
		w.FloorWord = s.MinimumIsolation.String()
	}
	if s.OSFamily != sandbox.OSFamilyUnspecified {
		w.OSFamily = s.OSFamily.String()
	}
	for _, r := range rules {
		w.Rules = append(w.Rules, toPlainRule(r))
	}
	return w, nil
}

func parseRules(e sandbox.Egress) ([]egress.Rule, error) {
	var rules []egress.Rule
	for _, host := range e.Hosts {
		r, findings := egress.ParseShort(host, nil)
		if len(findings) > 0 {
			return nil, fmt.Errorf("host %q: %v", host, findings)
		}
		rules = append(rules, r)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Rules)) {
		r, findings := egress.ParseRule(name, e.Rules[name], nil)
		if len(findings) > 0 {
			return nil, fmt.Errorf("rule %q: %v", name, findings)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func toPlainRule(r egress.Rule) plainRule {
	host := r.Host().String()
	p := plainRule{Host: host, Keys: keysOf(host), Methods: r.Methods(), Paths: r.Paths()}
	for _, ports := range r.Ports() {
		p.Ports = append(p.Ports, plainPort{First: ports.First, Last: ports.Last})
	}
	return p
}

// keysOf gives the host patterns that cover one: itself and the wildcards above.
func keysOf(host string) []string {
	keys := []string{host}
	name, wild := strings.CutPrefix(host, "*.")
	for {
		_, above, more := strings.Cut(name, ".")
		if !more {
			return keys
		}
		name = above
		if key := "*." + name; !wild || key != host {
			keys = append(keys, key)
		}
	}
}
