package policy

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// sides is what both sides of a comparison reach.
type sides struct{ before, after *compiledEgress }

// maxToldApart is how many rules are taken apart to list what came or went.
const maxToldApart = 1 << 14

// Destinations are all destinations that came and went. They are told where both
// sides state by rules what is reached, all of it is known, and it is not too much:
// a side that is unrestricted, or a policy that leaves the answer to the policies
// beside it, has no list.
func (c Comparison) Destinations() (gained, lost []egress.Box, told bool) {
	if !c.reach.before.listed() || !c.reach.after.listed() {
		return nil, nil, false
	}
	before, after := c.reach.before.allowed(), c.reach.after.allowed()
	if gained, told = onlyIn(after, before); !told {
		return nil, nil, false
	}
	if lost, told = onlyIn(before, after); !told {
		return nil, nil, false
	}
	return gained, lost, true
}

// listed reports whether the rules say what is reached.
func (c *compiledEgress) listed() bool {
	return c != nil && !c.modeOpen && !c.open && (c.mode == sandbox.EgressClosed || c.mode == sandbox.EgressAllowlist)
}

// allowed are the rules of an allowlist, and none under another mode.
func (c *compiledEgress) allowed() *egress.Set {
	if c.mode != sandbox.EgressAllowlist {
		return nil
	}
	return c.set
}

// onlyIn takes apart what one set admits and the other does not. Only rules that
// have a part in it are looked at, which of two large lists are few.
func onlyIn(one, other *egress.Set) (boxes []egress.Box, told bool) {
	var beyond, shared []egress.Rule
	for i, w := range one.Beyond(other) {
		if beyond = append(beyond, one.Rule(i)); unshown(w) || len(beyond) > maxToldApart {
			return nil, false
		}
	}
	from := egress.NewSet(beyond)
	for i, w := range other.Overlapping(from) {
		if shared = append(shared, other.Rule(i)); unshown(w) || len(shared) > maxToldApart {
			return nil, false
		}
	}
	boxes, err := from.Minus(egress.NewSet(shared)).Boxes()
	return boxes, err == nil
}
