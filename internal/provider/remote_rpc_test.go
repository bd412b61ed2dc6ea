package provider

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

const someGroup = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/Microsoft.App/sandboxGroups/team"

func remoteNames() []string {
	return []string{"sandbox_group", "sandbox_disk_image", "sandbox_secret", "sandbox_volume", "sandbox_snapshot", "sandbox_vnet_connection"}
}

func TestEveryRemoteObjectReadsAllNullAndAllUnknown(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, map[string]any{"embedded": map[string]any{"path": "nowhere/state.db"}})
	schemas, err := s.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range remoteNames() {
		typ, given := s.types[name], map[string]bool{}
		for _, a := range schemas.ResourceSchemas[name].Block.Attributes {
			given[a.Name] = !a.Optional && !a.Required
		}
		for what, leaf := range map[string]any{"null": nil, "unknown": tftypes.UnknownValue} {
			attrs := map[string]tftypes.Value{}
			for attribute, at := range typ.AttributeTypes {
				attrs[attribute] = tftypes.NewValue(at, leaf)
				if given[attribute] { // nobody writes these
					attrs[attribute] = tftypes.NewValue(at, nil)
				}
			}
			config := dynamic(t, typ, tftypes.NewValue(typ, attrs))
			resp, err := s.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{
				TypeName: name, Config: config,
				ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			if what == "unknown" && failed(resp.Diagnostics) {
				t.Errorf("%s of unknowns: %s", name, render(resp.Diagnostics))
			}
			if strings.Contains(render(resp.Diagnostics), "Value Conversion") {
				t.Errorf("%s of %s: %s", name, what, render(resp.Diagnostics))
			}
		}
	}
}

