package egressproxy

import (
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Whoever answers for such a name would be reached, since nobody has it.
func TestANameThatIsNeverAnybodysIsNotLookedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := []string{"observed.invalid", "service.onion", "a.alt", "b.localhost"}
	rules := map[string]sandbox.EgressRule{"test": rule("observed.test", "80 443", "*", "*")}
	for _, name := range append(names, "observed.test") {
		site(t, w, name)
		rules[name] = rule(name, "80 443", "*", "*")
	}
	s := newScene(t, w, setting{rules: rules})
	for _, name := range names {
		must(t, steps(
			s.rawRefused(absolute(name, "/"), sandbox.CodeEgressAlwaysBlocked),
			s.tunnelRefused(name+":443", sandbox.CodeEgressAlwaysBlocked),
		))
	}
	if asked := w.Lookups(); len(asked) > 0 {
		t.Errorf("looked up %q", asked)
	}
	must(t, steps(s.rawAllowed(absolute("observed.test", "/")), s.tlsAllowed("observed.test:443", "observed.test", false)))
}
