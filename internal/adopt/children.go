package adopt

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hcltext"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// The kinds of objects that a resource is written for, where it can be.
const (
	kindImage    = "disk image"
	kindVolume   = "volume"
	kindSecret   = "secret"
	kindSnapshot = "snapshot"
	kindNetwork  = "network connection"
)

// labelled is what to write of an object's labels: the provider takes fewer than the
// service does. Those that it does not take stay as they are.
func labelled(labels wire.Labels) (taken map[string]string, kept bool) {
	taken = ownTexts(labels)
	if wire.Labels(taken).Check() != nil {
		return nil, true
	}
	return taken, false
}

// ownTexts are labels or tags without those that this product puts there by itself.
func ownTexts(all map[string]string) map[string]string {
	own := maps.Clone(all)
	maps.DeleteFunc(own, func(key, _ string) bool { return strings.HasPrefix(key, sandbox.ReservedLabelPrefix) })
	return own
}

const whyLabels = "Its labels are none that this provider writes. They stay as they are."

// keep writes the lifecycle of an object whose labels stay.
func keep(b *hclwrite.Body, kept bool) {
	if kept {
		ignoring(b, []string{"labels"}, whyLabels)
	}
}

func imageName(i wire.Image) string {
	reference := i.Reference()
	return cmp.Or(i.Labels["name"], i.Name, reference[strings.LastIndexByte(reference, '/')+1:])
}

func (d *draft) images(group place, images []wire.Image) {
	references := map[string]int{}
	for _, i := range images {
		references[sandbox.Image{Reference: i.Reference()}.Pinned()]++
	}
	for _, i := range ordered(images, imageName, func(i wire.Image) string { return i.ID }) {
		reference := i.Reference()
		if why := unwritableImage(reference, &i); why != "" {
			d.leave(Left{Kind: kindImage, Name: i.ID, What: strings.TrimSpace(imageName(i) + "  " + reference), Why: why})
			continue
		}
		var remarks []string
		if n := references[sandbox.Image{Reference: reference}.Pinned()]; n > 1 {
			remarks = append(remarks, "The group has "+strconv.Itoa(n)+" images of this reference. Clients refuse it or take the first: keep one.")
		}
		o := Object{Address: typeImage + "." + d.free(typeImage, imageName(i)), ID: group.child("diskimages", i.ID)}
		d.resource(o, remarks, func(b *hclwrite.Body) {
			b.SetAttributeRaw("group", group.ref)
			b.SetAttributeRaw("image", hcltext.Object([]hclwrite.Tokens{hcltext.Pair(hclwrite.TokensForIdentifier("reference"), hcltext.String(reference))}))
			if i.Image != nil {
				words(b, "entrypoint", i.Image.Entrypoint)
				words(b, "command", i.Image.Cmd)
			}
			labels, kept := labelled(i.Labels)
			texts(b, "labels", labels)
			keep(b, kept)
		})
	}
}

// unwritableImage is why no resource can be written for an image.
func unwritableImage(reference string, i *wire.Image) string {
	_, digest, pinned := strings.Cut(reference, "@")
	switch {
	case i != nil && wire.SameState(i.State(), wire.ImageFailed):
		return "the build failed; delete it, and import its reference again"
	case reference == "":
		return "it was not made from a registry, which is what sandbox_disk_image makes"
	case !wire.NamesRegistry(reference):
		return "sandbox_disk_image wants a reference that states its registry"
	case pinned && !sandbox.IsDigest(digest):
		return "sandbox_disk_image takes no such digest"
	default:
		return ""
	}
}

func (d *draft) volumes(group place, volumes []wire.Volume) {
	for _, v := range ordered(volumes, wire.Volume.Called, func(wire.Volume) string { return "" }) {
		name := v.Called()
		if why := unwritableVolume(v); why != "" {
			d.leave(Left{Kind: kindVolume, Name: name, What: v.Type, Why: why})
			continue
		}
		o := Object{Address: typeVolume + "." + d.free(typeVolume, name), ID: group.child("volumes", name)}
		d.resource(o, nil, func(b *hclwrite.Body) {
			b.SetAttributeRaw("group", group.ref)
			b.SetAttributeRaw("name", hcltext.String(name))
			b.SetAttributeRaw("type", hcltext.String(v.Type))
			if v.Type == wire.VolumeDisk {
				b.SetAttributeRaw("size", hcltext.String(v.Size))
			}
			labels, kept := labelled(v.Labels)
			texts(b, "labels", labels)
			optional(b, "storage_container_id", v.StorageContainerResourceID)
			if v.Auth != nil && v.Auth.Identity != nil {
				optional(b, "managed_identity_id", v.Auth.Identity.ResourceID)
			}
			keep(b, kept)
		})
	}
}

