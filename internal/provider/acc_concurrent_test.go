package provider

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Two people apply different configurations at once, and the embedded service's file
// is one: both finish, and neither loses anything.
func TestAccTwoAppliesAtOnceShareAStateFile(t *testing.T) {
	t.Parallel()
	const groups = 20
	w := embeddedWorld(t)
	var applies sync.WaitGroup
	var commands []*cli
	for _, who := range []string{"first", "second"} {
		hcl := fmt.Sprintf(`
resource "sandbox_group" "team" {
  count = %d
  name  = "%s-${count.index}"
}
resource "sandbox_disk_image" "tool" {
  count = %d
  group = sandbox_group.team[count.index].id
  image = { reference = "registry.example.com/tool:1" }
}
`, groups, who, groups)
		p := offline()
		p.clock = newQuickClock()
		tf := newCLI(t, p, map[string]string{"provider.tf": w.block, "main.tf": hcl})
		commands = append(commands, tf)
		applies.Go(func() {
			out, code := tf.run(t, "apply", "-auto-approve", "-no-color", "-input=false")
			if code != 0 || !strings.Contains(out, fmt.Sprintf("%d added", 2*groups)) {
				t.Errorf("%s: exit %d\n%s", who, code, out)
			}
		})
	}
	applies.Wait()
	for _, tf := range commands {
		tf.empty(t)
	}
	if n := each(t, w.outside.ListGroups(context.Background(), w.subscription, w.resourceGroup), nil); n != 2*groups {
		t.Errorf("there are %d groups", n)
	}
	for _, who := range []string{"first", "second"} {
		for i := range groups {
			if n := each(t, w.group(t, fmt.Sprintf("%s-%d", who, i)).Images(context.Background(), nil), nil); n != 1 {
				t.Errorf("%s-%d has %d images", who, i, n)
			}
		}
	}
}
