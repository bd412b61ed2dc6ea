package explain

import (
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// reach adds to a change of egress all destinations that came and went.
func (s *Subject) reach(c policy.Comparison) {
	i := slices.IndexFunc(s.Changes, func(a Axis) bool { return a.Axis == axisEgress || a.Axis == axisEgressMode })
	if i < 0 {
		return
	}
	gained, lost, told := c.Destinations()
	if !told {
		return // the witness stands
	}
	a := &s.Changes[i]
	a.NowReaches, a.NoLongerReaches = boxTexts(gained), boxTexts(lost)
	if len(gained)+len(lost) > 0 && a.Axis == axisEgress {
		a.text = a.Axis // the lists say the rest
	}
	if len(gained)+len(lost) > 0 && a.Axis == axisEgressMode {
		a.text = a.Axis + ": " + a.Before + " before, " + a.After + " now"
	}
}

const (
	axisEgress     = "egress"
	axisEgressMode = "egress_mode"
)

func boxTexts(boxes []egress.Box) []string {
	texts := make([]string, len(boxes))
	for i, b := range boxes {
		texts[i] = b.String()
	}
	return texts
}
