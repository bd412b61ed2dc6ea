package provider

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// check finds names that no group has, and an identity that contradicts itself.
func (groupKind) check(m *groupModel) []sandbox.Finding {
	findings := append(groupNameFindings(m), checkTagMap(m.Tags)...)
	if location := m.Location; !location.IsNull() && !location.IsUnknown() {
		_, err := acasapi.Region(location.ValueString())
		findings = append(findings, placedAt("location", "write the region's name", err)...)
	}
	return append(findings, identityFindings(m)...)
}

// groupNameFindings judges each part of the id by itself, with the others made up.
func groupNameFindings(m *groupModel) []sandbox.Finding {
	var findings []sandbox.Finding
	for _, part := range []struct {
		attribute, remedy string
		value             types.String
		with              func(*acasapi.GroupID, string)
	}{
		{"subscription_id", "write the subscription's id", m.SubscriptionID, func(g *acasapi.GroupID, v string) { g.Subscription = v }},
		{"resource_group", "choose another name", m.ResourceGroup, func(g *acasapi.GroupID, v string) { g.ResourceGroup = v }},
		{"name", "choose another name", m.Name, func(g *acasapi.GroupID, v string) { g.Name = v }},
	} {
		if part.value.IsNull() || part.value.IsUnknown() {
			continue
		}
		id := acasapi.GroupID{Subscription: embeddedSubscription, ResourceGroup: "g", Name: "g"}
		part.with(&id, part.value.ValueString())
		findings = append(findings, placedAt(part.attribute, part.remedy, id.Check())...)
	}
	return findings
}

func identityFindings(m *groupModel) []sandbox.Finding {
	kind, ids := m.identity()
	if m.Identity.IsNull() || m.Identity.IsUnknown() || kind.IsUnknown() || ids.IsUnknown() {
		return nil
	}
	at := func(name string) sandbox.FieldPath { return sandbox.Path("identity", name) }
	known := []string{wire.IdentitySystem, wire.IdentityUser, wire.IdentitySystemUser}
	matches := false
	for _, word := range known {
		matches = matches || sameIdentityType(kind.ValueString(), word)
	}
	user := strings.Contains(strings.ToLower(kind.ValueString()), "userassigned")
	switch {
	case !matches:
		return []sandbox.Finding{{
			Code: sandbox.CodeUnknownWord, Path: at("type"), Found: sandbox.Echo(kind.ValueString()), Required: strings.Join(known, " or "),
			Remedy: "write one of these, or remove the block for no identity",
		}}
	case user && len(ids.Elements()) == 0:
		return []sandbox.Finding{{
			Code: sandbox.CodeMissing, Path: at("identity_ids"), Found: "no identity", Required: "the identities that " + wire.IdentityUser + " is about",
			Remedy: "list their resource ids",
		}}
	case !user && len(ids.Elements()) > 0:
		return []sandbox.Finding{{
			Code: sandbox.CodeContradiction, Path: at("identity_ids"), Found: "identities beside type " + kind.ValueString(),
			Required: "a type with " + wire.IdentityUser, Remedy: `write type = "` + wire.IdentitySystemUser + `", or remove identity_ids`,
		}}
	}
	return nil
}

// readConfig tells what was left out, which the provider gives or nobody does, from
// what is not known yet.
func (groupKind) readConfig(plan, config, _ *groupModel) {
	for _, part := range []struct{ planned, written *types.String }{
		{&plan.SubscriptionID, &config.SubscriptionID}, {&plan.ResourceGroup, &config.ResourceGroup}, {&plan.Location, &config.Location},
	} {
		if part.planned.IsUnknown() && part.written.IsNull() {
			*part.planned = types.StringNull()
		}
	}
}

// foresee fills in where the group will be, and says what an identity means.
func (groupKind) foresee(g *groundwork, prior, plan *groupModel) foresight {
	h := g.home
	fill(&plan.SubscriptionID, h.subscription, h.known())
	fill(&plan.ResourceGroup, h.resourceGroup, h.known())
	fill(&plan.Location, h.location, h.known())
	out := foresight{about: "group " + plan.Name.ValueString()}
	out.findings = append(out.findings, unplaced(h, plan)...)
	if len(out.findings) > 0 {
		return out
	}
	out.findings = append(groupNameFindings(plan), reachableIdentity(g.guard, plan)...)
	placeGroup(h, plan)
	if prior == nil {
		plan.PrincipalID, plan.TenantID = foreseenPrincipal(plan, nil)
		if strings.EqualFold(g.replaces, plan.ID.ValueString()) {
			// Another group under the same id: what lies in it goes with the old one. An
			// unknown id makes Terraform replace that too, in the right order.
			plan.ID = types.StringUnknown()
		}
		return out
	}
	plan.keepSpelling(prior)
	placeGroup(h, plan)
	plan.PrincipalID, plan.TenantID = foreseenPrincipal(plan, prior)
	for _, c := range []struct {
		name          string
		before, after types.String
		same          func(a, b string) bool
	}{
		{"name", prior.Name, plan.Name, strings.EqualFold},
		{"subscription_id", prior.SubscriptionID, plan.SubscriptionID, strings.EqualFold},
		{"resource_group", prior.ResourceGroup, plan.ResourceGroup, strings.EqualFold},
		{"location", prior.Location, plan.Location, sameRegion},
	} {
		if c.after.IsUnknown() || !c.same(c.before.ValueString(), c.after.ValueString()) {
			out.replace = append(out.replace, path.Root(c.name))
		}
	}
	if before := prior.EnvironmentID.ValueString(); before != "" &&
		(plan.EnvironmentID.IsUnknown() || !strings.EqualFold(before, plan.EnvironmentID.ValueString())) {
		out.replace = append(out.replace, path.Root("environment_id"))
	}
	return out
}

