package provider

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestEverySchemaIsOneThatTheFrameworkAccepts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := offline()
	var block provider.SchemaResponse
	p.Schema(ctx, provider.SchemaRequest{}, &block)
	if diags := block.Schema.ValidateImplementation(ctx); diags.HasError() {
		t.Errorf("provider: %v", diags)
	}
	for _, factory := range p.Resources(ctx) {
		var resp resource.SchemaResponse
		factory().Schema(ctx, resource.SchemaRequest{}, &resp)
		if diags := resp.Schema.ValidateImplementation(ctx); diags.HasError() {
			t.Errorf("%T: %v", factory(), diags)
		}
	}
	for _, factory := range p.DataSources(ctx) {
		var resp datasource.SchemaResponse
		factory().Schema(ctx, datasource.SchemaRequest{}, &resp)
		if diags := resp.Schema.ValidateImplementation(ctx); diags.HasError() {
			t.Errorf("%T: %v", factory(), diags)
		}
	}
}

// eachAttribute visits every attribute of the provider, nested ones too.
func eachAttribute(t *testing.T, visit func(path string, a *tfprotov6.SchemaAttribute)) {
	t.Helper()
	schemas, err := newServer(t, offline()).GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, attributes []*tfprotov6.SchemaAttribute)
	blocks := func(path string, s *tfprotov6.Schema) {
		walk(path, s.Block.Attributes)
		for _, b := range s.Block.BlockTypes {
			walk(path+"."+b.TypeName, b.Block.Attributes)
		}
	}
	walk = func(path string, attributes []*tfprotov6.SchemaAttribute) {
		for _, a := range attributes {
			visit(path+"."+a.Name, a)
			if a.NestedType != nil {
				walk(path+"."+a.Name, a.NestedType.Attributes)
			}
		}
	}
	blocks("provider", schemas.Provider)
	for name, s := range schemas.ResourceSchemas {
		blocks(name, s)
	}
	for name, s := range schemas.DataSourceSchemas {
		blocks("data."+name, s)
	}
	for name, s := range schemas.EphemeralResourceSchemas {
		blocks("ephemeral."+name, s)
	}
}

func TestEveryAttributeIsDescribed(t *testing.T) {
	t.Parallel()
	eachAttribute(t, func(path string, a *tfprotov6.SchemaAttribute) {
		if len(a.Description) < 20 || !strings.HasSuffix(strings.TrimRight(a.Description, "`"), ".") {
			t.Errorf("%s is described as %q", path, a.Description)
		}
	})
}

// Sets cost minutes in a plan of a thousand elements.
func TestNothingIsASet(t *testing.T) {
	t.Parallel()
	eachAttribute(t, func(path string, a *tfprotov6.SchemaAttribute) {
		if a.Type != nil && strings.Contains(a.Type.String(), "tftypes.Set") {
			t.Errorf("%s is of type %s", path, a.Type)
		}
		if a.NestedType != nil && a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSet {
			t.Errorf("%s is a nested set", path)
		}
	})
}

// A fragment must take a whole resource, a literal with a few attributes, and
// anything in between.
func TestFragmentsAreOptionalThroughout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fragment map[string]schema.Attribute
		whole    map[string]schema.Attribute
		dropped  []string
	}{
		"policy":   {policyFragment(), policySchema().Attributes, nil},
		"workload": {workloadFragment(), workloadSchema().Attributes, []string{"policy", "verdict", "findings"}},
	} {
		for attribute, a := range c.fragment {
			if !a.IsOptional() || a.IsRequired() || a.IsComputed() {
				t.Errorf("%s.%s is not purely optional", name, attribute)
			}
			whole, ok := c.whole[attribute]
			if !ok || !reflect.DeepEqual(whole.GetType(), a.GetType()) {
				t.Errorf("%s.%s is not of the type that the resource has", name, attribute)
			}
			delete(c.whole, attribute)
		}
		for _, attribute := range c.dropped {
			delete(c.whole, attribute)
		}
		if len(c.whole) > 0 {
			t.Errorf("the %s fragment lacks %v", name, sortedKeys(c.whole))
		}
	}
}

func TestDescriptionsListTheWordsThatTheParserTakes(t *testing.T) {
	t.Parallel()
	for attribute, words := range map[string][]string{
		"minimum_isolation":   texts(sandbox.Isolations()),
		"denied_capabilities": texts(sandbox.Capabilities()),
		"egress_mode":         texts(sandbox.EgressModes()),
		"egress_guarantees":   texts(sandbox.Guarantees()),
		"image_user":          texts(sandbox.ImageUsers()),
	} {
		description := policyAttributes()[attribute].GetMarkdownDescription()
		for _, word := range words {
			if !strings.Contains(description, "`"+word+"`") {
				t.Errorf("%s does not mention %s", attribute, word)
			}
		}
	}
}

func texts[T fmt.Stringer](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.String()
	}
	return out
}

// TestSchemaIsTheReviewedOne makes each change of the surface a line in a diff.
// Run it with -update and read what changed.
func TestSchemaIsTheReviewedOne(t *testing.T) {
	t.Parallel()
	lines := map[string]string{}
	eachAttribute(t, func(path string, a *tfprotov6.SchemaAttribute) {
		lines[path] = shape(a)
	})
	got, err := json.MarshalIndent(lines, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	golden := filepath.Join("testdata", "schema.golden.json")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the schema is not the one in %s; run with -update and review the diff", golden)
	}
}

// shape is what users depend on in an attribute, in one line.
func shape(a *tfprotov6.SchemaAttribute) string {
	var parts []string
	for _, flag := range []struct {
		set  bool
		name string
	}{{a.Required, "required"}, {a.Optional, "optional"}, {a.Computed, "computed"}, {a.Sensitive, "sensitive"}, {a.WriteOnly, "write-only"}} {
		if flag.set {
			parts = append(parts, flag.name)
		}
	}
	switch {
	case a.NestedType != nil:
		parts = append(parts, "nested "+strings.ToLower(a.NestedType.Nesting.String()))
	case a.Type.Is(tftypes.List{}), a.Type.Is(tftypes.Map{}):
		parts = append(parts, strings.ToLower(strings.NewReplacer("tftypes.", "", "[", " of ", "]", "").Replace(a.Type.String())))
	default:
		parts = append(parts, strings.ToLower(strings.TrimPrefix(a.Type.String(), "tftypes.")))
	}
	return strings.Join(parts, " ")
}
