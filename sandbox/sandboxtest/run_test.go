package sandboxtest_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheLayerPassesConformanceOverEveryKindOfEngine(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]sandboxtest.Options{
		"guest beneath":       {},
		"root follows":        {Access: []engine.Access{{As: sandbox.PrincipalRoot, Links: engine.Follow}}},
		"guest follows":       {Access: []engine.Access{{As: sandbox.PrincipalGuest, Links: engine.Follow}}},
		"root follows frozen": {Access: []engine.Access{{As: sandbox.PrincipalRoot, Links: engine.Follow}}, Freeze: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options.RunCode = sandboxtest.Script
			e := sandboxtest.NewEngine(options)
			b := sandboxtest.Backend(t, e)
			results := sandboxtest.Run(t, sandboxtest.Subject{
				Name: name, Backend: b,
				Spec: sandbox.Spec{Kind: "probe", Requires: b.Declarations().Capabilities},
				Behind: func(id string) (sandboxtest.Guest, error) {
					return e.View(id), nil
				},
				Programs: sandboxtest.ScriptPrograms(),
			})
			for _, r := range results {
				// What files in memory cannot have is left out by name, and nothing else.
				if r.Outcome != sandboxtest.Pass && (r.Outcome != sandboxtest.Skip || !strings.HasPrefix(r.Detail, "without ")) {
					t.Errorf("%s/%s: %s %s", r.Suite, r.Probe, r.Outcome, r.Detail)
				}
			}
			if n := e.Count(); n != 0 {
				t.Errorf("%d sandboxes left", n)
			}
		})
	}
}
