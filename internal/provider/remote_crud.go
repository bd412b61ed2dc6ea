package provider

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Create makes the object. What exists afterwards stands in the state, whatever
// else happened.
func (r *remoteResource[M]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(r.home.usable()...)
	limit, diags := r.kind.header(&plan).timeouts.Create(ctx, r.kind.limits().create)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	bounded, cancel, wait := waiting(ctx, limit)
	defer cancel()
	a := &attempt{journal: r.home.journal, clock: r.home.clock, wait: wait, object: r.kind.filed(&plan)}
	made, err := r.kind.create(bounded, r.home, &plan, &config, a)
	a.end(ctx, made, r.kind.header(&plan).id.ValueString(), err)
	if made {
		resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
		resp.Diagnostics.Append(asPlanned(req.Plan, &resp.State)...)
		resp.Diagnostics.Append(identify(ctx, resp.Identity, r.kind.header(&plan).id)...)
	}
	if err != nil {
		resp.Diagnostics.Append(problem("creating", err))
	}
}

// Read looks at the object. One that is surely gone leaves the state; one that
// merely cannot be found does not.
func (r *remoteResource[M]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var id types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...)
	// Before everything else: an object that is gone needs its identity too.
	resp.Diagnostics.Append(identify(ctx, resp.Identity, id)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if r.home != nil && !r.home.known() {
		if req.ClientCapabilities.DeferralAllowed {
			resp.Deferred = &resource.Deferred{Reason: resource.DeferredReasonProviderConfigUnknown}
		}
		return // as it was; it is read when the provider is configured
	}
	resp.Diagnostics.Append(r.home.usable()...)
	var m M
	resp.Diagnostics.Append(r.prior(ctx, req.State, id, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	limit, diags := r.kind.header(&m).timeouts.Read(ctx, r.kind.limits().read)
	resp.Diagnostics.Append(diags...)
	bounded, cancel, _ := waiting(ctx, limit)
	defer cancel()
	gone, err := r.look(bounded, &m)
	spoiled, useless := errors.AsType[*spoiledError](err)
	switch {
	case errors.Is(err, errTold):
	case useless:
		resp.Diagnostics.AddWarning("Object is of no use",
			sentence(spoiled.object, '.')+" The service says that it failed: "+oneLine(spoiled.why)+". It is taken for gone, and the next apply makes another one.")
		resp.State.RemoveResource(ctx)
	case err != nil:
		resp.Diagnostics.Append(problem("reading", err))
	case gone:
		resp.State.RemoveResource(ctx)
	default:
		resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
		(&attempt{}).note(ctx, r.home.journal.Recorded(id.ValueString()))
	}
}

// prior is the state as it was. An import gave nothing but the id: the rest of what
// finds the object follows from that.
func (r *remoteResource[M]) prior(ctx context.Context, state tfsdk.State, id types.String, m *M) diag.Diagnostics {
	diags := state.Get(ctx, m)
	if diags.HasError() {
		return diags
	}
	if r.kind.header(m).imported {
		if err := r.kind.locate(m, id.ValueString()); err != nil {
			diags.Append(problem("reading", err))
		}
	}
	return diags
}

// Update changes what can change in place.
func (r *remoteResource[M]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var prior, plan, config M
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(r.home.usable()...)
	limit, diags := r.kind.header(&plan).timeouts.Update(ctx, r.kind.limits().update)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	bounded, cancel, wait := waiting(ctx, limit)
	defer cancel()
	if err := r.kind.update(bounded, r.home, &prior, &plan, &config, wait); err != nil {
		resp.Diagnostics.Append(problem("updating", err))
		return // the state stays as it was, and the next refresh sees what holds
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
	resp.Diagnostics.Append(asPlanned(req.Plan, &resp.State)...)
	resp.Diagnostics.Append(identify(ctx, resp.Identity, r.kind.header(&plan).id)...)
}

// asPlanned keeps what was planned where the service answered otherwise: an Azure
// Policy adds a tag, a size comes back in another unit. Terraform would call that the
// provider's mistake and replace the object. The next refresh shows the difference.
func asPlanned(plan tfsdk.Plan, state *tfsdk.State) diag.Diagnostics {
	var planned, got map[string]tftypes.Value
	if err := errors.Join(plan.Raw.As(&planned), state.Raw.As(&got)); err != nil {
		return diag.Diagnostics{providerFault(err)}
	}
	for name, value := range planned {
		if value.IsFullyKnown() {
			got[name] = value
		}
	}
	state.Raw = tftypes.NewValue(state.Raw.Type(), got)
	return nil
}

// Delete removes the object and waits until it is gone. One that is gone already is
// success, if it surely is.
func (r *remoteResource[M]) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m M
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	resp.Diagnostics.Append(r.home.usable()...)
	limit, diags := r.kind.header(&m).timeouts.Delete(ctx, r.kind.limits().remove)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	bounded, cancel, wait := waiting(ctx, limit)
	defer cancel()
	gone, err := r.look(bounded, &m)
	if _, useless := errors.AsType[*spoiledError](err); (err == nil || useless) && !gone {
		err = r.kind.remove(bounded, r.home, &m, wait)
	}
	if err != nil && !errors.Is(err, errTold) {
		resp.Diagnostics.Append(problem("deleting", err))
	}
	if errors.Is(err, errTold) {
		resp.Diagnostics.Append(refusals([]sandbox.Finding{r.home.lostFinding()})...)
	}
}

// identify names the object for Terraform, where it asks.
func identify(ctx context.Context, identity *tfsdk.ResourceIdentity, id types.String) diag.Diagnostics {
	if identity == nil {
		return nil
	}
	return identity.SetAttribute(ctx, path.Root("id"), id)
}
