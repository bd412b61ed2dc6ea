package provider

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	sandboxctl "github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// sandboxctl runs the command against the world, on the clock of everybody there, and
// gives what it prints on standard output.
func (w *world) sandboxctl(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := sandboxctl.Main(t.Context(), sandboxctl.Env{
		Stdout: &out, Stderr: &errs,
		Service: func(cfg acasapi.Config) (*acasapi.Client, error) {
			cfg.Clock = w.provider.clock
			return acasapi.New(cfg)
		},
	}, args)
	if code != sandboxctl.ExitAllowed {
		t.Fatalf("sandboxctl %q: exit code %d\n%s%s", args, code, out.String(), errs.String())
	}
	return out.String()
}

// importGroup writes the HCL of a group.
func (w *world) importGroup(t *testing.T, name string, more ...string) string {
	t.Helper()
	pem, err := w.provider.readFile("ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := w.acas["endpoint"].(string)
	return w.sandboxctl(t, append([]string{
		"import", "--from-group", w.groupID(name).String(), "--location", w.location,
		"--emulator", "--endpoint-data", url, "--ca-file", ca,
	}, more...)...)
}

// teeming makes a group in which there is one of everything, by somebody else, with
// names that mean something to HCL.
func teeming(t *testing.T, w *world) *acasapi.Group {
	t.Helper()
	ctx := t.Context()
	id := w.groupID("Team-1")
	must[wire.Group](t)(w.outside.PutGroup(ctx, id, wire.Group{
		Location: w.location, Tags: map[string]string{"for": "${agents}", "team\"s": "a\nb"},
		Identity: &wire.GroupIdentity{Type: wire.IdentitySystem}, Properties: wire.GroupProperties{DefaultCPU: "0.5"},
	}, acasapi.Wait{}))
	g := w.group(t, id.Name)
	image := func(base string, labels wire.Labels, entrypoint ...string) {
		must[wire.Image](t)(g.CreateImage(ctx, wire.CreateImage{Image: &wire.ImageSource{Base: base, Entrypoint: entrypoint}, Labels: labels}, acasapi.Making{}))
	}
	image("registry.example.com/tool:1", wire.Labels{"name": "tool", "for": "%{if}"}, "/bin/tool", "--flag=${x}")
	image("registry.example.com/tool:2@sha256:"+strings.Repeat("a", 64), wire.Labels{"name": "tool"})
	image("registry.example.com/a/plain", nil)
	image("unqualified:1", wire.Labels{"name": "unqualified"})
	w.asAnother(t, http.MethodPut, g, "/diskimages", `{"image":{"base":"registry.example.com/odd:1"},"labels":{"name":"two words"}}`)
	w.asAnother(t, http.MethodPut, g, "/volumes/odd", `{"type":"AzureBlob","labels":{"a,b":"two words"}}`)
	for name, v := range map[string]wire.Volume{
		"work": {Type: wire.VolumeDisk, Size: "1Gi", Labels: wire.Labels{"team": "agents"}},
		"Work": {Type: wire.VolumeBlob},
		"own":  {Type: wire.VolumeBlobByo, StorageContainerResourceID: "/subscriptions/s/resourceGroups/r/providers/Microsoft.Storage/storageAccounts/a/blobServices/default/containers/c"},
	} {
		must[wire.Volume](t)(g.PutVolume(ctx, name, v, acasapi.Wait{}))
	}
	must[wire.Secret](t)(g.PutSecret(ctx, "api-token", map[string]string{"token": "s3cret-one", "for": "s3cret-two", "${x}\"": "s3cret-three"}))
	must[wire.VNetConnection](t)(w.outside.PutVNetConnection(ctx, id, "internal", wire.VNetConnection{Properties: wire.VNetProperties{
		SubnetID: "/subscriptions/s/resourceGroups/r/providers/Microsoft.Network/virtualNetworks/n/subnets/a",
	}}, acasapi.Wait{}))
	source := must[wire.Sandbox](t)(g.CreateSandbox(ctx, wire.CreateSandbox{
		SourcesRef: &wire.SourcesRef{DiskImage: &wire.ImageRef{Name: "ubuntu", IsPublic: true}}, Resources: &wire.Resources{CPU: "1000m", Memory: "2048Mi", Disk: "20480Mi"},
	}, acasapi.Making{}))
	running := must[*acasapi.Sandbox](t)(g.Sandbox(source.ID))
	must[wire.NamedEgressPolicy](t)(w.newer(t, g).PutEgressPolicy(ctx, "base", wire.EgressPolicy{
		DefaultAction: wire.EgressDeny, TrafficInspection: wire.InspectFull, HostRules: []wire.HostRule{{Pattern: "files.example.com", Action: wire.EgressAllow}},
	}))
	must[wire.Document](t)(w.newer(t, g).PutCredential(ctx, "registry", wire.Document{"password": []byte(`"s3cret-four"`)}))
	must[wire.Document](t)(w.newer(t, g).CreateConnection(ctx, wire.Document{"token": []byte(`"s3cret-five"`)}))
	must[wire.Snapshot](t)(running.CreateSnapshot(ctx, wire.Labels{"name": "before"}, acasapi.Making{}))
	return g
}

// asAnother sends a request that our own client would not: other clients check less.
func (w *world) asAnother(t *testing.T, method string, g *acasapi.Group, path, body string) {
	t.Helper()
	id := g.ID()
	token, err := auth.Emulator{}.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://dynamicsessions.io/.default"}})
	if err != nil {
		t.Fatal(err)
	}
	url := embeddedEndpoint + "/subscriptions/" + id.Subscription + "/resourceGroups/" + id.ResourceGroup + "/sandboxGroups/" + id.Name + path + "?api-version=" + string(wire.V0201)
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := w.emulator.Transport().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		answer, _ := io.ReadAll(response.Body) // what came of it is told
		t.Fatalf("%s answered %d %s", path, response.StatusCode, answer)
	}
}

