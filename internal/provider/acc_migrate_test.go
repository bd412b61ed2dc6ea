package provider

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// stateOf is a state as Terraform keeps it.
func stateOf(t *testing.T, resources ...map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"version": 4, "terraform_version": "1.11.4", "serial": 7, "lineage": "11111111-2222-3333-4444-666666666666", "outputs": map[string]any{}, "resources": resources,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stateful is a resource of a state with its instances: one without a key, or one by
// each key.
func stateful(provider, kind, name string, version int, instances map[string]map[string]any) map[string]any {
	var list []map[string]any
	for key, attributes := range instances {
		one := map[string]any{"schema_version": version, "attributes": attributes}
		if key != "" {
			one["index_key"] = key
		}
		list = append(list, one)
	}
	return map[string]any{"mode": "managed", "type": kind, "name": name, "provider": fmt.Sprintf("provider[%q]", provider), "instances": list}
}

// otherRequirements says where the providers of others come from, beside ours.
var otherRequirements = strings.Replace(requirements, "sandbox = ", `aca     = { source = "`+acaAddress+`" }
    azapi   = { source = "`+azapiAddress+`" }
    sandbox = `, 1)

// formerly is a group with objects as the other provider leaves them, and the state
// that it keeps of them.
func formerly(t *testing.T, w *world) (*acasapi.Group, string) {
	t.Helper()
	id := w.groupID("team")
	must[wire.Group](t)(w.outside.PutGroup(t.Context(), id, wire.Group{Location: w.location, Tags: map[string]string{"env": "test"}}, acasapi.Wait{}))
	g := w.group(t, "team")
	images := map[string]string{}
	for name, base := range map[string]string{"tool": "registry.example.com/tool:1", "a": "registry.example.com/a:1", "b.c": "private.example.com/b@sha256:" + strings.Repeat("b", 64)} {
		images[name] = must[wire.Image](t)(g.CreateImage(t.Context(), wire.CreateImage{
			Image:  &wire.ImageSource{Base: base, Entrypoint: []string{"/bin/" + name}},
			Labels: wire.Labels{"team": "agents", "managed_by": "terraform-provider-aca", "tf_aca_name": name, "tf_aca_create_fingerprint": "0f"},
		}, acasapi.Making{})).ID
	}
	image := func(name, base string, more ...any) map[string]any {
		values := map[string]any{
			"sandbox_group_id": id.String(), "location": w.location, "name": name, "base_image": base, "entrypoint": []string{"/bin/" + name},
			"labels": map[string]string{"team": "agents"}, "deletion_policy": "Delete", "id": images[name], "status": "Ready",
			"resource_url": "https://management.swedencentral.azuredevcompute.io/subscriptions/" + id.Subscription + "/resourceGroups/" + id.ResourceGroup + "/sandboxGroups/team/diskimages/" + images[name],
		}
		for i := 0; i+1 < len(more); i += 2 {
			key, _ := more[i].(string)
			values[key] = more[i+1]
		}
		return values
	}
	worker := map[string]any{
		"sandbox_group_id": id.String(), "name": "worker", "id": "7b0c2f3e-1d5a-4f0e-9a51-2f6d0c1e8b44", "deletion_policy": "Delete",
		"source": map[string]any{"private_disk_image_id": images["tool"]}, "environment": map[string]string{"TOKEN": "s3cret-env"},
		"management_url": "https://s3cret-url.example",
		"egress_policy": map[string]any{
			"default_action": "Deny", "host_rules": []any{map[string]any{"pattern": "files.example.com", "action": "Allow"}},
			"rules": []any{map[string]any{"name": "api", "match": map[string]any{"host": "api.example.com", "path": "/v1/*", "methods": []string{"GET"}}, "action": map[string]any{
				"type": "Transform", "headers": []any{map[string]any{"operation": "Set", "name": "Authorization", "value": "s3cret-header"}},
			}}},
		},
	}
	open := map[string]any{"sandbox_group_id": id.String(), "name": "open", "id": "8b0c2f3e-1d5a-4f0e-9a51-2f6d0c1e8b44", "source": map[string]any{"public_disk_image": "ubuntu"}}
	return g, stateOf(t,
		stateful(azapiAddress, "azapi_resource", "group", 0, map[string]map[string]any{"": {
			"type": "Microsoft.App/sandboxGroups@2026-02-01-preview", "name": "team", "parent_id": "/subscriptions/" + id.Subscription + "/resourceGroups/" + id.ResourceGroup,
			"location": w.location, "id": id.String(), "tags": map[string]string{"env": "test"}, "identity": []any{},
			"body": map[string]any{"type": []any{"object", map[string]any{}}, "value": map[string]any{}},
		}}),
		stateful(acaAddress, "aca_sandbox_disk_image", "tool", 1, map[string]map[string]any{
			"": image("tool", "registry.example.com/tool:1", "managed_identity_resource_id", "system", "deletion_policy", "Retain"),
		}),
		stateful(acaAddress, "aca_sandbox_disk_image", "many", 1, map[string]map[string]any{
			"a": image("a", "registry.example.com/a:1"), "b.c": image("b.c", "private.example.com/b@sha256:"+strings.Repeat("b", 64), "registry_username", "pull"),
		}),
		stateful(acaAddress, "aca_sandbox", "worker", 1, map[string]map[string]any{"": worker}),
		stateful(acaAddress, "aca_sandbox", "open", 1, map[string]map[string]any{"": open}),
	)
}

func TestAccWhatTheOtherProviderMadeIsTakenOverWithoutAChange(t *testing.T) {
	t.Parallel()
	w := servedWorld(t)
	g, state := formerly(t, w)
	aca, azapi := newACA(), newAzapi()
	c := newCLI(t, w.provider, map[string]string{"provider.tf": w.block})
	c.serve(t, w.provider, map[string]provider.Provider{acaAddress: aca, azapiAddress: azapi})
	c.write(t, map[string]string{"requirements.tf": otherRequirements, "terraform.tfstate": state})
	if out, code := c.run(t, "init", "-input=false"); code != 0 {
		t.Fatal(out)
	}
	shown, code := c.run(t, "show", "-json")
	if code != 0 {
		t.Fatal(shown)
	}
	file := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(file, []byte(shown), 0o600); err != nil {
		t.Fatal(err)
	}
	hcl := w.sandboxctl(t, "import", "--from-aca", file)
	if strings.Contains(hcl, "s3cret") {
		t.Errorf("a value of the state stands in\n%s", hcl)
	}
	wants(t, hcl, "opens a sandbox # to every destination when that block is removed", "It has no egress_policy, and reaches every destination.",
		"from sandbox_disk_image.tool", `# host = "files.example.com"`)

	c.write(t, map[string]string{"sandbox.tf": hcl})
	if out, code := c.run(t, "fmt", "-check", "-diff", "sandbox.tf"); code != 0 {
		t.Errorf("it is not formatted:\n%s", out)
	}
	out, code := c.plan(t)
	wants(t, out, "Plan: 4 to import, 0 to add, 0 to change, 0 to destroy.", "will no longer be managed by Terraform")
	if code != 2 {
		t.Fatalf("exit %d\n%s\n%s", code, out, hcl)
	}
	c.apply(t)
	c.empty(t)
	aca.untouched(t)
	azapi.untouched(t)
	if n := each(t, g.Images(t.Context(), nil), nil); n != 3 {
		t.Errorf("the group has %d images", n)
	}
	left, _ := c.run(t, "state", "list")
	if strings.Contains(left, "aca_") || strings.Contains(left, "azapi_") {
		t.Errorf("the state still has\n%s", left)
	}

	// The old provider is needed no more.
	c.serve(t, w.provider)
	c.write(t, map[string]string{"requirements.tf": requirements, "sandbox.tf": removedBlock.ReplaceAllString(hcl, "")})
	c.empty(t)
	// What could be retained there is kept here as well, and everything can go.
	out, code = c.run(t, "destroy", "-auto-approve", "-no-color", "-input=false")
	if code == 0 {
		t.Errorf("the image that was to be retained is deleted:\n%s", out)
	}
	wants(t, out, "Instance cannot be destroyed", "sandbox_disk_image.tool")
	c.write(t, map[string]string{"sandbox.tf": strings.Replace(removedBlock.ReplaceAllString(hcl, ""), "prevent_destroy = true", "", 1)})
	if out, code := c.run(t, "destroy", "-auto-approve", "-no-color", "-input=false"); code != 0 {
		t.Error(out)
	}
}
