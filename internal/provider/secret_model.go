package provider

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// secretModel is sandbox_secret.
type secretModel struct {
	Group    types.String   `tfsdk:"group"`
	Name     types.String   `tfsdk:"name"`
	ValuesWO types.Map      `tfsdk:"values_wo"`
	Version  types.String   `tfsdk:"values_wo_version"`
	Values   types.Map      `tfsdk:"values"`
	Keys     types.List     `tfsdk:"keys"`
	ID       types.String   `tfsdk:"id"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// secretSchema is the schema of sandbox_secret.
func secretSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A secret of a group: named values that the service puts into requests on their way out, so that programs in sandboxes never see them.\n\n" +
			"`values_wo` is sent and stored nowhere: neither plan nor state has it. It is sent again when `values_wo_version` changes, and when names in it are added or removed. " +
			"`values` is the alternative for tools without write-only attributes, and **is stored in the state in clear**. " +
			"The values are never read back; a value that somebody else changed does not show, names that somebody else added or removed do.",
		Attributes: map[string]schema.Attribute{
			"group": groupAttribute(),
			"name":  fixedRequired("The secret's name: 3 to 64 letters, digits and hyphens. Another name means another secret."),
			"values_wo": schema.MapAttribute{
				Optional: true, WriteOnly: true, Sensitive: true, ElementType: types.StringType,
				MarkdownDescription: "The values by name, stored nowhere. It needs Terraform 1.11 or OpenTofu 1.11, and `values_wo_version`.",
			},
			"values_wo_version": textAttribute("Any text; another one sends `values_wo` again. A number that is counted up will do."),
			"values": schema.MapAttribute{
				Optional: true, Sensitive: true, ElementType: types.StringType,
				MarkdownDescription: "The values by name, **stored in the state in clear**. The alternative to `values_wo`.",
			},
			"keys": schema.ListAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The names of the values, in order.",
			},
			"id": idAttribute("GROUP_ID/secrets/NAME"),
		},
	}
}

// check finds names that no secret has, and values that are given twice or not at all.
func (secretKind) check(m *secretModel) []sandbox.Finding {
	findings := checkGroup(m.Group)
	find := func(code sandbox.Code, at, found, required, remedy string) {
		findings = append(findings, sandbox.Finding{Code: code, Path: sandbox.Path(at), Found: found, Required: required, Remedy: remedy})
	}
	if !m.Name.IsUnknown() && !m.Name.IsNull() && !acasapi.IsSecretName(m.Name.ValueString()) {
		find(sandbox.CodeInvalidText, "name", sandbox.Echo(m.Name.ValueString()), "3 to 64 letters, digits and hyphens", "choose another name")
	}
	for at, values := range map[string]types.Map{"values": m.Values, "values_wo": m.ValuesWO} {
		if _, empty := values.Elements()[""]; empty {
			find(sandbox.CodeInvalidText, at, "a value without a name", "a name for every value, by which rules refer to it", `write the name before the "="`)
		}
		findings = append(findings, nullValues(at, values)...)
	}
	switch {
	case m.Values.IsUnknown() || m.ValuesWO.IsUnknown():
	case !m.Values.IsNull() && !m.ValuesWO.IsNull():
		find(sandbox.CodeContradiction, "values", "values and values_wo", "one of the two", "keep values_wo, which is stored nowhere")
	case m.Values.IsNull() && m.ValuesWO.IsNull():
		find(sandbox.CodeMissing, "values_wo", "no values", "values_wo, or values", "set values_wo and values_wo_version")
	case !m.ValuesWO.IsNull() && m.Version.IsNull():
		find(sandbox.CodeMissing, "values_wo_version", "values_wo without a version", "values_wo_version, which says when to send the values again", `set values_wo_version = "1"`)
	}
	return findings
}

// nullValues finds names whose value is null: sent without them, the secret would lack
// what its keys say that it has.
func nullValues(at string, values types.Map) []sandbox.Finding {
	var findings []sandbox.Finding
	for _, key := range slices.Sorted(maps.Keys(values.Elements())) {
		if values.Elements()[key].IsNull() {
			findings = append(findings, sandbox.Finding{
				Code: sandbox.CodeMissing, Path: sandbox.Path(at, sandbox.MapKey(key)), Found: "null", Required: "a text",
				Remedy: "give the value, or leave the name out",
			})
		}
	}
	return findings
}

// values are what is sent: the configuration alone has what is write-only, and an
// ephemeral value is known when it is applied and no sooner.
func (m *secretModel) values(config *secretModel) (map[string]string, error) {
	at, given := "values_wo", config.ValuesWO
	if given.IsNull() {
		at, given = "values", m.Values
	}
	if missing := nullValues(at, given); len(missing) > 0 {
		return nil, missing[0].Refusal(nil)
	}
	return textsOf(given), nil
}

// readConfig plans the names, which the write-only values have in the configuration
// alone.
func (secretKind) readConfig(plan, config, _ *secretModel) {
	given := config.ValuesWO
	if given.IsNull() {
		given = config.Values
	}
	if given.IsUnknown() {
		plan.Keys = types.ListUnknown(types.StringType)
		return
	}
	plan.Keys = keyList(slices.Sorted(maps.Keys(given.Elements())))
}

func keyList(keys []string) types.List {
	elements := make([]attr.Value, len(keys))
	for i, key := range keys {
		elements[i] = types.StringValue(key)
	}
	return types.ListValueMust(types.StringType, elements)
}

// foresee plans the id.
func (secretKind) foresee(_ *groundwork, _, plan *secretModel) foresight {
	plan.ID = types.StringUnknown()
	if !plan.Group.IsUnknown() && !plan.Name.IsUnknown() {
		plan.ID = childID(plan.Group, "secrets", plan.Name.ValueString())
	}
	return foresight{about: "secret " + plan.Name.ValueString()}
}

// settle makes what is write-only null, as Terraform wants it in a state.
func (m *secretModel) settle() {
	m.ValuesWO = types.MapNull(types.StringType)
	if m.Keys.IsUnknown() {
		m.Keys = keyList(slices.Sorted(maps.Keys(m.Values.Elements())))
	}
}

// take holds the names against those of the state. What was stored of a value that
// somebody removed goes from the state as well, so that the next plan shows it.
func (m *secretModel) take(keys []string) {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	m.Keys = keyList(keys)
	if m.Values.IsNull() {
		return
	}
	stored, kept := textsOf(m.Values), map[string]string{}
	for _, key := range keys {
		kept[key] = stored[key] // empty for one that somebody added
	}
	m.Values = mapFrom(m.Values, kept)
}
