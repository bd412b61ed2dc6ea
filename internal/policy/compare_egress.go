package policy

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// egressBound compares what two policies permit to be reached. A policy without
// a mode is closed when it holds alone, and leaves the bound to a policy beside
// it otherwise.
func (d *differences) egressBound(before, after *compiledEgress) {
	switch {
	case d.modeOpen():
	case before.mode == after.mode || (before.mode != sandbox.EgressUnspecified && after.mode != sandbox.EgressUnspecified):
		d.reach(before, after)
	case after.mode == sandbox.EgressUnspecified:
		// Alone it reaches nothing, beside another policy whatever that one permits.
		d.mode(before, after, moved(before.mode != sandbox.EgressUnrestricted, before.mode != sandbox.EgressClosed), "")
	default:
		d.mode(before, after, moved(after.mode != sandbox.EgressClosed, after.mode != sandbox.EgressUnrestricted), after.example())
	}
}

// egressAsk compares what two workloads reach; without a mode that is nothing.
func (d *differences) egressAsk(before, after *compiledEgress) {
	if !d.modeOpen() {
		d.reach(before, after)
	}
}

func (d *differences) modeOpen() bool {
	if d.known.Has(at(axisEgressMode)) {
		return false
	}
	d.undecided = append(d.undecided, at(axisEgressMode))
	return true
}

func (d *differences) mode(before, after *compiledEgress, change Change, witness string) {
	d.add(axisEgressMode, change,
		stance(before.mode, sandbox.EgressClosed), stance(after.mode, sandbox.EgressClosed), witness)
}

// reach compares two sides whose modes are known and stated.
func (d *differences) reach(before, after *compiledEgress) {
	d.undecided = append(d.undecided, after.openPaths...)
	if before.mode != after.mode {
		witness := ""
		if after.mode > before.mode {
			witness = after.example()
		}
		d.mode(before, after, moved(after.mode > before.mode, after.mode < before.mode), witness)
		return
	}
	if after.mode != sandbox.EgressAllowlist {
		return
	}
	c := AxisChange{Axis: axisEgress, Path: at("egress_hosts")}
	widened := false
	for i, gained := range after.set.Beyond(before.set) {
		widened, c.Witness, c.Path = true, gained.String(), after.paths[i]
		break
	}
	_, contains := before.set.Within(after.set)
	// What is not known yet may still cover what seems lost.
	if c.Change = moved(widened, !contains && !after.open); c.Change == Equal {
		return
	}
	c.Before, c.After = listRules(before.rules), listRules(after.rules)
	d.changes = append(d.changes, c)
}

// example is one destination that the rules reach, "any destination" where there
// are none to bound it, empty where nothing is reached.
func (c *compiledEgress) example() string {
	if c.mode == sandbox.EgressUnrestricted {
		return "any destination"
	}
	if w, nothing := c.set.Within(nil); !nothing {
		return w.String()
	}
	return ""
}

// never compares what is asserted never to be reached: asserting less widens.
func (d *differences) never(before, after *egress.Set) {
	if d.open("never_reaches") {
		return
	}
	lost, kept := before.Within(after)
	_, same := after.Within(before)
	witness := ""
	if !kept {
		witness = lost.String() + " no longer ruled out"
	}
	if change := moved(!kept, !same); change != Equal {
		d.add("never_reaches", change, listRules(before.Rules()), listRules(after.Rules()), witness)
	}
}
