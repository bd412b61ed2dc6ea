package provider

import (
	"regexp"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

const groupedHCL = `
resource "sandbox_group" "team" { name = "team" }
resource "sandbox_manifest" "all" {
  group  = sandbox_group.team
  policy = { name = "p", minimum_isolation = "none" }
  workloads = {
    app = { kind = "app", backend = "acas", requires = ["exec"], image = { prebuilt = "ubuntu" }, egress_mode = "closed" }
  }
}
output "document" { value = sandbox_manifest.all.document }
output "digest" { value = sandbox_manifest.all.digest }
`

var plannedDigest = regexp.MustCompile(`\+ digest += "(sha256:[0-9a-f]{64})"`)

// The digest goes into the hosts' configuration before anything is made, and what a
// host opens by it runs in the group.
func TestAccTheFirstPlanPrintsTheDigestOfAManifestWithItsGroup(t *testing.T) {
	t.Parallel()
	for name, start := range worlds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			c := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": groupedHCL})
			out, code := c.plan(t)
			planned := plannedDigest.FindStringSubmatch(out)
			if code != 2 || planned == nil {
				t.Fatalf("exit %d\n%s", code, out)
			}
			c.apply(t)
			c.empty(t)
			raw, code := c.run(t, "output", "-raw", "document")
			if code != 0 {
				t.Fatal(raw)
			}
			document := []byte(raw)
			m, err := manifest.Parse(document)
			if err != nil || string(manifest.DigestOf(document)) != planned[1] || m.Group == nil || m.Group.ID != w.groupID("team").String() {
				t.Fatalf("planned %s: %v %s", planned[1], err, document)
			}
			id := w.groupID("team")
			b, err := acas.New(acas.Config{
				Subscription: id.Subscription, ResourceGroup: id.ResourceGroup, Group: id.Name, Location: m.Group.Location,
				Endpoint: m.Group.Endpoint, Credential: auth.Emulator{},
			})
			if err != nil {
				t.Fatal(err)
			}
			opened, err := router.Open(t.Context(), router.Options{
				Manifest: document, Accept: []manifest.Digest{manifest.Digest(planned[1])}, Owner: "o", Backends: []router.Backend{b},
			})
			if err != nil {
				t.Fatal(err)
			}
			if opened.Manifest().Group.Endpoint != m.Group.Endpoint {
				t.Error("another endpoint")
			}
		})
	}
}
