package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// byARM makes an attribute that cannot change one that ARM names things by: another
// spelling in upper and lower case is the same thing, and must not replace the object
// with what lies in it.
func byARM(a schema.StringAttribute) schema.StringAttribute {
	return fixedApartFrom(a, strings.EqualFold)
}

// fixedApartFrom makes another text another object, unless the two are the same thing.
func fixedApartFrom(a schema.StringAttribute, same func(a, b string) bool) schema.StringAttribute {
	a.PlanModifiers = []planmodifier.String{spelling{same}}
	return a
}

// spelling keeps a text as it stands in the state where the new one means the same,
// which Terraform allows a plan to do.
type spelling struct{ same func(a, b string) bool }

// Description says what it does.
func (spelling) Description(context.Context) string {
	return "Another value means another object; another spelling of the same does not."
}

// MarkdownDescription says it again.
func (s spelling) MarkdownDescription(ctx context.Context) string { return s.Description(ctx) }

// PlanModifyString compares the plan with the state of an object that stays.
func (s spelling) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	switch {
	case req.State.Raw.IsNull() || req.Plan.Raw.IsNull() || req.PlanValue.Equal(req.StateValue):
	case sameText(req.StateValue, req.PlanValue, s.same):
		resp.PlanValue = req.StateValue
	default:
		resp.RequiresReplace = true
	}
}

// sameText reports two known texts that mean the same.
func sameText(a, b types.String, same func(a, b string) bool) bool {
	known := !a.IsNull() && !a.IsUnknown() && !b.IsNull() && !b.IsUnknown()
	return known && same(a.ValueString(), b.ValueString())
}
