package provider

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// objectKind is what is particular about one kind of object of the service. M is its
// model; whatever talks to the service fills in the model it is given.
type objectKind[M any] interface {
	name() string
	describe() schema.Schema
	// header is the part of a model that every object has.
	header(m *M) header
	// limits are the deadlines of who states none.
	limits() deadlines

	// check finds what is certainly wrong, asking nobody. What is unknown is not.
	check(m *M) []sandbox.Finding
	// foresee fills in what follows from the configuration. prior is nil for a new
	// object. It names the attributes whose change makes another object.
	foresee(p *groundwork, prior, plan *M) foresight

	// create makes the object. made reports that it exists, also beside an error: it
	// is then kept in the state, so that nothing is lost.
	create(ctx context.Context, h *home, plan, config *M, a *attempt) (made bool, err error)
	// filed is what creations of the same object are written down under: its id where
	// the configuration gives it one.
	filed(m *M) string
	// read fails with service.not_found when the object is not there.
	read(ctx context.Context, h *home, m *M) error
	// listed reports whether the group's own list has the object.
	listed(ctx context.Context, h *home, m *M) (bool, error)
	update(ctx context.Context, h *home, prior, plan, config *M, wait acasapi.Wait) error
	// remove waits until the object is gone.
	remove(ctx context.Context, h *home, m *M, wait acasapi.Wait) error

	// locate reads an id into a model, so that read can complete it.
	locate(m *M, id string) error
}

// header is what every object has.
type header struct {
	id       types.String
	timeouts timeouts.Value
	// group is the group that the object lies in; nil for a group itself and while
	// it is not known.
	group *acasapi.GroupID
	// imported reports a state with nothing but an id.
	imported bool
}

// groundwork is what a plan is made with.
type groundwork struct {
	home  *home
	guard *platformPolicy
	// replaces is the id of the object in whose place a new one is planned, empty for a
	// new one in nobody's.
	replaces string
}

// foresight is what a plan says beyond its values.
type foresight struct {
	replace  []path.Path
	findings []sandbox.Finding
	about    string
}

// deadlines are how long each operation may take.
type deadlines struct{ create, read, update, remove time.Duration }

// remoteResource is a resource with an object of the service behind it.
type remoteResource[M any] struct {
	kind objectKind[M]

	home  *home
	guard *platformPolicy
}

func (r *remoteResource[M]) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + r.kind.name()
}

func (r *remoteResource[M]) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = r.kind.describe()
	if resp.Schema.Blocks == nil {
		resp.Schema.Blocks = map[string]schema.Block{}
	}
	limits := r.kind.limits()
	about := func(what string, d time.Duration) string {
		return "How long " + what + " may take, as `30m` or `90s`. `" + strings.TrimSuffix(d.String(), "0s") + "` when unset."
	}
	resp.Schema.Blocks["timeouts"] = timeouts.Block(ctx, timeouts.Opts{
		Create: true, Read: true, Update: true, Delete: true,
		CreateDescription: about("creating", limits.create), ReadDescription: about("reading", limits.read),
		UpdateDescription: about("updating", limits.update), DeleteDescription: about("deleting", limits.remove),
	})
}

// IdentitySchema names an object by its whole id, which holds everything else.
func (r *remoteResource[M]) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"id": identityschema.StringAttribute{RequiredForImport: true, Description: "The object's whole id, as its attribute id has it."},
	}}
}

func (r *remoteResource[M]) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	data, diags := configuredFrom(req.ProviderData)
	resp.Diagnostics.Append(diags...)
	if data != nil {
		r.home, r.guard = data.home, data.guard
	}
}

// ValidateConfig reports what is certainly wrong, offline.
func (r *remoteResource[M]) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config M
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(refusals(r.kind.check(&config))...)
	}
}

// ModifyPlan asks nobody either: it needs a home to know where the object will be.
func (r *remoteResource[M]) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		var id types.String
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...)
		resp.Diagnostics.Append(r.parting(id.ValueString())...)
		return
	}
	resp.Diagnostics.Append(refusals(r.guard.problems())...)
	if r.home == nil || len(r.home.findings) > 0 {
		resp.Diagnostics.Append(r.home.usable()...)
		return
	}
	if !r.home.known() && req.ClientCapabilities.DeferralAllowed {
		resp.Deferred = &resource.Deferred{Reason: resource.DeferredReasonProviderConfigUnknown}
		return
	}
	var plan M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	var prior *M
	if !req.State.Raw.IsNull() {
		prior = new(M)
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	var config M
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if w, ok := r.kind.(configReader[M]); ok {
		w.readConfig(&plan, &config, prior)
	}
	replaces := ""
	if prior != nil {
		resp.Diagnostics.Append(remember(ctx, r.kind.header(prior).id.ValueString(), resp.Private)...)
	} else {
		var diags diag.Diagnostics
		replaces, diags = remembered(ctx, req.Private)
		resp.Diagnostics.Append(diags...)
	}
	seen := r.kind.foresee(&groundwork{r.home, r.guard, replaces}, prior, &plan)
	resp.Diagnostics.Append(refusals(seen.findings)...)
	resp.Diagnostics.Append(warnings(seen.findings, seen.about)...)
	if prior != nil && len(seen.replace) > 0 {
		replaces = r.kind.header(prior).id.ValueString()
	}
	resp.Diagnostics.Append(r.parting(replaces)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if prior != nil {
		resp.RequiresReplace = append(resp.RequiresReplace, seen.replace...)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
}

// configReader is a kind whose plan follows from what only the configuration holds.
type configReader[M any] interface {
	readConfig(plan, config, prior *M)
}

// waiting is the one deadline of an operation, for the wait and for the context, and
// tells the log how far the service is.
func waiting(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc, acasapi.Wait) {
	// The wait ends first, and says in which state the object was.
	bounded, cancel := context.WithTimeout(ctx, limit+time.Second)
	return bounded, cancel, acasapi.Wait{Limit: limit, Progress: func(state string, elapsed time.Duration) {
		tflog.Debug(ctx, "waiting for the service", map[string]any{"state": state, "elapsed": elapsed.String()})
	}}
}

// ImportState takes the object's id, given as text or as identity. The read that
// follows completes it.
func (r *remoteResource[M]) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id := req.ID
	if id == "" && req.Identity != nil {
		var given types.String
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root("id"), &given)...)
		id = given.ValueString()
	}
	var m M
	if err := r.kind.locate(&m, id); err != nil {
		resp.Diagnostics.Append(problem("importing", err))
		return
	}
	// The id alone: the read that follows finds the rest.
	placed := r.kind.header(&m)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), placed.id)...)
	if resp.Identity != nil {
		resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), placed.id)...)
	}
}
