package policy

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Admits answers whether a workload under these policies could be given the
// request: every policy that has an opinion must let it through, and nothing is
// open where none has. It is undecided where a value that is not known yet could
// change the answer.
func (p *CompiledPolicy) Admits(r egress.Request) sandbox.Verdict {
	if p == nil || !p.bounded && !p.modeOpen {
		return sandbox.Deny
	}
	verdict := sandbox.Allow
	for i := range p.layers {
		verdict = min(verdict, p.layers[i].admits(r))
	}
	return verdict
}

// Admits answers whether the workload's own egress lets the request through,
// whatever any policy says of it.
func (s *CompiledSpec) Admits(r egress.Request) sandbox.Verdict {
	if s == nil {
		return sandbox.Deny
	}
	return s.egress.admits(r)
}

func (l *compiledLayer) admits(r egress.Request) sandbox.Verdict {
	if _, never := l.neverReach.Match(r); never {
		return sandbox.Deny
	}
	verdict := sandbox.Allow
	if l.neverOpen {
		verdict = sandbox.Undecided
	}
	if !l.egress.modeOpen && l.egress.mode == sandbox.EgressUnspecified {
		return verdict
	}
	return min(verdict, l.egress.admits(r))
}

func (c *compiledEgress) admits(r egress.Request) sandbox.Verdict {
	switch {
	case c.modeOpen:
		return sandbox.Undecided
	case c.mode == sandbox.EgressUnrestricted:
		return sandbox.Allow
	case c.mode != sandbox.EgressAllowlist || alwaysBlocked(r):
		return sandbox.Deny
	}
	if _, ok := c.set.Match(r); ok {
		return sandbox.Allow
	}
	if c.open {
		return sandbox.Undecided
	}
	return sandbox.Deny
}

// alwaysBlocked reports whether whoever enforces an allowlist refuses to dial the
// destination, whatever the rules say.
func alwaysBlocked(r egress.Request) bool { return blockedBecause(r) != "" }

// blockedBecause says why a destination is always refused; empty where it is not.
func blockedBecause(r egress.Request) string {
	if r.Addr.IsValid() {
		why, _ := egress.BlockedAddress(r.Addr)
		return why
	}
	host, err := egress.ParseHost(r.Host)
	if err != nil {
		return "no host"
	}
	why, _ := host.AlwaysBlocked()
	return why
}