// newer is a group in the service's newer version.
func (w *world) newer(t *testing.T, g *acasapi.Group) *acasapi.Group {
	t.Helper()
	c := client(t, acasapi.Config{
		ARMEndpoint: embeddedEndpoint, DataEndpoint: embeddedEndpoint, ExactEndpoints: []string{embeddedEndpoint},
		Transport: w.emulator.Transport(), Credential: auth.Emulator{}, Clock: w.provider.clock, DataVersion: wire.V0901,
	})
	return must[*acasapi.Group](t)(c.Group(g.ID()))
}

// secretValues answer the variables that an import asks for, with what nobody must
// send.
const secretValues = `{"token":"x","for":"x","${x}\"":"x"}`

func TestAccAGroupWithEverythingIsImportedWithoutAChange(t *testing.T) {
	t.Parallel()
	w := servedWorld(t)
	g := teeming(t, w)
	hcl := w.importGroup(t, "Team-1")
	if again := w.importGroup(t, "Team-1"); again != hcl {
		t.Errorf("a second import gives other bytes:\n%s", again)
	}
	if strings.Contains(hcl, "s3cret") {
		t.Errorf("a secret's value stands in\n%s", hcl)
	}
	wants(t, hcl, "unqualified:1", "egress unrestricted", "base egress allowlist (1)", `# host = "files.example.com"`,
		"credential: this provider neither makes nor changes them # registry", "# connection:", "# setting of the group:", "defaultCpu 0.5")

	c := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "group.tf": hcl, "values.auto.tfvars.json": `{"api_token_values":` + secretValues + `}`})
	if out, code := c.run(t, "fmt", "-check", "-diff", "group.tf"); code != 0 {
		t.Errorf("it is not formatted:\n%s", out)
	}
	out, code := c.plan(t)
	wants(t, out, "Plan: 12 to import, 0 to add, 0 to change, 0 to destroy.")
	if code != 2 {
		t.Fatalf("exit %d\n%s\n%s", code, out, hcl)
	}
	c.apply(t)
	c.empty(t)
	if values := must[map[string]string](t)(g.PeekSecret(t.Context(), "api-token")); values["token"] != "s3cret-one" {
		t.Errorf("the secret is now %v", values)
	}
	if n := each(t, g.Images(context.Background(), nil), nil); n != 5 {
		t.Errorf("the group has %d images", n)
	}

	// Without its line the values are sent.
	c.write(t, map[string]string{"group.tf": strings.Replace(hcl, "ignore_changes = [values_wo_version]", "", 1)})
	out, _ = c.plan(t)
	wants(t, out, "0 to add, 1 to change, 0 to destroy")
	c.apply(t)
	c.empty(t)
	if values := must[map[string]string](t)(g.PeekSecret(t.Context(), "api-token")); values["token"] != "x" {
		t.Errorf("the secret is now %v", values)
	}
}

