package policy_test

import (
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func attachedFor(seconds int64) sandbox.AttachedIdentity {
	return sandbox.AttachedIdentity{
		Scope: sandbox.IdentityScopePerScope, RetentionSeconds: seconds, Channels: sandbox.SetOf(sandbox.ChannelEgressHeader),
	}
}

// An identity whose retention nobody states would pass every bound.
func TestAnAttachedIdentityIsDeclaredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	channels := sandbox.SetOf(sandbox.ChannelEgressHeader)
	for what, row := range map[string]struct {
		attached sandbox.AttachedIdentity
		sound    bool
	}{
		"whole":                         {attachedFor(1), true},
		"nothing":                       {sandbox.AttachedIdentity{}, true},
		"none, said":                    {sandbox.AttachedIdentity{Scope: sandbox.IdentityScopeNone}, true},
		"no retention":                  {attachedFor(0), false},
		"a retention below zero":        {attachedFor(-1), false},
		"no channel":                    {sandbox.AttachedIdentity{Scope: sandbox.IdentityScopePerScope, RetentionSeconds: 1}, false},
		"a retention of nothing":        {sandbox.AttachedIdentity{RetentionSeconds: 1}, false},
		"a retention below zero of it":  {sandbox.AttachedIdentity{Scope: sandbox.IdentityScopeNone, RetentionSeconds: -1}, false},
		"channels of nothing":           {sandbox.AttachedIdentity{Channels: channels}, false},
		"channels of none that is said": {sandbox.AttachedIdentity{Scope: sandbox.IdentityScopeNone, Channels: channels}, false},
	} {
		_, _, d := fits()
		d.AttachedIdentity = row.attached
		if row.attached.Attached() {
			caps := d.Capabilities.With(sandbox.CapabilityAttachedIdentity)
			d.Capabilities = &caps
		}
		_, findings := policy.CompileDeclarations(d)
		if sound := len(findings) == 0; sound != row.sound {
			t.Errorf("%s: %v", what, findings)
		}
	}
}
