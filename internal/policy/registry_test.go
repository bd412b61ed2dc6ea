package policy_test

import (
	"errors"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// A reference such as ubuntu:22.04 names no registry. A list that holds the empty
// text would admit all of those.
func TestARegistryIsAHostAndNothingElse(t *testing.T) {
	t.Parallel()
	for registry, accepted := range map[string]bool{
		"registry.example.com": true, "registry.example.com:5000": true, "localhost": true, "localhost:5000": true,
		"": false, " ": false, "library": false, "Registry.example.com": false, "registry.example.com/team": false,
		"https://registry.example.com": false, "registry.example.com/": false,
	} {
		_, findings := policy.CompilePolicy(policy.Layer{Policy: sandbox.Policy{
			Images: sandbox.ImagePolicy{Registries: []string{registry}},
		}})
		err := sandbox.Decide(findings).Err()
		if accepted != (err == nil) || !accepted && !errors.Is(err, sandbox.CodeInvalidText) {
			t.Errorf("registry %q: %v", registry, err)
		}
	}
}
