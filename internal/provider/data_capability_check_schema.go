package provider

import (
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

func capabilityCheckSchema() schema.Schema {
	attributes := dataAttributes(workloadAttributes())
	attributes["kind"] = requiredData(attributes["kind"])
	attributes["backend"] = requiredData(attributes["backend"])
	attributes["policy"] = schema.SingleNestedAttribute{
		Required: true,
		MarkdownDescription: "The policy that the workload is judged under: a whole resource (`sandbox_policy.NAME`), the result of the function `policy`, a local, a module's output, or a literal object. " +
			"The platform policy (the provider's `policy_file`), if there is one, holds as well.",
		Attributes: dataAttributes(policyFragment()),
	}
	maps.Copy(attributes, map[string]schema.Attribute{
		"verdict": computedText("The answer about the workload, `allow` or `deny`."),
		"allowed": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the verdict is `allow`."},
		"digest": schema.StringAttribute{
			Computed: true,
			MarkdownDescription: "SHA-256 of the workload's canonical document, equal to the `digest` of a `sandbox_workload` of the same attributes. " +
				"Null when it has none because something in it is malformed.",
		},
		"findings": schema.ListNestedAttribute{
			Computed:            true,
			MarkdownDescription: "Everything that the decision has to say, in its fixed order.",
			NestedObject:        schema.NestedAttributeObject{Attributes: findingAttributes()},
		},
	})
	return schema.Schema{
		MarkdownDescription: "Judges a workload exactly as `sandbox_workload` does, with the same attributes, and returns the decision instead of refusing. " +
			"It never fails a plan because of a verdict: `check` blocks, preconditions and tests decide what a verdict means. " +
			"What cannot be read, such as a word that does not exist, is an error.\n\n" +
			"The verdict is known at plan when every input is: literals, locals, variables, files and results of functions. " +
			"Terraform reads a data source that depends on a resource with planned changes during apply; the function `check` has no such limit, and refuses misspelt names inside nested objects as well.",
		Attributes: attributes,
	}
}

func findingAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"verdict":  computedText("What this finding alone would decide: `deny`, or `allow` for a warning."),
		"code":     computedText("The stable code of the rule."),
		"path":     computedText("The attribute to edit, counted from the workload; below `policy` for the policy's."),
		"found":    computedText("What stands there, with the values that were given."),
		"required": computedText("What would have been accepted, and who asks for it."),
		"witness":  computedText("One thing that would become reachable if this were let through. Null where there is none."),
		"remedy":   computedText("The edit that would change the answer."),
	}
}

func computedText(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

// dataAttributes are the attributes that people write in a resource as a data
// source has them, so that both stand in one place.
func dataAttributes(attributes map[string]resourceschema.Attribute) map[string]schema.Attribute {
	same := make(map[string]schema.Attribute, len(attributes))
	for name, a := range attributes {
		same[name] = dataAttribute(a)
	}
	return same
}

func dataAttribute(a resourceschema.Attribute) schema.Attribute {
	description := a.GetMarkdownDescription()
	switch a := a.(type) {
	case resourceschema.StringAttribute:
		return schema.StringAttribute{Optional: true, MarkdownDescription: description}
	case resourceschema.BoolAttribute:
		return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
	case resourceschema.Int64Attribute:
		return schema.Int64Attribute{Optional: true, MarkdownDescription: description}
	case resourceschema.ListAttribute:
		return schema.ListAttribute{Optional: true, ElementType: a.ElementType, MarkdownDescription: description}
	case resourceschema.MapAttribute:
		return schema.MapAttribute{Optional: true, ElementType: a.ElementType, MarkdownDescription: description}
	case resourceschema.SingleNestedAttribute:
		return schema.SingleNestedAttribute{Optional: true, Attributes: dataAttributes(a.Attributes), MarkdownDescription: description}
	case resourceschema.MapNestedAttribute:
		return schema.MapNestedAttribute{
			Optional: true, MarkdownDescription: description,
			NestedObject: schema.NestedAttributeObject{Attributes: dataAttributes(a.NestedObject.Attributes)},
		}
	default:
		// A test compares the two schemas, so this shows as a difference there.
		return schema.DynamicAttribute{Optional: true, MarkdownDescription: fmt.Sprintf("%T: %s", a, description)}
	}
}

// requiredData turns an optional text attribute into one that must be stated.
func requiredData(a schema.Attribute) schema.Attribute {
	text, ok := a.(schema.StringAttribute)
	if ok {
		text.Optional, text.Required = false, true
		return text
	}
	return a
}
