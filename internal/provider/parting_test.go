package provider

import (
	"strings"
	"testing"
)

const holdingHCL = "resource \"sandbox_group\" \"team\" {\n  name = \"team\"\n}\n"

// What a plan cannot show is said once, and not of a group that stays.
func TestAccAPlanWarnsOfAllThatGoesWithAGroup(t *testing.T) {
	t.Parallel()
	w := servedWorld(t)
	tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": holdingHCL})
	tf.apply(t)
	for name, c := range map[string]struct {
		hcl  string
		args []string
		want int
	}{
		"as it is":       {holdingHCL, nil, 0},
		"other tags":     {strings.Replace(holdingHCL, "}", "  tags = { a = \"b\" }\n}", 1), nil, 0},
		"another name":   {strings.Replace(holdingHCL, "\"team\"\n", "\"other\"\n", 1), nil, 1},
		"another region": {strings.Replace(holdingHCL, "}", "  location = \"westeurope\"\n}", 1), nil, 1},
		"destroyed":      {holdingHCL, []string{"-destroy"}, 1},
		"taken out":      {"", nil, 1},
	} {
		tf.write(t, map[string]string{"main.tf": c.hcl})
		out, code := tf.run(t, append([]string{"plan", "-no-color"}, c.args...)...)
		if got := strings.Count(out, "Warning: All in it goes too (group team)"); code != 0 || got != c.want || strings.Count(out, "Warning: ") != c.want {
			t.Errorf("%s: exit %d, %d warnings, want %d\n%s", name, code, got, c.want, out)
		}
	}
}
