package router_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// An image's configured user is what somebody wrote; what runs is asked.
func TestTheGuestsRealUserIsHeldAgainstThePolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule     sandbox.ImageUser
		uid, gid string
		refused  bool
		warned   sandbox.Code
		asked    bool
	}{
		"as configured":        {sandbox.ImageUserNonRoot, "1000\n", "1000\n", false, "", true},
		"root after all":       {sandbox.ImageUserNonRoot, "0\n", "0\n", true, "", true},
		"nobody knows":         {sandbox.ImageUserNonRoot, "app\n", "", true, "", true},
		"in root's group":      {sandbox.ImageUserNonRoot, "1000\n", "0\n", false, sandbox.CodeImageUserRootGroup, true},
		"root, and nobody may": {sandbox.ImageUserAny, "0\n", "0\n", false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := false
			e := sandboxtest.NewEngine(sandboxtest.Options{UID: -1, Exec: func(_ context.Context, _ *sandboxtest.View, req engine.ExecRequest) (int, error) {
				asked = true
				text := c.uid
				if slices.Contains(req.Args, "-g") {
					text = c.gid
				}
				_, err := io.WriteString(req.Stdout, text)
				return 0, err
			}})
			requires := sandbox.SetOf(sandbox.CapabilityExec)
			m := manifest.Manifest{
				Policy: sandbox.Policy{Name: "agents", Images: sandbox.ImagePolicy{User: c.rule}},
				Workloads: map[string]sandbox.Spec{"app": {
					Kind: "app", Backend: "memory", Requires: &requires, Egress: sandbox.Egress{Mode: sandbox.EgressClosed},
					Image: sandbox.Image{Reference: "registry.example/app", User: "1000"},
				}},
			}
			seen := &events{}
			r := mustOpen(t, m, func(o *router.Options) { o.Observer = seen }, sandboxtest.Backend(t, e))
			lease, err := mustAttach(t, r, "app").Acquire(t.Context(), key)
			if errors.Is(err, sandbox.CodeImageUserDenied) != c.refused || (err != nil) != c.refused || asked != c.asked {
				t.Fatalf("%v, asked %v", err, asked)
			}
			if c.refused {
				if refusal := sandbox.RefusalOf(err); e.Count() != 0 || refusal.Subject != router.Subject("app") {
					t.Errorf("%d left, about %s", e.Count(), refusal.Subject)
				}
				return
			}
			if err := lease.Close(t.Context()); err != nil {
				t.Error(err)
			}
			event, _ := seen.seen[len(seen.seen)-1].(router.SandboxAcquired)
			if got := len(event.Findings) == 1 && event.Findings[0].Code == c.warned; got != (c.warned != "") || len(event.Findings) > 1 {
				t.Errorf("warned of %v", event.Findings)
			}
		})
	}
}