func unwritableVolume(v wire.Volume) string {
	byo := v.StorageContainerResourceID != ""
	switch {
	case wire.CheckSegment(v.Called()) != nil:
		return "its name cannot stand in an id"
	case v.Type == wire.VolumeDisk && v.Size != "" && !byo, v.Type == wire.VolumeBlob && !byo, v.Type == wire.VolumeBlobByo && byo:
		return ""
	case v.Type == wire.VolumeDisk, v.Type == wire.VolumeBlob, v.Type == wire.VolumeBlobByo:
		return "the service does not say of it what sandbox_volume has to state"
	default:
		return "sandbox_volume makes none of this type"
	}
}

func (d *draft) secrets(group place, secrets []SecretNames) {
	for _, s := range ordered(secrets, func(s SecretNames) string { return s.ID }, func(SecretNames) string { return "" }) {
		if !acasapi.IsSecretName(s.ID) {
			d.leave(Left{Kind: kindSecret, Name: s.ID, Why: "a secret of sandbox_secret has 3 to 64 letters, digits and hyphens for a name"})
			continue
		}
		keys := slices.Sorted(slices.Values(s.Keys))
		name := d.free(typeSecret, s.ID)
		values := d.free("variable", s.ID+" values")
		d.variable(values, "The values of secret "+s.ID+" by name: "+strings.Join(keys, ", ")+". The service does not give them out.",
			hclwrite.TokensForFunctionCall("map", hclwrite.TokensForIdentifier("string")), false)
		o := Object{Address: typeSecret + "." + name, ID: group.child("secrets", s.ID)}
		d.resource(o, nil, func(b *hclwrite.Body) {
			b.SetAttributeRaw("group", group.ref)
			b.SetAttributeRaw("name", hcltext.String(s.ID))
			given := map[string]hclwrite.Tokens{}
			for _, key := range keys {
				given[key] = element("var", values, key)
			}
			b.SetAttributeRaw("values_wo", hcltext.Map(given))
			b.SetAttributeRaw("values_wo_version", hcltext.String("1"))
			ignoring(b, []string{"values_wo_version"}, "The values stay as they are. Without this line the next apply sends those of the variable.")
		})
	}
}

func snapshotName(s wire.Snapshot) string { return cmp.Or(s.Labels["name"], "snapshot "+s.ID) }

func (d *draft) snapshots(group place, snapshots []wire.Snapshot) {
	for _, s := range ordered(snapshots, snapshotName, func(s wire.Snapshot) string { return s.ID }) {
		if wire.CheckSegment(s.SandboxID) != nil {
			d.leave(Left{Kind: kindSnapshot, Name: s.ID, What: s.Labels["name"], Why: "the service does not say of which sandbox it is a copy"})
			continue
		}
		o := Object{Address: typeSnapshot + "." + d.free(typeSnapshot, snapshotName(s)), ID: group.child("snapshots", s.ID)}
		d.resource(o, nil, func(b *hclwrite.Body) {
			b.SetAttributeRaw("group", group.ref)
			b.SetAttributeRaw("sandbox_id", hcltext.String(s.SandboxID))
			labels, kept := labelled(s.Labels)
			texts(b, "labels", labels)
			keep(b, kept)
		})
	}
}

func (d *draft) networks(group place, networks []wire.VNetConnection) {
	for _, n := range ordered(networks, func(n wire.VNetConnection) string { return n.Name }, func(wire.VNetConnection) string { return "" }) {
		subnet := n.Properties.SubnetID
		named := acasapi.GroupID{Subscription: group.id.Subscription, ResourceGroup: group.id.ResourceGroup, Name: n.Name}
		if named.Check() != nil || !strings.Contains(strings.ToLower(subnet), "/subnets/") {
			d.leave(Left{Kind: kindNetwork, Name: n.Name, What: subnet, Why: "sandbox_vnet_connection wants the name of a connection and the id of a subnet"})
			continue
		}
		o := Object{Address: typeNetwork + "." + d.free(typeNetwork, n.Name), ID: group.child("vnetConnections", n.Name)}
		d.resource(o, nil, func(b *hclwrite.Body) {
			b.SetAttributeRaw("group", group.ref)
			b.SetAttributeRaw("name", hcltext.String(n.Name))
			b.SetAttributeRaw("subnet_id", hcltext.String(subnet))
		})
	}
}