func TestRemoteObjectsRefuseWhatTheServiceWould(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	image := func(parts map[string]any) map[string]any { return map[string]any{"group": someGroup, "image": parts} }
	for name, c := range map[string]struct {
		resource string
		bad      map[string]any
		want     string
		good     map[string]any
	}{
		"group name": {"sandbox_group", map[string]any{"name": "-team"}, "value.invalid_text at name", map[string]any{"name": "team-1"}},
		"long group name": {
			"sandbox_group", map[string]any{"name": strings.Repeat("a", 33)}, "value.invalid_text at name", map[string]any{"name": strings.Repeat("a", 32)},
		},
		"subscription": {
			"sandbox_group",
			map[string]any{"name": "team", "subscription_id": "prod"},
			"value.invalid_text at subscription_id",
			map[string]any{"name": "team", "subscription_id": "11111111-2222-3333-4444-555555555555"},
		},
		"region": {
			"sandbox_group",
			map[string]any{"name": "team", "location": "west-europe"},
			"value.invalid_text at location",
			map[string]any{"name": "team", "location": "West Europe"},
		},
		"identity type": {
			"sandbox_group",
			map[string]any{"name": "team", "identity": map[string]any{"type": "System"}},
			"value.unknown_word at identity.type",
			map[string]any{"name": "team", "identity": map[string]any{"type": "systemassigned"}},
		},
		"user identity without ids": {
			"sandbox_group",
			map[string]any{"name": "team", "identity": map[string]any{"type": "UserAssigned"}},
			"value.missing at identity.identity_ids",
			map[string]any{"name": "team", "identity": map[string]any{"type": "UserAssigned", "identity_ids": []string{"/subscriptions/x"}}},
		},
		"image without registry": {
			"sandbox_disk_image", image(map[string]any{"reference": "tool:1"}), "value.invalid_text at image.reference",
			image(map[string]any{"reference": "registry.example.com/tool:1"}),
		},
		"short digest": {
			"sandbox_disk_image", image(map[string]any{"reference": "registry.example.com/tool", "digest": "sha256:abc"}), "value.invalid_text at image.digest",
			image(map[string]any{"reference": "registry.example.com/tool", "digest": "sha256:" + strings.Repeat("0", 64)}),
		},
		"platform of another machine": {
			"sandbox_disk_image", image(map[string]any{"reference": "registry.example.com/tool", "platform": "linux/arm64"}), "image.platform at image.platform",
			image(map[string]any{"reference": "registry.example.com/tool", "platform": "linux/amd64"}),
		},
		"prebuilt image": {
			"sandbox_disk_image", image(map[string]any{"prebuilt": "python-3.13"}), "value.invalid_text at image.prebuilt",
			image(map[string]any{"reference": "registry.example.com:5000/tool"}),
		},
		"group that is none": {
			"sandbox_volume",
			map[string]any{"group": "team", "name": "w", "type": "AzureBlob"},
			"value.invalid_text at group",
			map[string]any{"group": someGroup, "name": "w", "type": "AzureBlob"},
		},
		"disk without size": {
			"sandbox_volume",
			map[string]any{"group": someGroup, "name": "w", "type": "DataDisk"},
			"value.missing at size",
			map[string]any{"group": someGroup, "name": "w", "type": "DataDisk", "size": "1Gi"},
		},
		"disk of a size that is none": {
			"sandbox_volume",
			map[string]any{"group": someGroup, "name": "w", "type": "DataDisk", "size": "8GB"},
			"value.invalid_text at size",
			map[string]any{"group": someGroup, "name": "w", "type": "DataDisk", "size": "8Gi"},
		},
		"long label": {
			"sandbox_volume",
			map[string]any{"group": someGroup, "name": "w", "type": "AzureBlob", "labels": map[string]any{"a": strings.Repeat("x", 64)}},
			`value.invalid_text at labels["a"]`,
			map[string]any{"group": someGroup, "name": "w", "type": "AzureBlob", "labels": map[string]any{"a": strings.Repeat("x", 63)}},
		},
		"reserved label": {
			"sandbox_volume",
			map[string]any{"group": someGroup, "name": "w", "type": "AzureBlob", "labels": map[string]any{acasapi.MarkerLabel: "x"}},
			`value.invalid_text at labels["` + acasapi.MarkerLabel + `"]`,
			map[string]any{"group": someGroup, "name": "w", "type": "AzureBlob", "labels": map[string]any{"creation": "x"}},
		},
		"secret name": {
			"sandbox_secret",
			map[string]any{"group": someGroup, "name": "a_b", "values": map[string]any{"a": "b"}},
			"value.invalid_text at name",
			map[string]any{"group": someGroup, "name": "a-b", "values": map[string]any{"a": "b"}},
		},
		"secret value without a name": {
			"sandbox_secret",
			map[string]any{"group": someGroup, "name": "a-b", "values": map[string]any{"": "b"}},
			"value.invalid_text at values",
			map[string]any{"group": someGroup, "name": "a-b", "values": map[string]any{"x": "b"}},
		},
		"secret value that is null": {
			"sandbox_secret",
			map[string]any{"group": someGroup, "name": "a-b", "values": map[string]any{"a": "b", "c": nil}},
			`value.missing at values["c"]`,
			map[string]any{"group": someGroup, "name": "a-b", "values": map[string]any{"a": "b", "c": ""}},
		},
		"secret twice": {
			"sandbox_secret",
			map[string]any{"group": someGroup, "name": "a-b", "values": map[string]any{"a": "b"}, "values_wo": map[string]any{"a": "b"}, "values_wo_version": "1"},
			"value.contradiction at values",
			map[string]any{"group": someGroup, "name": "a-b", "values_wo": map[string]any{"a": "b"}, "values_wo_version": "1"},
		},
		"write-only without version": {
			"sandbox_secret",
			map[string]any{"group": someGroup, "name": "a-b", "values_wo": map[string]any{"a": "b"}},
			"value.missing at values_wo_version",
			map[string]any{"group": someGroup, "name": "a-b", "values_wo": map[string]any{"a": "b"}, "values_wo_version": "1"},
		},
		"subnet": {
			"sandbox_vnet_connection",
			map[string]any{"group": someGroup, "name": "n", "subnet_id": "a"},
			"value.invalid_text at subnet_id",
			map[string]any{"group": someGroup, "name": "n", "subnet_id": "/subscriptions/s/virtualNetworks/n/subnets/a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := locators(s.validateNew(t, c.resource, c.bad)); !slices.Equal(got, []string{c.want}) {
				t.Errorf("found %q, want %q", got, c.want)
			}
			if diags := s.validateNew(t, c.resource, c.good); len(diags) > 0 {
				t.Errorf("the neighbour is refused: %s", render(diags))
			}
		})
	}
}

// validateNew is validate for a client that knows write-only attributes.
func (s *server) validateNew(t *testing.T, resource string, attrs map[string]any) []*tfprotov6.Diagnostic {
	t.Helper()
	resp, err := s.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: resource, Config: dynamic(t, s.types[resource], s.config(t, resource, attrs)),
		ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Diagnostics
}

