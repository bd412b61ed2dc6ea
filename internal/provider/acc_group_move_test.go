package provider

import (
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// A group that moves keeps its id, and takes with it what lies in it. The plan says
// so of everything that Terraform manages there, and one apply makes it anew.
func TestAccAGroupThatMovesReplacesWhatLiesInIt(t *testing.T) {
	t.Parallel()
	moved := strings.Replace(volumeAndSecretHCL, `name = "team"`, "name = \"team\"\n  location = \"westeurope\"", 1)
	for name, c := range map[string]struct {
		hcl  string
		args []string
	}{
		"another region": {hcl: moved},
		"on request":     {hcl: volumeAndSecretHCL, args: []string{"-replace=sandbox_group.team"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := servedWorld(t)
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": volumeAndSecretHCL})
			tf.apply(t)
			tf.write(t, map[string]string{"main.tf": c.hcl})
			out := tf.apply(t, c.args...)
			wants(t, out, "-/+ resource \"sandbox_group\" \"team\"", "sandbox_volume.work must be replaced", "sandbox_secret.api must be replaced",
				"3 added, 0 changed, 3 destroyed")
			tf.empty(t)
			if v := must[wire.Volume](t)(w.group(t, "team").Volume(t.Context(), "work")); v.Labels["name"] != "work" {
				t.Errorf("the volume has the labels %v", v.Labels)
			}
		})
	}
}

// One step away, what changes in place replaces nothing, and a group of another name
// is known by its id at once.
func TestAccOnlyAGroupInTheSamePlaceHasAnUnknownID(t *testing.T) {
	t.Parallel()
	w := servedWorld(t)
	tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": volumeAndSecretHCL})
	tf.apply(t)
	tf.write(t, map[string]string{"main.tf": strings.Replace(volumeAndSecretHCL, `name = "team"`, "name = \"team\"\n  tags = { a = \"b\" }", 1)})
	out, _ := tf.plan(t)
	wants(t, out, "0 to add, 1 to change, 0 to destroy")
	tf.write(t, map[string]string{"main.tf": strings.Replace(volumeAndSecretHCL, `name = "team"`, `name = "other"`, 1)})
	out, _ = tf.plan(t)
	wants(t, out, "3 to add, 0 to change, 3 to destroy", w.groupID("other").String())
}
