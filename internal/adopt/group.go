package adopt

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hcltext"
)

// The types of the resources that are written.
const (
	typeGroup    = "sandbox_group"
	typeImage    = "sandbox_disk_image"
	typeVolume   = "sandbox_volume"
	typeSecret   = "sandbox_secret"
	typeSnapshot = "sandbox_snapshot"
	typeNetwork  = "sandbox_vnet_connection"
)

// FromGroup writes a group and what is in it. The same inventory in whatever order
// gives the same text.
func FromGroup(in *Inventory) *Adoption {
	d := newDraft(
		"What group "+in.ID.Name+" of resource group "+in.ID.ResourceGroup+" holds, with the blocks that import it.",
		"Plan it first: it imports everything and changes nothing. Remove the import blocks afterwards.",
	)
	group := d.group(groupOf(in.ID, in.Group), "")
	for _, name := range slices.Sorted(maps.Keys(wireProperties(in.Group))) {
		d.leave(Left{Kind: kindSetting, Name: name, What: wireProperties(in.Group)[name], Why: "sandbox_group neither sets nor changes these, and leaves them as they are"})
	}
	d.images(group, in.Images)
	d.volumes(group, in.Volumes)
	d.secrets(group, in.Secrets)
	d.snapshots(group, in.Snapshots)
	d.networks(group, in.Networks)
	d.besides(in)
	return d.done()
}

// place is a group that children are written into.
type place struct {
	id acasapi.GroupID
	// ref is how resources name it: by reference, or by its id.
	ref hclwrite.Tokens
}

func (p place) child(segment, name string) string { return p.id.String() + "/" + segment + "/" + name }

// aGroup is a group as it is written, whoever told of it.
type aGroup struct {
	id                    acasapi.GroupID
	location, environment string
	tags                  map[string]string
	identity              string
	identities            []string
}

func groupOf(id acasapi.GroupID, doc wire.Group) aGroup {
	g := aGroup{id: id, location: doc.Location, environment: doc.Properties.EnvironmentID, tags: doc.Tags}
	if doc.Identity != nil {
		g.identity, g.identities = doc.Identity.Type, slices.Sorted(maps.Keys(doc.Identity.User))
	}
	return g
}

// hasIdentity reports whether the group has an identity at all.
func (g aGroup) hasIdentity() bool {
	return g.identity != "" && !strings.EqualFold(g.identity, wire.IdentityNone)
}

// group writes the group. was is the address of another provider's resource.
func (d *draft) group(g aGroup, was string) place {
	o := Object{Address: typeGroup + "." + d.free(typeGroup, g.id.Name), ID: g.id.String(), Was: was}
	var remarks []string
	if g.hasIdentity() {
		remarks = []string{"Programs in every sandbox of the group can get tokens of its identity."}
	}
	d.resource(o, remarks, func(b *hclwrite.Body) {
		b.SetAttributeRaw("name", hcltext.String(g.id.Name))
		b.SetAttributeRaw("subscription_id", hcltext.String(g.id.Subscription))
		b.SetAttributeRaw("resource_group", hcltext.String(g.id.ResourceGroup))
		b.SetAttributeRaw("location", hcltext.String(g.location))
		optional(b, "environment_id", g.environment)
		texts(b, "tags", ownTexts(g.tags))
		if g.hasIdentity() {
			b.AppendNewline()
			identity := b.AppendNewBlock("identity", nil).Body()
			identity.SetAttributeRaw("type", hcltext.String(g.identity))
			if len(g.identities) > 0 {
				identity.SetAttributeRaw("identity_ids", hcltext.List(hcltext.Strings(g.identities)))
			}
		}
	})
	_, name, _ := strings.Cut(o.Address, ".")
	return place{g.id, hclwrite.TokensForTraversal(dotted(typeGroup, name, "id"))}
}

// wireProperties are settings of a group that no attribute stands for.
func wireProperties(doc wire.Group) map[string]string {
	p, found := doc.Properties, map[string]string{}
	for name, text := range map[string]string{"defaultCpu": p.DefaultCPU, "defaultMemory": p.DefaultMemory, "defaultDisk": p.DefaultDisk} {
		if text != "" {
			found[name] = text
		}
	}
	for name, set := range map[string]bool{
		"maxSandboxCount": p.MaxSandboxCount != 0, "defaultTimeoutSeconds": p.DefaultTimeoutSeconds != 0,
		"enableDetailedMetrics": p.EnableDetailedMetrics != nil, "gatewayConnections": len(p.GatewayConnections) > 0,
	} {
		if set {
			found[name] = ""
		}
	}
	for _, path := range wire.Unknown(&doc) {
		found[path] = "unknown here"
	}
	return found
}

// optional writes a text where there is one.
func optional(b *hclwrite.Body, name, text string) {
	if text != "" {
		b.SetAttributeRaw(name, hcltext.String(text))
	}
}

// texts writes a map where it holds something.
func texts(b *hclwrite.Body, name string, all map[string]string) {
	if len(all) > 0 {
		b.SetAttributeRaw(name, hcltext.Texts(all))
	}
}

// words writes a list where it holds something.
func words(b *hclwrite.Body, name string, all []string) {
	if len(all) > 0 {
		b.SetAttributeRaw(name, hclwrite.TokensForTuple(hcltext.Strings(all)))
	}
}

// ordered are items by name and then by id, whatever order they came in.
func ordered[T any](items []T, name, id func(T) string) []T {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b T) int {
		return cmp.Or(cmp.Compare(name(a), name(b)), cmp.Compare(id(a), id(b)))
	})
	return items
}
