package egress

import (
	"strconv"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Twenty thousand rules of one host that share nothing with as many others are
// four hundred million pairs; what is not shown to be apart overlaps.
func TestAnOverlapThatWouldTakeTooLongIsOneWithoutAWitness(t *testing.T) {
	t.Parallel()
	rules := func(n int, method string) *Set {
		var all []sandbox.EgressRule
		for i := range n {
			all = append(all, sandbox.EgressRule{
				Host: "a.example", Ports: []string{strconv.Itoa(i + 1)}, Methods: []string{method + strconv.Itoa(i)}, Paths: []string{"*"},
			})
		}
		return mustSet(t, all...)
	}
	if w, ok := rules(20_000, "A").Overlaps(rules(20_000, "B")); !ok || w != (Witness{}) {
		t.Errorf("%v with witness %s", ok, w)
	}
	if w, ok := rules(1_000, "A").Overlaps(rules(1_000, "B")); ok {
		t.Errorf("%s is said to be shared", w)
	}
	// A whole host, which is what policies rule out, is found among any number.
	if w, ok := rules(20_000, "A").Overlaps(mustSet(t, sandbox.EgressRule{
		Host: "*.example", Ports: []string{"*"}, Methods: []string{"*"}, Paths: []string{"*"},
	})); !ok || w.Host != "a.example" {
		t.Errorf("%v with witness %s", ok, w)
	}
}