// What this provider made carries marks of its own, which are nobody's configuration.
func TestAccAGroupThatThisProviderMadeIsImportedWithoutAChange(t *testing.T) {
	t.Parallel()
	w := servedWorld(t)
	made := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": strings.Replace(volumeAndSecretHCL, `name = "team"`, "name = \"team\"\n  tags = { of = \"agents\" }", 1) + `
resource "sandbox_disk_image" "tool" {
  group  = sandbox_group.team.id
  image  = { reference = "registry.example.com/tool:1", digest = "sha256:` + strings.Repeat("a", 64) + `" }
  labels = { name = "tool" }
}
`})
	made.apply(t)
	hcl := w.importGroup(t, "team")
	if strings.Contains(hcl, sandbox.ReservedLabelPrefix) {
		t.Errorf("a mark stands in\n%s", hcl)
	}
	wants(t, hcl, `"of" = "agents"`)
	c := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "group.tf": hcl, "values.auto.tfvars.json": `{"api_token_values":{"token":"x"}}`})
	out, _ := c.plan(t)
	wants(t, out, "Plan: 4 to import, 0 to add, 0 to change, 0 to destroy.")
	c.apply(t)
	c.empty(t)
	made.empty(t)
}

// blockIn is the import block that an error shows, with the address put in.
func blockIn(t *testing.T, out, address string) string {
	t.Helper()
	plain := strings.ReplaceAll(out, "│", "")
	kind, _, _ := strings.Cut(address, ".")
	_, rest, found := strings.Cut(plain, "import {")
	body, _, ended := strings.Cut(rest, "}")
	if !found || !ended || !strings.Contains(body, "to = "+kind+".NAME") {
		t.Fatalf("no import block of %s in\n%s", kind, out)
	}
	return "import {" + strings.Replace(body, kind+".NAME", address, 1) + "}\n"
}

// What exists is never made a second time, and each kind is taken over by the block
// that the error shows, and by its id. A copy of a sandbox is another object every
// time, so nothing stands in its way.
func TestAccEveryKindIsTakenOverByTheBlockOfItsErrorAndByItsID(t *testing.T) {
	t.Parallel()
	w := servedWorld(t)
	teeming(t, w)
	hcl := w.importGroup(t, "Team-1")
	c := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "group.tf": hcl, "values.auto.tfvars.json": `{"api_token_values":` + secretValues + `}`})
	c.apply(t)
	state, _ := c.run(t, "state", "list")
	kinds := map[string]string{}
	for address := range strings.Lines(state) {
		kind, _, _ := strings.Cut(address, ".")
		kinds[kind] = strings.TrimSpace(address)
	}
	// Without the blocks, so that nothing comes back by itself.
	c.write(t, map[string]string{"group.tf": importBlock.ReplaceAllString(hcl, "")})
	c.empty(t)
	for _, kind := range remoteNames() {
		life := objectLife{address: kinds[kind]}
		life.reimport(t, c)
		if kind == "sandbox_snapshot" {
			continue
		}
		if out, code := c.run(t, "state", "rm", life.address); code != 0 {
			t.Fatal(out)
		}
		block := blockIn(t, c.refused(t, "exists already and is not in this Terraform state", "remote.already_exists at"), life.address)
		c.write(t, map[string]string{"again.tf": block})
		out, _ := c.plan(t)
		wants(t, out, "Plan: 1 to import, 0 to add, 0 to change, 0 to destroy.")
		c.apply(t)
		c.write(t, map[string]string{"again.tf": ""})
		c.empty(t)
	}
}

var (
	importBlock  = regexp.MustCompile(`(?s)import \{.*?\n\}\n`)
	removedBlock = regexp.MustCompile(`(?s)removed \{.*?\n\}\n`)
)
