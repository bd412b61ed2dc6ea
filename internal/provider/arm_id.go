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
	a.PlanModifiers = []planmodifier.String{armID{}}
	return a
}

// sameARM compares as ARM does: without regard to case.
func sameARM(a, b types.String) bool {
	known := !a.IsNull() && !a.IsUnknown() && !b.IsNull() && !b.IsUnknown()
	return known && strings.EqualFold(a.ValueString(), b.ValueString())
}

// armID keeps the spelling of the state, which Terraform allows a plan to do.
type armID struct{}

// Description says what it does.
func (armID) Description(context.Context) string {
	return "Another value, apart from upper and lower case, means another object."
}

// MarkdownDescription says it again.
func (m armID) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

// PlanModifyString compares the plan with the state of an object that stays.
func (armID) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	switch {
	case req.State.Raw.IsNull() || req.Plan.Raw.IsNull() || req.PlanValue.Equal(req.StateValue):
	case sameARM(req.StateValue, req.PlanValue):
		resp.PlanValue = req.StateValue
	default:
		resp.RequiresReplace = true
	}
}
