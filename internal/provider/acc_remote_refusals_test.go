package provider

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

const toolHCL = oneGroupHCL + `
resource "sandbox_disk_image" "tool" {
  group = sandbox_group.team.id
  image = { reference = "registry.example.com/tool:1" }
  timeouts { create = "5m" }
}
`

// A 404 is not always the object's.
func TestAccWhatMerelyCannotBeFoundStaysInTheState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault string
		words []string
	}{
		"a subscription that cannot be seen": {"status=404,op=group.get", []string{"service.not_found"}},
		"an image that its own list has":     {"status=404,op=image.get", []string{"service.not_found"}},
		"a data plane without the group":     {"status=404,op=image.get;status=404,op=image.list", []string{"see whether the group still has it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := servedWorld(t)
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": toolHCL})
			tf.apply(t)
			for fault := range strings.SplitSeq(c.fault, ";") {
				w.misbehave(fault)
			}
			tf.refused(t, c.words...)
			if out, _ := tf.run(t, "state", "list"); !strings.Contains(out, "sandbox_group.team") || !strings.Contains(out, "sandbox_disk_image.tool") {
				t.Errorf("the state lost something:\n%s", out)
			}
			w.calm()
			tf.empty(t)
		})
	}
}

func TestAccGroupDeletedOutsideTakesWhatItHeld(t *testing.T) {
	t.Parallel()
	for service, start := range worlds() {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": toolHCL})
			tf.apply(t)
			if err := w.outside.DeleteGroup(t.Context(), w.groupID("team"), acasapi.Wait{}); err != nil {
				t.Fatal(err)
			}
			out, code := tf.plan(t)
			if code != 2 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			wants(t, out, "2 to add, 0 to change, 0 to destroy")
			tf.apply(t)
			tf.empty(t)
		})
	}
}

// Replacing an image never leaves, or makes, a second one of its reference.
func TestAccReplacementThatWouldMakeASecondImageIsRefused(t *testing.T) {
	t.Parallel()
	for service, start := range worlds() {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": toolHCL})
			tf.apply(t)
			changed := strings.Replace(toolHCL, "timeouts {", "command = [\"serve\"]\n  lifecycle { create_before_destroy = true }\n  timeouts {", 1)
			tf.write(t, map[string]string{"main.tf": changed})
			tf.refused(t, "A disk image of", "exists already", "remove create_before_destroy", "remote.already_exists at image")
			tf.write(t, map[string]string{"main.tf": strings.Replace(changed, "lifecycle { create_before_destroy = true }", "", 1)})
			tf.apply(t)
			tf.empty(t)
			if n := each(t, w.group(t, "team").Images(context.Background(), nil), nil); n != 1 {
				t.Errorf("the group has %d images", n)
			}
		})
	}
}

func TestAccObjectsNeedAHome(t *testing.T) {
	t.Parallel()
	tf := newCLI(t, offline(), map[string]string{"main.tf": oneGroupHCL})
	out, code := tf.plan(t)
	if code != 1 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	wants(t, out, "Provider does not say where objects live", `acas { resource_group = "…" }`, `embedded {}`, "remote.no_block")
	tf.write(t, map[string]string{"provider.tf": "provider \"sandbox\" {\n  embedded { path = \"s.db\" }\n}\n"})
	if out, code := tf.plan(t); code != 2 {
		t.Errorf("with a home: exit %d\n%s", code, out)
	}
}

// A state file that is gone is one error, not a plan to make everything anew.
func TestAccLostStateFileIsOneErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.db")
	block := "provider \"sandbox\" {\n  embedded { path = \"" + filepath.ToSlash(file) + "\" }\n}\n"
	tf := newCLI(t, offline(), map[string]string{"provider.tf": block, "main.tf": strings.ReplaceAll(toolHCL, "registry.example.com/tool:1", "registry.example.com/tool:2")})
	tf.apply(t)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	tf.serve(t, offline())
	out, code := tf.plan(t)
	if code != 1 || strings.Count(out, "Error:") != 1 {
		t.Errorf("exit %d\n%s", code, out)
	}
	wants(t, out, "State file of the embedded service is missing", "state.db", "terraform state rm", "remote.state_file_missing")
}

