package provider

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// fixedText is a text that cannot change while the object stays the same.
func fixedText(description string) schema.StringAttribute {
	a := textAttribute(description)
	a.PlanModifiers = []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return a
}

// fixedRequired is one that has to be stated.
func fixedRequired(description string) schema.StringAttribute {
	a := fixedText(description)
	a.Optional, a.Required = false, true
	return a
}

// givenText is what the service, or the provider, gives and never changes.
func givenText(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true, MarkdownDescription: description,
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

func groupAttribute() schema.StringAttribute {
	return byARM(fixedRequired("The group that it lies in, by resource id: `sandbox_group.NAME.id`. Another group means another object."))
}

func idAttribute(form string) schema.StringAttribute {
	return givenText("The object's whole id, by which it is imported: `" + form + "`.")
}

func labelsAttribute(more string) schema.MapAttribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Labels, by which the service's clients find it. A key has 1 to 63 characters and a value up to 63, without spaces, commas and `=`. " +
			"Keys that begin with `" + sandbox.ReservedLabelPrefix + "` are the product's own." + more,
	}
}

// plainText is a text that was left out, or the text.
func plainText(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}

// textsOf are the known texts of a map; what is null or unknown is left out.
func textsOf(m types.Map) map[string]string {
	out := map[string]string{}
	for key, e := range m.Elements() {
		if text, ok := e.(types.String); ok && !text.IsNull() && !text.IsUnknown() {
			out[key] = text.ValueString()
		}
	}
	return out
}

// mapFrom keeps a map that was left out left out where there is nothing in it: null
// and empty are two ways to write the same.
func mapFrom(prior types.Map, got map[string]string) types.Map {
	if len(got) == 0 && (prior.IsNull() || len(prior.Elements()) == 0) {
		if prior.IsNull() || prior.IsUnknown() {
			return types.MapNull(types.StringType)
		}
		return prior
	}
	elements := make(map[string]attr.Value, len(got))
	for key, text := range got {
		elements[key] = types.StringValue(text)
	}
	return types.MapValueMust(types.StringType, elements)
}

// wordsOf are the known texts of a list.
func wordsOf(l types.List) []string {
	var out []string
	for _, e := range l.Elements() {
		if text, ok := e.(types.String); ok && !text.IsNull() && !text.IsUnknown() {
			out = append(out, text.ValueString())
		}
	}
	return out
}

// listFrom is mapFrom for lists.
func listFrom(prior types.List, got []string) types.List {
	if len(got) == 0 && len(prior.Elements()) == 0 {
		if prior.IsNull() || prior.IsUnknown() {
			return types.ListNull(types.StringType)
		}
		return prior
	}
	elements := make([]attr.Value, len(got))
	for i, text := range got {
		elements[i] = types.StringValue(text)
	}
	return types.ListValueMust(types.StringType, elements)
}

// ownLabels are labels without the ones that this product puts there itself.
func ownLabels(labels wire.Labels) map[string]string {
	own := maps.Clone(map[string]string(labels))
	maps.DeleteFunc(own, func(key, _ string) bool { return strings.HasPrefix(key, sandbox.ReservedLabelPrefix) })
	return own
}

// checkLabelMap finds labels that the service or its filters would not take.
func checkLabelMap(labels types.Map) []sandbox.Finding {
	var findings []sandbox.Finding
	texts := textsOf(labels)
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		at := sandbox.FieldPath{sandbox.Attr("labels"), sandbox.MapKey(key)}
		if strings.HasPrefix(key, sandbox.ReservedLabelPrefix) {
			findings = append(findings, reservedKey(at))
		} else if err := (wire.Labels{key: texts[key]}).Check(); err != nil {
			findings = append(findings, sandbox.Finding{
				Code: sandbox.CodeInvalidText, Path: at, Found: err.Error(),
				Required: "a label that the service takes and a filter finds", Remedy: "shorten it, or use other characters",
			})
		}
	}
	return findings
}

// checkTagMap finds tags that the product puts there itself, and so would not show.
func checkTagMap(tags types.Map) []sandbox.Finding {
	var findings []sandbox.Finding
	for _, key := range slices.Sorted(maps.Keys(tags.Elements())) {
		if strings.HasPrefix(key, sandbox.ReservedLabelPrefix) {
			findings = append(findings, reservedKey(sandbox.FieldPath{sandbox.Attr("tags"), sandbox.MapKey(key)}))
		}
	}
	return findings
}

func reservedKey(at sandbox.FieldPath) sandbox.Finding {
	return sandbox.Finding{
		Code: sandbox.CodeInvalidText, Path: at, Found: "a key that begins with " + sandbox.ReservedLabelPrefix,
		Required: "keys of your own: ownership rests on these", Remedy: "choose another key",
	}
}

// checkGroup finds a group that is none.
func checkGroup(group types.String) []sandbox.Finding {
	if group.IsNull() || group.IsUnknown() {
		return nil
	}
	_, err := acasapi.ParseGroupID(group.ValueString())
	return placedAt("group", "write sandbox_group.NAME.id", err)
}

// placedAt is a refusal as a finding at an attribute.
func placedAt(attribute, remedy string, err error) []sandbox.Finding {
	r := sandbox.RefusalOf(err)
	if r == nil {
		return nil
	}
	f := r.Finding
	f.Path = sandbox.Path(attribute)
	if f.Remedy == "" {
		f.Remedy = remedy
	}
	return []sandbox.Finding{f}
}

// groupOf is the group of an object, nil while it is not known.
func groupOf(group types.String) *acasapi.GroupID {
	id, err := acasapi.ParseGroupID(group.ValueString())
	if err != nil {
		return nil
	}
	return &id
}

// childID is the id of something in a group, in the form of the service's own paths.
func childID(group types.String, segment, id string) types.String {
	return types.StringValue(group.ValueString() + "/" + segment + "/" + id)
}

// splitChild reads such an id.
func splitChild(id, segment, noun string) (group types.String, name string, err error) {
	place, name, found := cutLast(id, "/"+segment+"/")
	parsed, bad := acasapi.ParseGroupID(place)
	if !found || bad != nil || wire.CheckSegment(name) != nil {
		return types.StringNull(), "", sandbox.Finding{
			Code: sandbox.CodeInvalidText, Subject: noun + " to import", Found: sandbox.Echo(id),
			Required: "/subscriptions/…/resourceGroups/…/providers/Microsoft.App/sandboxGroups/GROUP/" + segment + "/NAME",
			Remedy:   "write the id of the group, and of the object in it",
		}.Refusal(nil)
	}
	return types.StringValue(parsed.String()), name, nil
}

// cutLast cuts around the last sep, without regard to its case.
func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(strings.ToLower(text), strings.ToLower(sep))
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}