// A provider that waits for a value defers its objects where Terraform can do that,
// and plans them with unknown values where it cannot.
func TestObjectsAreDeferredWhileTheProviderIsNotKnown(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, map[string]any{"acas": map[string]any{"resource_group": notKnown{}}})
	typ := s.types["sandbox_group"]
	config := dynamic(t, typ, s.config(t, "sandbox_group", map[string]any{"name": "team"}))
	for _, allowed := range []bool{true, false} {
		resp, err := s.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
			TypeName: "sandbox_group", Config: config, ProposedNewState: config, PriorState: dynamic(t, typ, tftypes.NewValue(typ, nil)),
			ClientCapabilities: &tfprotov6.PlanResourceChangeClientCapabilities{DeferralAllowed: allowed},
		})
		if err != nil || failed(resp.Diagnostics) {
			t.Fatalf("%v %s", err, render(resp.Diagnostics))
		}
		if deferred := resp.Deferred != nil; deferred != allowed {
			t.Errorf("deferral is allowed: %v, deferred: %v", allowed, deferred)
		}
		if planned := static(t, typ, resp.PlannedState); !allowed && text(t, planned, "id") != "unknown" {
			t.Errorf("id is planned %s", text(t, planned, "id"))
		}
	}
}

// Terraform refuses a resource that is gone and has no identity.
func TestIdentityIsSetBeforeAnObjectIsFoundGone(t *testing.T) {
	t.Parallel()
	w := embeddedWorld(t)
	s := newServer(t, w.provider)
	s.configure(t, map[string]any{"embedded": map[string]any{"path": w.file}})
	state, diags := s.apply(t, "sandbox_group", nil, map[string]any{"name": "team"})
	if failed(diags) {
		t.Fatal(render(diags))
	}
	if err := w.outside.DeleteGroup(t.Context(), w.groupID("team"), acasapi.Wait{}); err != nil {
		t.Fatal(err)
	}
	read, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: "sandbox_group", CurrentState: dynamic(t, s.types["sandbox_group"], state),
	})
	if err != nil || failed(read.Diagnostics) {
		t.Fatalf("%v %s", err, render(read.Diagnostics))
	}
	if !static(t, s.types["sandbox_group"], read.NewState).IsNull() || read.NewIdentity == nil {
		t.Errorf("state %v, identity %v", read.NewState, read.NewIdentity)
	}
}

func TestEveryKindIsImportedByIdentity(t *testing.T) {
	t.Parallel()
	w := embeddedWorld(t)
	g := teeming(t, w)
	s := newServer(t, w.provider)
	s.configure(t, map[string]any{"embedded": map[string]any{"path": w.file}})
	ids := map[string]string{
		"sandbox_group": g.ID().String(), "sandbox_volume": g.ID().String() + "/volumes/work",
		"sandbox_secret": g.ID().String() + "/secrets/api-token", "sandbox_vnet_connection": g.ID().String() + "/vnetConnections/internal",
	}
	for image, err := range g.Images(t.Context(), nil) {
		ids["sandbox_disk_image"] = g.ID().String() + "/diskimages/" + must[wire.Image](t)(image, err).ID
	}
	for snapshot, err := range g.Snapshots(t.Context(), nil) {
		ids["sandbox_snapshot"] = g.ID().String() + "/snapshots/" + must[wire.Snapshot](t)(snapshot, err).ID
	}
	typ := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"id": tftypes.String}}
	for _, name := range remoteNames() {
		identity := dynamic(t, typ, tftypes.NewValue(typ, map[string]tftypes.Value{"id": textValue(ids[name])}))
		imported, err := s.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{
			TypeName: name, Identity: &tfprotov6.ResourceIdentityData{IdentityData: identity},
		})
		if err != nil || failed(imported.Diagnostics) || len(imported.ImportedResources) != 1 {
			t.Fatalf("%s: %v %s", name, err, render(imported.Diagnostics))
		}
		read, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
			TypeName: name, CurrentState: imported.ImportedResources[0].State, CurrentIdentity: imported.ImportedResources[0].Identity,
		})
		if err != nil || failed(read.Diagnostics) {
			t.Fatalf("%s: %v %s", name, err, render(read.Diagnostics))
		}
		state := static(t, s.types[name], read.NewState)
		if got := text(t, state, "id"); got != ids[name] {
			t.Errorf("%s of identity %s has id %s", name, ids[name], got)
		}
		if in := "group"; name != "sandbox_group" && text(t, state, in) != g.ID().String() {
			t.Errorf("%s has group %s", name, text(t, state, in))
		}
	}
}

func TestIdsOfAnotherKindAreNotImported(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name, id := range map[string]string{
		"sandbox_group":           "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/Microsoft.App/containerApps/team",
		"sandbox_disk_image":      someGroup + "/volumes/a",
		"sandbox_secret":          "api",
		"sandbox_volume":          someGroup + "/volumes/../x",
		"sandbox_snapshot":        someGroup,
		"sandbox_vnet_connection": "",
	} {
		resp, err := s.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: name, ID: id})
		if err != nil {
			t.Fatal(err)
		}
		if !failed(resp.Diagnostics) || !strings.Contains(render(resp.Diagnostics), "Microsoft.App/sandboxGroups") {
			t.Errorf("%s: %s", name, render(resp.Diagnostics))
		}
	}
}

