package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// The one word is about everything that the service shows, and not about the policy's
// default alone.
func TestTheEgressOfASandboxIsWhatItMayReach(t *testing.T) {
	t.Parallel()
	denies := func(rules ...wire.HostRule) *wire.EgressPolicy {
		return &wire.EgressPolicy{DefaultAction: wire.EgressDeny, TrafficInspection: wire.InspectFull, HostRules: rules}
	}
	for name, c := range map[string]struct {
		doc     wire.Sandbox
		want    string
		because bool
	}{
		"no policy":                  {doc: wire.Sandbox{}, want: "unrestricted"},
		"denies":                     {doc: wire.Sandbox{EgressPolicy: denies()}, want: "closed"},
		"one host":                   {doc: wire.Sandbox{EgressPolicy: denies(wire.HostRule{Pattern: "a.example", Action: wire.EgressAllow})}, want: "allowlist"},
		"denies, and allows all":     {doc: wire.Sandbox{EgressPolicy: denies(wire.HostRule{Pattern: "*", Action: wire.EgressAllow})}, want: "unrestricted"},
		"goes around the proxy":      {doc: wire.Sandbox{EgressPolicy: denies(), SkipEgressProxy: true}, want: "unclear", because: true},
		"follows the group's policy": {doc: wire.Sandbox{EgressPolicy: denies(), EgressPolicyID: "p"}, want: "unclear", because: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object, ok := sandboxValue(c.doc).(types.Object)
			if !ok {
				t.Fatal("no object")
			}
			got := object.Attributes()
			if !got["egress"].Equal(types.StringValue(c.want)) || got["egress_because"].IsNull() == c.because {
				t.Errorf("egress %s because %s", got["egress"], got["egress_because"])
			}
		})
	}
}
