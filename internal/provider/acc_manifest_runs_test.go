package provider

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// acquire makes a sandbox of a workload of the manifest that an apply printed, in the
// group that it made. The floors of the manifest are for the service itself, so the
// backend is asked without a router.
func (w *world) acquire(t *testing.T, c *cli, workload string) (image string) {
	t.Helper()
	document, code := c.run(t, "output", "-raw", "manifest")
	if code != 0 {
		t.Fatal(document)
	}
	m := must[manifest.Manifest](t)(manifest.Parse([]byte(document)))
	guests := memguests.New(memguests.Options{Exec: func(context.Context, *memguests.View, engine.ExecRequest) (int, error) { return 1, nil }})
	service := must[*acasemu.Emulator](t)(acasemu.New(acasemu.Config{State: w.file, Pace: &acasemu.Pace{}, Guests: guests}))
	id := w.groupID("agents")
	b := must[*backend.Backend](t)(acas.New(acas.Config{
		Subscription: id.Subscription, ResourceGroup: id.ResourceGroup, Group: id.Name, Endpoint: embeddedEndpoint,
		Transport: service.Transport(), Credential: auth.Emulator{},
	}))
	defer b.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // it holds nothing
	digest := string(manifest.DigestOf([]byte(document)))
	_, err := b.Acquire(t.Context(), sandbox.AcquireRequest{
		Owner: "o", Key: sandbox.Key{Scope: "s", Thread: "t", Agent: "a"}, Spec: m.Workloads[workload], SpecDigest: digest, PolicyDigest: digest,
	})
	if err != nil {
		t.Errorf("%s: %v", workload, err)
	}
	return m.Workloads[workload].Image.Reference
}

// A workload takes its image from the resource that makes it, or from what that was
// made of, and asks for what is there.
func TestAccAWorkloadRunsInTheDiskImageThatTheApplyMade(t *testing.T) {
	t.Parallel()
	registry := newImageWorld(t)
	registry.push(t, "agents/tool:1.4", [2]string{"linux/amd64", "1654"}, [2]string{"linux/arm64", "0"})
	address := []string{
		`registries = { "registry.example.com" = {} }`, `registries = { "` + registry.host + `" = { private_addresses = true } }`,
		"registry.example.com", registry.host,
	}
	for name, c := range map[string]struct {
		folder string
		edits  []string
		want   string // what is in the manifest
	}{
		"the team's":               {"azure-team", nil, "/agents/tool@sha256:"},
		"the pipeline's":           {"image-pipeline", address, "/agents/tool@sha256:"},
		"as the registry tells it": {"image-pipeline", append(address, "= sandbox_disk_image.tool", "= data.sandbox_image.tool"), "/agents/tool"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := embeddedWorld(t)
			edits := append(slices.Clone(c.edits), "  embedded {}\n", w.inner(), `output "user" {`, "output \"manifest\" {\n  value = sandbox_manifest.hosts.document\n}\n\noutput \"user\" {")
			tf := newCLI(t, registry.trusted(w.provider), exampleFiles(t, c.folder, edits...))
			tf.apply(t)
			if got := w.acquire(t, tf, "tool"); !strings.Contains(got, c.want) {
				t.Errorf("the manifest names %s", got)
			}
		})
	}
}