// interrupted is a clock on which the first wait ends with an interruption, as when
// somebody presses Ctrl-C while the service works.
type interrupted struct {
	*quickClock
	once   sync.Once
	cancel context.CancelFunc
}

func (c *interrupted) Sleep(ctx context.Context, d time.Duration) error {
	c.once.Do(c.cancel)
	return c.quickClock.Sleep(ctx, d)
}

// What was being made when somebody interrupted is in the state, and so is removed
// by the next apply instead of standing in its way.
func TestAnInterruptedCreationIsKeptInTheState(t *testing.T) {
	t.Parallel()
	w := servedWorld(t)
	w.misbehave("image=stuck")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := newServer(t, w.provider)
	s.configure(t, map[string]any{"acas": w.acas})
	if _, diags := s.apply(t, "sandbox_group", nil, map[string]any{"name": "team"}); failed(diags) {
		t.Fatal(render(diags))
	}
	w.provider.clock = &interrupted{quickClock: newQuickClock(), cancel: cancel}
	s = newServer(t, w.provider)
	s.configure(t, map[string]any{"acas": w.acas})
	for resource, attrs := range map[string]map[string]any{
		"sandbox_disk_image": {"group": w.groupID("team").String(), "image": map[string]any{"reference": "registry.example.com/tool:1"}},
	} {
		typ := s.types[resource]
		planned, diags := s.plan(t, resource, nil, attrs)
		if failed(diags) {
			t.Fatal(render(diags))
		}
		resp, err := s.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
			TypeName: resource, Config: dynamic(t, typ, s.config(t, resource, attrs)),
			PriorState: dynamic(t, typ, tftypes.NewValue(typ, nil)), PlannedState: dynamic(t, typ, planned),
		})
		if err != nil {
			t.Fatal(err)
		}
		if !failed(resp.Diagnostics) || !strings.Contains(render(resp.Diagnostics), "Interrupted") {
			t.Errorf("%s: %s", resource, render(resp.Diagnostics))
		}
		if state := static(t, typ, resp.NewState); state.IsNull() || text(t, state, "image_id") == "null" {
			t.Errorf("%s is not in the state", resource)
		}
	}
}

func TestOneWayOfSigningInIsChosen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		block, env map[string]string
		// want is the method, or words of the refusal.
		want, refused string
	}{
		"nothing":                   {want: "cli"},
		"a word":                    {block: map[string]string{"auth": "managed_identity"}, want: "managed_identity"},
		"a variable":                {env: map[string]string{"ARM_USE_MSI": "true"}, want: "managed_identity"},
		"the word before variables": {block: map[string]string{"auth": "cli"}, env: map[string]string{"ARM_USE_MSI": "true"}, want: "cli"},
		"a secret in the block": {
			block: map[string]string{"client_secret": "s", "client_id": "c", "tenant_id": "t"}, env: map[string]string{"ARM_OIDC_TOKEN": "x"}, want: "client_secret",
		},
		"variables of the SDKs": {
			env: map[string]string{"AZURE_CLIENT_SECRET": "s", "AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t"}, want: "client_secret",
		},
		"two by variables": {
			env:     map[string]string{"ARM_CLIENT_SECRET": "s", "ARM_OIDC_TOKEN": "x", "ARM_CLIENT_ID": "c", "ARM_TENANT_ID": "t"},
			refused: "Name one method with auth",
		},
		"a secret without client": {block: map[string]string{"client_secret": "s"}, refused: "tenant_id"},
		"an unknown word":         {block: map[string]string{"auth": "magic"}, refused: "managed_identity"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := offline()
			p.getenv = func(name string) string { return c.env[name] }
			cfg, err := p.signingIn(acasapi.Config{}, maps.Clone(c.block))
			switch {
			case c.refused != "" && (err == nil || !strings.Contains(problem("signing in", err).Detail(), c.refused)):
				t.Errorf("got %v, want %q", err, c.refused)
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused == "":
				if got := methodOf(cfg); got != c.want {
					t.Errorf("chose %s, want %s", got, c.want)
				}
			}
		})
	}
}

func methodOf(cfg acasapi.Config) string {
	credential, ok := cfg.Credential.(*auth.Credential)
	if !ok {
		return "none"
	}
	method, _ := credential.Method()
	return string(method)
}
