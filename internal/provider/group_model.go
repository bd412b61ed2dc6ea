package provider

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// groupModel is sandbox_group.
type groupModel struct {
	Name           types.String   `tfsdk:"name"`
	SubscriptionID types.String   `tfsdk:"subscription_id"`
	ResourceGroup  types.String   `tfsdk:"resource_group"`
	Location       types.String   `tfsdk:"location"`
	EnvironmentID  types.String   `tfsdk:"environment_id"`
	Tags           types.Map      `tfsdk:"tags"`
	Identity       types.Object   `tfsdk:"identity"`
	ID             types.String   `tfsdk:"id"`
	Endpoint       types.String   `tfsdk:"endpoint"`
	PrincipalID    types.String   `tfsdk:"principal_id"`
	TenantID       types.String   `tfsdk:"tenant_id"`
	Timeouts       timeouts.Value `tfsdk:"timeouts"`
}

// groupID names the group; it is complete when its parts are known.
func (m *groupModel) groupID() acasapi.GroupID {
	return acasapi.GroupID{Subscription: m.SubscriptionID.ValueString(), ResourceGroup: m.ResourceGroup.ValueString(), Name: m.Name.ValueString()}
}

// keepSpelling leaves ids as they stand in the state where ARM takes them for the same.
func (m *groupModel) keepSpelling(prior *groupModel) {
	for _, id := range []struct{ to, from *types.String }{
		{&m.SubscriptionID, &prior.SubscriptionID}, {&m.ResourceGroup, &prior.ResourceGroup}, {&m.EnvironmentID, &prior.EnvironmentID},
	} {
		if sameText(*id.from, *id.to, strings.EqualFold) {
			*id.to = *id.from
		}
	}
}

func identityTypes() map[string]attr.Type {
	return map[string]attr.Type{"type": types.StringType, "identity_ids": types.ListType{ElemType: types.StringType}}
}

// identity is the block's type, in the service's spelling, and its identities.
func (m *groupModel) identity() (kind types.String, ids types.List) {
	kind, _ = m.Identity.Attributes()["type"].(types.String)
	ids, _ = m.Identity.Attributes()["identity_ids"].(types.List)
	return kind, ids
}

// sameIdentityType compares types without regard to case and spaces.
func sameIdentityType(a, b string) bool {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "")) }
	return plain(a) == plain(b)
}

// wireIdentity is the identity as the service takes it: none is said, not left out,
// so that one that somebody else gave goes.
func (m *groupModel) wireIdentity() *wire.GroupIdentity {
	kind, ids := m.identity()
	if kind.ValueString() == "" {
		return &wire.GroupIdentity{Type: wire.IdentityNone}
	}
	w := &wire.GroupIdentity{Type: kind.ValueString()}
	for _, word := range []string{wire.IdentitySystem, wire.IdentityUser, wire.IdentitySystemUser} {
		if sameIdentityType(w.Type, word) {
			w.Type = word
		}
	}
	for _, id := range wordsOf(ids) {
		if w.User == nil {
			w.User = map[string]wire.UserIdentity{}
		}
		w.User[id] = wire.UserIdentity{}
	}
	return w
}

// wireTags are the tags, never nil: what is left out would stay.
func (m *groupModel) wireTags() map[string]string { return textsOf(m.Tags) }

// take fills the model with what the service says, and keeps the user's spelling
// where the service means the same.
func (m *groupModel) take(doc wire.Group) {
	if m.Location.IsNull() || m.Location.IsUnknown() || !sameRegion(m.Location.ValueString(), doc.Location) {
		m.Location = types.StringValue(doc.Location)
	}
	if !strings.EqualFold(m.EnvironmentID.ValueString(), doc.Properties.EnvironmentID) {
		m.EnvironmentID = plainText(doc.Properties.EnvironmentID)
	}
	m.Tags = mapFrom(m.Tags, ownLabels(doc.Tags))
	m.takeIdentity(doc.Identity)
}

// is reports that the service's group is the one that is planned.
func (m *groupModel) is(doc wire.Group) bool {
	same := *m
	same.take(doc)
	return same.Location.Equal(m.Location) && same.EnvironmentID.Equal(m.EnvironmentID) && same.Tags.Equal(m.Tags) && same.Identity.Equal(m.Identity)
}

func (m *groupModel) takeIdentity(doc *wire.GroupIdentity) {
	m.PrincipalID, m.TenantID = types.StringNull(), types.StringNull()
	if doc == nil || doc.Type == "" || sameIdentityType(doc.Type, wire.IdentityNone) {
		m.Identity = types.ObjectNull(identityTypes())
		return
	}
	m.PrincipalID, m.TenantID = plainText(doc.PrincipalID), plainText(doc.TenantID)
	kind, ids := m.identity()
	if !sameIdentityType(kind.ValueString(), doc.Type) {
		kind = types.StringValue(doc.Type)
	}
	got := slices.Sorted(maps.Keys(doc.User))
	if !sameFold(wordsOf(ids), got) {
		ids = listFrom(types.ListNull(types.StringType), got)
	} else if ids.IsNull() {
		ids = types.ListNull(types.StringType)
	}
	m.Identity = types.ObjectValueMust(identityTypes(), map[string]attr.Value{"type": kind, "identity_ids": ids})
}

// sameFold compares ids as ARM does: without regard to case, and to order.
func sameFold(a, b []string) bool {
	fold := func(in []string) []string {
		out := make([]string, len(in))
		for i, s := range in {
			out[i] = strings.ToLower(s)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return slices.Equal(fold(a), fold(b))
}

// sameRegion compares locations as ARM does.
func sameRegion(a, b string) bool {
	x, errX := acasapi.Region(a)
	y, errY := acasapi.Region(b)
	return errX == nil && errY == nil && x == y
}