// fill sets what was left out to the provider's, which may not be known yet.
func fill(to *types.String, with string, known bool) {
	switch {
	case to.IsNull() && with != "":
		*to = types.StringValue(with)
	case to.IsNull() && !known:
		*to = types.StringUnknown()
	}
}

// unplaced says what the group lacks to have a place, once the provider is known.
func unplaced(h *home, m *groupModel) []sandbox.Finding {
	var findings []sandbox.Finding
	for _, part := range []struct {
		name, variable string
		value          types.String
	}{
		{"subscription_id", "ARM_SUBSCRIPTION_ID", m.SubscriptionID},
		{"resource_group", "AZURE_RESOURCE_GROUP", m.ResourceGroup},
		{"location", "AZURE_LOCATION", m.Location},
	} {
		if (part.value.IsNull() || part.value.ValueString() == "") && !part.value.IsUnknown() && h.known() {
			findings = append(findings, sandbox.Finding{
				Code: sandbox.CodeMissing, Path: sandbox.Path(part.name), Found: "no " + part.name + " here, in the provider block or in " + part.variable,
				Required: "a " + part.name,
				Remedy:   "set " + part.name + " here, acas." + part.name + " in the provider block, or the variable " + part.variable,
			})
		}
	}
	return findings
}

// placeGroup plans the id and the endpoint, where everything in them is known.
func placeGroup(h *home, m *groupModel) {
	m.ID, m.Endpoint = types.StringUnknown(), types.StringUnknown()
	if h.known() && !m.Location.IsUnknown() {
		if endpoint, err := h.endpoint(m.Location.ValueString()); err == nil {
			m.Endpoint = types.StringValue(endpoint)
		}
	}
	if id := m.groupID(); !m.SubscriptionID.IsUnknown() && !m.ResourceGroup.IsUnknown() && !m.Name.IsUnknown() && id.Check() == nil {
		m.ID = types.StringValue(id.String())
	}
}

// foreseenPrincipal is what is known of the system-assigned identity: it stays while
// the group keeps one, and is null without.
func foreseenPrincipal(plan, prior *groupModel) (principal, tenant types.String) {
	kind, _ := plan.identity()
	system := strings.Contains(strings.ToLower(kind.ValueString()), "systemassigned")
	switch {
	case plan.Identity.IsUnknown() || kind.IsUnknown():
		return types.StringUnknown(), types.StringUnknown()
	case !system:
		if prior != nil && kind.ValueString() != "" {
			// The service may name a tenant of user-assigned identities too.
			if was, _ := prior.identity(); sameIdentityType(was.ValueString(), kind.ValueString()) {
				return prior.PrincipalID, prior.TenantID
			}
		}
		if kind.ValueString() != "" {
			return types.StringUnknown(), types.StringUnknown()
		}
		return types.StringNull(), types.StringNull()
	case prior != nil && !prior.PrincipalID.IsNull():
		return prior.PrincipalID, prior.TenantID
	default:
		return types.StringUnknown(), types.StringUnknown()
	}
}

// reachableIdentity is the finding that programs in sandboxes can use the group's
// identity: acquiring is refused to workloads that do not require one, and a policy
// that permits none is held here already.
func reachableIdentity(guard *platformPolicy, m *groupModel) []sandbox.Finding {
	kind, ids := m.identity()
	if kind.ValueString() == "" && len(ids.Elements()) == 0 {
		return nil
	}
	f := sandbox.Finding{
		Code: sandbox.CodeAttachedIdentity, Verdict: sandbox.Allow, Path: sandbox.Path("identity"),
		Found:    "an identity of which programs in every sandbox of the group can get tokens",
		Required: "no identity, unless the workloads of the group require attached_identity; a host refuses all others",
		Remedy:   "remove the block identity, or keep workloads that need an identity in a group of their own",
	}
	if p := guard.effective(); p != nil && p.MaximumIdentityScope == sandbox.IdentityScopeNone {
		f.Verdict = sandbox.Deny
		f.Required = `no identity: the platform policy's maximum_identity_scope is "none"`
	}
	return []sandbox.Finding{f}
}