// A provider whose settings another object makes is planned with, and applied after
// it.
func TestAccProviderThatIsNotKnownYetSurvivesThePlan(t *testing.T) {
	t.Parallel()
	w := servedWorld(t)
	block := strings.Replace(w.block, `"`+w.resourceGroup+`"`, "terraform_data.place.output", 1)
	tf := newCLI(t, w.provider, map[string]string{"provider.tf": block + "\nresource \"terraform_data\" \"place\" { input = \"" + w.resourceGroup + "\" }\n", "main.tf": toolHCL})
	if out, code := tf.plan(t); code != 2 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	tf.apply(t)
	tf.empty(t)
	if _, err := w.outside.GetGroup(t.Context(), w.groupID("team")); err != nil {
		t.Error(err)
	}
}

func TestAccDataShowsWhatExists(t *testing.T) {
	t.Parallel()
	for service, start := range worlds() {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": oneGroupHCL})
			tf.apply(t)
			g := w.group(t, "team")
			_, err := g.CreateSandbox(t.Context(), wire.CreateSandbox{
				SourcesRef: &wire.SourcesRef{DiskImage: &wire.ImageRef{Name: "ubuntu", IsPublic: true}}, Labels: wire.Labels{"who": "else"}, Resources: &wire.Resources{CPU: "1000m", Memory: "2048Mi", Disk: "20480Mi"},
			}, acasapi.Making{})
			if err != nil {
				t.Fatal(err)
			}
			tf.write(t, map[string]string{"data.tf": `
data "sandbox_group" "team" { name = "team" }
data "sandbox_sandboxes" "all" { group = data.sandbox_group.team.id }
data "sandbox_sandboxes" "none" {
  group  = data.sandbox_group.team.id
  labels = { who = "nobody" }
}
resource "sandbox_snapshot" "copy" {
  group      = sandbox_group.team.id
  sandbox_id = data.sandbox_sandboxes.all.sandboxes[0].id
}
output "egress" { value = data.sandbox_sandboxes.all.sandboxes[0].egress_default }
output "reach" { value = data.sandbox_sandboxes.all.sandboxes[0].egress }
output "none" { value = length(data.sandbox_sandboxes.none.sandboxes) }
`})
			out := tf.apply(t)
			wants(t, out, `egress = "Allow"`, `reach = "unrestricted"`, "none = 0")
			tf.empty(t)
			objectLife{address: "sandbox_snapshot.copy"}.reimport(t, tf)
			for s, err := range g.Snapshots(context.Background(), nil) {
				if err == nil {
					err = g.DeleteSnapshot(context.Background(), s.ID, acasapi.Wait{})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			tf.apply(t)
			tf.empty(t)
			if n := each(t, g.Snapshots(context.Background(), nil), nil); n != 1 {
				t.Errorf("the group has %d snapshots", n)
			}
		})
	}
}

// reimport imports what the state had by its own id.
func (l objectLife) reimport(t *testing.T, c *cli) {
	t.Helper()
	out, _ := c.run(t, "state", "show", "-no-color", l.address)
	_, rest, _ := strings.Cut(squeeze(out), ` id = "`)
	id, _, _ := strings.Cut(rest, `"`)
	if out, code := c.run(t, "state", "rm", l.address); code != 0 {
		t.Fatal(out)
	}
	if out, code := c.run(t, "import", "-no-color", "-input=false", l.address, id); code != 0 {
		t.Fatalf("import %s: %s", id, out)
	}
	c.empty(t)
}

func TestAccNetworkConnectionLivesAndDies(t *testing.T) {
	t.Parallel()
	for service, start := range worlds() {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			hcl := oneGroupHCL + `
resource "sandbox_vnet_connection" "internal" {
  group     = sandbox_group.team.id
  name      = "internal"
  subnet_id = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/n/subnets/a"
}`
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": hcl})
			tf.apply(t)
			tf.empty(t)
			objectLife{address: "sandbox_vnet_connection.internal"}.reimport(t, tf)
			tf.write(t, map[string]string{"main.tf": strings.Replace(hcl, "subnets/a", "subnets/b", 1)})
			out, _ := tf.plan(t)
			wants(t, out, "must be replaced")
			tf.apply(t)
			tf.empty(t)
			if err := w.outside.DeleteVNetConnection(t.Context(), w.groupID("team"), "internal", acasapi.Wait{}); err != nil {
				t.Fatal(err)
			}
			tf.apply(t)
			tf.empty(t)
		})
	}
}
