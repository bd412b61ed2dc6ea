package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

var (
	_ resource.Resource                   = (*pureResource)(nil)
	_ resource.ResourceWithConfigure      = (*pureResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*pureResource)(nil)
	_ resource.ResourceWithValidateConfig = (*pureResource)(nil)
)

// pureResource is a resource with nothing behind it: its state is its
// configuration and what follows from it, which one function works out for
// validation, plan and apply alike. There is nothing to create, read or delete,
// so an apply that was killed half-way is completed by the next one.
type pureResource struct {
	name     string
	schema   func() schema.Schema
	evaluate evaluation
	// compare guards against widening; nil where nothing is compared.
	compare comparison

	// guard is what the provider's configuration imposes. It is nil in `terraform
	// validate` and under mocks, where no provider is configured.
	guard *platformPolicy
}

// evaluation says what follows from an object: a configuration, or a plan.
type evaluation func(object tftypes.Value, g *platformPolicy, p phase) outcome

// comparison says what a planned object permits beyond its prior state, which is
// null when the object is new.
type comparison func(prior, planned tftypes.Value, g *platformPolicy) widening

// outcome is what follows from an object.
type outcome struct {
	// findings are about the object, in the fixed order of the decision.
	findings []sandbox.Finding
	// computed are its computed attributes, unknown where they cannot be known yet.
	computed computed
	// about is what the summaries of its warnings end with.
	about string
}

// phase says how much may be concluded from a value that looks wrong.
type phase uint8

const (
	// validating: Terraform's mocks validate too, with computed values that they
	// invent.
	validating phase = iota
	// planning: every computed value is one that its provider gave.
	planning
)

func (r *pureResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + r.name
}

func (r *pureResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = r.schema()
}

func (r *pureResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	guard, diags := platformPolicyFrom(req.ProviderData)
	resp.Diagnostics.Append(diags...)
	r.guard = guard
}

// ValidateConfig reports everything that is certainly wrong, offline. While no
// provider is configured it is not known what is imposed, and that may be the
// opinion for want of which a default would refuse.
func (r *pureResource) ValidateConfig(_ context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	guard := r.guard
	if guard == nil {
		guard = &platformPolicy{open: true}
	}
	resp.Diagnostics.Append(refusals(r.evaluate(req.Config.Raw, guard, validating).findings)...)
}

// ModifyPlan reports what is wrong or worth a warning, and plans every value
// that is known. Terraform plans twice, so warnings come from here alone.
func (r *pureResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	out := r.evaluate(req.Plan.Raw, r.guard, planning)
	resp.Diagnostics.Append(refusals(r.guard.problems())...)
	resp.Diagnostics.Append(refusals(out.findings)...)
	if resp.Diagnostics.HasError() {
		return
	}
	moved := r.widened(req.State.Raw, req.Plan.Raw)
	resp.Diagnostics.Append(moved.refusals()...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(warnings(out.findings, out.about)...)
	resp.Diagnostics.Append(moved.warnings()...)
	for _, f := range out.findings {
		if f.Verdict == sandbox.Undecided {
			tflog.Debug(ctx, "the decision waits for a value", map[string]any{"at": f.Path.String(), "waits_for": f.Found})
		}
	}
	filled, err := out.computed.fill(req.Plan.Raw)
	if err != nil {
		resp.Diagnostics.Append(providerFault(err))
		return
	}
	resp.Plan.Raw = filled
}

// Create turns the plan into the state.
func (r *pureResource) Create(_ context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	state, diags := r.settle(tftypes.NewValue(req.Plan.Raw.Type(), nil), req.Plan.Raw)
	resp.Diagnostics.Append(diags...)
	if !diags.HasError() {
		resp.State.Raw = state
	}
}

// Read keeps the state: nothing outside Terraform can change it.
func (r *pureResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update turns the plan into the state.
func (r *pureResource) Update(_ context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	state, diags := r.settle(req.State.Raw, req.Plan.Raw)
	resp.Diagnostics.Append(diags...)
	if !diags.HasError() {
		resp.State.Raw = state
	}
}

// Delete has nothing to do; Terraform forgets the state.
func (r *pureResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// settle works out the state. By now everything is known, so what is still
// undecided is refused like what is denied.
func (r *pureResource) settle(prior, plan tftypes.Value) (tftypes.Value, diag.Diagnostics) {
	out := r.evaluate(plan, r.guard, planning)
	diags := refusals(r.guard.problems())
	for _, f := range out.findings {
		if f.Verdict == sandbox.Undecided {
			f.Verdict = sandbox.Deny
		}
		diags.Append(refusals([]sandbox.Finding{f})...)
	}
	if !diags.HasError() {
		diags.Append(r.widened(prior, plan).settled()...)
	}
	if diags.HasError() {
		return plan, diags
	}
	state, err := out.computed.fill(plan)
	if err != nil {
		diags.Append(providerFault(err))
	}
	return state, diags
}

// widened compares, where the object guards against widening.
func (r *pureResource) widened(prior, planned tftypes.Value) widening {
	if r.compare == nil {
		return widening{}
	}
	return r.compare(prior, planned, r.guard)
}
