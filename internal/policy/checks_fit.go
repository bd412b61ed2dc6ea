package policy

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// methodTokens asks whether the backend can tell the named HTTP methods apart.
func (q *question) methodTokens() {
	have := q.backend.methods
	if have == nil {
		return
	}
	var missing []string
	for _, m := range q.spec.egress.methods {
		if _, ok := slices.BinarySearch(have, m); !ok {
			missing = append(missing, m)
		}
	}
	switch {
	case len(missing) > 0:
		q.deny(sandbox.CodeEgressMethodUnsupported, at("egress_rules"), quoted(missing),
			"methods that backend "+q.backendName()+" enforces: "+quoted(have),
			"use only those methods in rules, or choose another backend")
	case q.spec.egress.open:
		q.wait(at("egress_rules"), "an egress rule", "whether the backend can enforce its methods")
	}
}

func (q *question) osFamily() {
	want, have := q.spec.spec.OSFamily, q.backend.decl.OSFamilies
	everything := sandbox.SetOf(sandbox.OSFamilies()...)
	switch {
	case q.spec.open.family:
		if !everything.Minus(have).Empty() {
			q.wait(at("os_family"), "os_family", "whether the backend has such guests")
		}
	case want != sandbox.OSFamilyUnspecified && !have.Has(want):
		q.deny(sandbox.CodeOSFamilyUnsupported, at("os_family"), want.String(),
			"an OS family of backend "+q.backendName()+": "+have.String(),
			"choose another backend, or leave os_family out")
	}
}

// programChannel asks for one channel that fits the profile, the host tools and
// the capabilities at once.
func (q *question) programChannel() {
	s := q.spec
	if s.open.profile {
		q.wait(at("program_profile"), "program_profile", "which program channel is needed")
		return
	}
	if s.spec.ProgramProfile == "" {
		return
	}
	tools := s.requires.Has(sandbox.CapabilityHostTools)
	for i := range q.backend.decl.ProgramChannels {
		c := &q.backend.decl.ProgramChannels[i]
		if slices.Contains(c.Profiles, s.spec.ProgramProfile) && (c.HostTools || !tools) &&
			c.Needs.Minus(q.backend.capabilities).Empty() && c.Needs.Intersect(q.policy.denied).Empty() {
			if s.requiresOpen && !c.HostTools {
				q.wait(at("program_profile"), "requires", "whether the channel must carry host tools")
			}
			if q.policy.deniedOpen && !c.Needs.Empty() {
				q.wait(at("program_profile"), "denied_capabilities of the policy", "whether the channel may be used")
			}
			return
		}
	}
	q.deny(sandbox.CodeProgramChannelMissing, at("program_profile"), sandbox.Echo(s.spec.ProgramProfile),
		"a program channel of backend "+q.backendName()+" that fits: "+q.channels(),
		"choose a profile or a backend that fits")
}

func (q *question) channels() string {
	var parts []string
	for _, c := range q.backend.decl.ProgramChannels {
		parts = append(parts, c.Name+" ("+strings.Join(c.Profiles, ", ")+")")
	}
	if len(parts) == 0 {
		return "it has none"
	}
	return strings.Join(parts, ", ")
}

// transferLimits compares in, then out, with the backend's and every policy's
// ceiling. Limits are refused, never clamped.
func (q *question) transferLimits() {
	s, b := q.spec, q.backend
	q.limits("files_in_limits", s.filesIn, s.open.filesIn, b.filesIn,
		func(l *compiledLayer) (*sandbox.TransferLimits, bool) { return l.Policy.FilesIn, l.filesInOpen })
	q.limits("files_out_limits", s.filesOut, s.open.filesOut, b.filesOut,
		func(l *compiledLayer) (*sandbox.TransferLimits, bool) { return l.Policy.FilesOut, l.filesOutOpen })
}

func (q *question) limits(
	field string, ask sandbox.TransferLimits, askOpen bool, ceiling sandbox.TransferLimits,
	bound func(*compiledLayer) (*sandbox.TransferLimits, bool),
) {
	if askOpen {
		q.wait(at(field), field, "whether the ask is within the ceilings")
		return
	}
	if !ask.Within(ceiling) {
		q.deny(sandbox.CodeLimitsOverCeiling, at(field), ask.String(),
			"at most what backend "+q.backendName()+" serves: "+ceiling.String(),
			"lower the limits, or choose another backend")
	}
	for i := range q.policy.layers {
		l := &q.policy.layers[i]
		limit, open := bound(l)
		switch {
		case open:
			q.wait(at(field), field+" of "+l.Source, "whether the ask is within the ceiling")
		case limit != nil && !ask.Within(*limit):
			q.deny(sandbox.CodeLimitsOverCeiling, at(field), ask.String(),
				"at most the ceiling of "+l.Source+": "+limit.String(),
				"lower the limits, or raise the policy's ceiling")
		}
	}
}

// isolationScope compares the stricter of policy and workload with what the
// backend keeps apart.
func (q *question) isolationScope() {
	p, s, have := q.policy, q.spec, q.backend.scopes
	open := p.scopeOpen || s.open.scope
	want := max(p.scope, sandbox.ScopeConversation)
	if !s.open.scope {
		want = max(want, s.spec.IsolationScope)
	}
	switch {
	case open:
		// Any scope at or above the known part may still be asked for.
		missing := false
		certain := true
		for _, scope := range sandbox.IsolationScopes() {
			if scope < want {
				continue
			}
			missing = missing || !have.Has(scope)
			certain = certain && !have.Has(scope)
		}
		switch {
		case certain:
			q.denyScope(want)
		case missing:
			q.wait(at("isolation_scope"), "the isolation scope", "how far apart sandboxes must be kept")
		}
	case !have.Has(want):
		q.denyScope(want)
	}
}

func (q *question) denyScope(want sandbox.IsolationScope) {
	q.deny(sandbox.CodeScopeNotEnforced, at("isolation_scope"), want.String(),
		"a scope that backend "+q.backendName()+" keeps apart: "+q.backend.scopes.String(),
		"choose another backend, or a wider isolation_scope if the policy permits it")
}
