package provider

import (
	"context"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

const oneGroupHCL = `
resource "sandbox_group" "team" { name = "team" }
`

// objectLife is the life of one kind of object in a group, as its HCL and as somebody
// else sees it.
type objectLife struct {
	address                   string
	first, changed, different string
	// changing is what a plan from first to changed says: in place or not.
	changing string
	// count is how many the group has, remove what somebody else does with all.
	count  func(*testing.T, *acasapi.Group) int
	remove func(*testing.T, *acasapi.Group)
	// drift is somebody else's change and shown what the plan says of it; nil where
	// the service changes nothing of it.
	drift func(*testing.T, *acasapi.Group)
	shown string
}

// each applies do to what a list gives, and counts.
func each[T any](t *testing.T, items func(func(T, error) bool), do func(T) error) int {
	t.Helper()
	n := 0
	for item, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if do != nil {
			if err := do(item); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n
}

func objectLives() map[string]objectLife {
	return map[string]objectLife{
		"disk image": {
			address: "sandbox_disk_image.tool",
			first: `resource "sandbox_disk_image" "tool" {
  group  = sandbox_group.team.id
  image  = { reference = "registry.example.com/tool:1", digest = "sha256:` + strings.Repeat("a", 64) + `", user = "1654" }
  labels = { name = "tool" }
}`,
			changed: `resource "sandbox_disk_image" "tool" {
  group  = sandbox_group.team.id
  image  = { reference = "registry.example.com/tool:1", digest = "sha256:` + strings.Repeat("a", 64) + `", user = "0" }
  labels = { name = "tool" }
}`,
			changing: "updated in-place",
			different: `resource "sandbox_disk_image" "tool" {
  group   = sandbox_group.team.id
  image   = { reference = "registry.example.com/tool:1", digest = "sha256:` + strings.Repeat("a", 64) + `", user = "0" }
  command = ["serve"]
}`,
			count: func(t *testing.T, g *acasapi.Group) int {
				t.Helper()
				return each(t, g.Images(context.Background(), nil), nil)
			},
			remove: func(t *testing.T, g *acasapi.Group) {
				t.Helper()
				each(t, g.Images(context.Background(), nil), func(i wire.Image) error { return g.DeleteImage(context.Background(), i.ID, acasapi.Wait{}) })
			},
		},
		"secret": {
			address: "sandbox_secret.api",
			first: `resource "sandbox_secret" "api" {
  group             = sandbox_group.team.id
  name              = "api-token"
  values_wo         = { token = "s3cret-one" }
  values_wo_version = "1"
}`,
			changed: `resource "sandbox_secret" "api" {
  group             = sandbox_group.team.id
  name              = "api-token"
  values_wo         = { token = "s3cret-two" }
  values_wo_version = "2"
}`,
			changing: "updated in-place",
			different: `resource "sandbox_secret" "api" {
  group  = sandbox_group.team.id
  name   = "other-token"
  values = { token = "s3cret-stored" }
}`,
			count: func(t *testing.T, g *acasapi.Group) int {
				t.Helper()
				return each(t, g.Secrets(context.Background()), nil)
			},
			remove: func(t *testing.T, g *acasapi.Group) {
				t.Helper()
				each(t, g.Secrets(context.Background()), func(s wire.Secret) error { return g.DeleteSecret(context.Background(), s.ID) })
			},
			drift: func(t *testing.T, g *acasapi.Group) {
				t.Helper()
				must[wire.Secret](t)(g.PutSecret(context.Background(), "api-token", map[string]string{"token": "x", "more": "y"}))
			},
			shown: `- "more"`,
		},
		"volume": {
			address: "sandbox_volume.work",
			first: `resource "sandbox_volume" "work" {
  group  = sandbox_group.team.id
  name   = "work"
  type   = "DataDisk"
  size   = "1Gi"
  labels = { team = "agents" }
}`,
			changed: `resource "sandbox_volume" "work" {
  group  = sandbox_group.team.id
  name   = "work"
  type   = "DataDisk"
  size   = "1Gi"
  labels = { team = "others" }
}`,
			changing: "updated in-place",
			different: `resource "sandbox_volume" "work" {
  group = sandbox_group.team.id
  name  = "work"
  type  = "AzureBlob"
}`,
			count: func(t *testing.T, g *acasapi.Group) int {
				t.Helper()
				return each(t, g.Volumes(context.Background(), nil), nil)
			},
			remove: func(t *testing.T, g *acasapi.Group) {
				t.Helper()
				each(t, g.Volumes(context.Background(), nil), func(v wire.Volume) error {
					return g.DeleteVolume(context.Background(), v.VolumeName+v.Name, acasapi.Wait{})
				})
			},
			drift: func(t *testing.T, g *acasapi.Group) {
				t.Helper()
				must[wire.Volume](t)(g.PutVolume(context.Background(), "work", wire.Volume{Type: wire.VolumeDisk, Size: "1Gi", Labels: wire.Labels{"team": "outside"}}, acasapi.Wait{}))
			},
			shown: `"outside" -> "others"`,
		},
	}
}

func TestAccObjectsOfAGroupLiveAndDie(t *testing.T) {
	t.Parallel()
	for service, start := range worlds() {
		for name, life := range objectLives() {
			t.Run(service+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := start(t)
				c := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": oneGroupHCL, "object.tf": life.first})
				c.apply(t)
				c.empty(t)
				g := w.group(t, "team")
				if n := life.count(t, g); n != 1 {
					t.Fatalf("the group has %d", n)
				}
				c.write(t, map[string]string{"object.tf": life.changed})
				out, _ := c.plan(t)
				wants(t, out, "will be "+life.changing)
				c.apply(t)
				c.empty(t)
				life.importAnew(t, c)
				if life.drift != nil {
					life.drift(t, g)
					out, code := c.plan(t)
					if code != 2 {
						t.Fatalf("exit %d\n%s", code, out)
					}
					wants(t, out, life.shown)
					c.apply(t)
					c.empty(t)
				}
				life.remove(t, g)
				c.apply(t)
				c.empty(t)
				if n := life.count(t, g); n != 1 {
					t.Errorf("deleted outside and made again, the group has %d", n)
				}
				c.write(t, map[string]string{"object.tf": life.different})
				out, _ = c.plan(t)
				wants(t, out, "must be replaced")
				c.apply(t)
				c.empty(t)
				if n := life.count(t, g); n != 1 {
					t.Errorf("replaced, the group has %d", n)
				}
				c.write(t, map[string]string{"object.tf": ""})
				c.apply(t)
				if n := life.count(t, g); n != 0 {
					t.Errorf("deleted, the group has %d", n)
				}
			})
		}
	}
}

// importAnew forgets the object, is told that it exists, and imports it by the block
// that the error shows.
func (l objectLife) importAnew(t *testing.T, c *cli) {
	t.Helper()
	if out, code := c.run(t, "state", "rm", l.address); code != 0 {
		t.Fatal(out)
	}
	out := c.refused(t, "exists already and is not in this Terraform state", "remote.already_exists at")
	_, rest, _ := strings.Cut(out, `id = "`)
	id, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("no id to import in\n%s", out)
	}
	c.write(t, map[string]string{"import.tf": "import {\n  to = " + l.address + "\n  id = \"" + id + "\"\n}\n"})
	out, _ = c.plan(t)
	wants(t, out, "1 to import, 0 to add", "0 to destroy")
	c.apply(t)
	c.write(t, map[string]string{"import.tf": ""})
	c.empty(t)
}

func TestAccSecretsStandInNoStateAndNoPlan(t *testing.T) {
	t.Parallel()
	w := embeddedWorld(t)
	c := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": oneGroupHCL, "object.tf": `
variable "token" {
  type      = string
  ephemeral = true
}
resource "sandbox_secret" "api" {
  group             = sandbox_group.team.id
  name              = "api-token"
  values_wo         = { token = var.token }
  values_wo_version = "1"
}`})
	const given = "-var=token=s3cret-one"
	if out, code := c.run(t, "plan", "-no-color", "-input=false", "-out=plan", given); code != 0 {
		t.Fatal(out)
	}
	plan, _ := c.run(t, "show", "-json", "plan")
	c.apply(t, given)
	state, _ := c.run(t, "state", "pull")
	for name, text := range map[string]string{"plan": plan, "state": state} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("the %s holds the secret", name)
		}
	}
	values, err := w.group(t, "team").PeekSecret(t.Context(), "api-token")
	if err != nil || values["token"] != "s3cret-one" {
		t.Errorf("the service has %v, %v", values, err)
	}
}
