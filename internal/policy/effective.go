package policy

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

// EffectiveScope is the stricter of what the policies and the workload say about
// sharing, conversation when nobody says. It is only meaningful when both are
// wholly known.
func EffectiveScope(p *CompiledPolicy, s *CompiledSpec) sandbox.IsolationScope {
	return sandbox.Strongest(sandbox.ScopeConversation, p.scope, s.spec.IsolationScope)
}

// EffectiveFloor is the isolation floor that holds for a workload under the
// policies in force, with the default where nobody states one.
func EffectiveFloor(p *CompiledPolicy, s *CompiledSpec) sandbox.Isolation {
	floor := sandbox.Strongest(p.floor, s.spec.MinimumIsolation)
	if floor == sandbox.IsolationUnspecified {
		return sandbox.DefaultIsolationFloor
	}
	return floor
}
