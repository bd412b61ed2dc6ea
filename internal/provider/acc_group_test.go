package provider

import (
	"context"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

const teamHCL = `
resource "sandbox_group" "team" {
  name = "team"
  tags = { team = "agents" }
}
output "id" { value = sandbox_group.team.id }
output "endpoint" { value = sandbox_group.team.endpoint }
`

func TestAccGroupLivesAndDies(t *testing.T) {
	t.Parallel()
	for name, start := range worlds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			id := w.groupID("team")
			c := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": teamHCL})

			out, code := c.plan(t)
			if code != 2 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			// What follows from the configuration is known before anything exists.
			wants(t, out, `+ id = "`+id.String()+`"`)
			c.apply(t)
			c.empty(t)

			// In place: a tag, and an identity, which warns.
			c.write(t, map[string]string{"main.tf": `resource "sandbox_group" "team" {
  name = "team"
  tags = { team = "agents", cost = "42" }
  identity { type = "SystemAssigned" }
}`})
			out, code = c.plan(t)
			if code != 2 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			wants(t, out, "will be updated in-place", "programs in every sandbox of the group can get tokens", "identity.attached_not_permitted at identity")
			c.apply(t)
			c.empty(t)
			if doc := must[wire.Group](t)(w.outside.GetGroup(t.Context(), id)); doc.Tags["cost"] != "42" || doc.Identity == nil || doc.Identity.Type != wire.IdentitySystem {
				t.Errorf("the service has %+v", doc)
			}

			// Import leaves nothing to do.
			if out, code := c.run(t, "state", "rm", "sandbox_group.team"); code != 0 {
				t.Fatal(out)
			}
			if out, code := c.run(t, "import", "-no-color", "-input=false", "sandbox_group.team", id.String()); code != 0 {
				t.Fatal(out)
			}
			c.empty(t)

			// Somebody else's change shows, and goes.
			must[wire.Group](t)(w.outside.PatchGroup(t.Context(), id, wire.GroupPatchBody{Tags: map[string]string{"team": "others"}}, acasapi.Wait{}))
			out, code = c.plan(t)
			if code != 2 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			wants(t, out, `~ "team" = "others" -> "agents"`)
			c.apply(t)
			c.empty(t)

			// Deleted by somebody else, it is made again.
			if err := w.outside.DeleteGroup(t.Context(), id, acasapi.Wait{}); err != nil {
				t.Fatal(err)
			}
			c.apply(t)
			c.empty(t)

			// Another name is another group.
			c.write(t, map[string]string{"main.tf": `resource "sandbox_group" "team" { name = "other" }`})
			out = c.apply(t)
			wants(t, out, "must be replaced")
			c.empty(t)
			if _, err := w.outside.GetGroup(t.Context(), id); err == nil {
				t.Error("the group of the old name is still there")
			}
			if out, code := c.run(t, "destroy", "-auto-approve", "-no-color", "-input=false"); code != 0 {
				t.Fatal(out)
			}
			for doc, err := range w.outside.ListGroups(context.Background(), w.subscription, "") {
				t.Errorf("left: %v %v", doc.ID, err)
			}
		})
	}
}
