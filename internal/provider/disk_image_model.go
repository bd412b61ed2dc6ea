package provider

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// diskImageModel is sandbox_disk_image.
type diskImageModel struct {
	Group            types.String   `tfsdk:"group"`
	Image            types.Object   `tfsdk:"image"`
	Entrypoint       types.List     `tfsdk:"entrypoint"`
	Command          types.List     `tfsdk:"command"`
	Labels           types.Map      `tfsdk:"labels"`
	RegistryUsername types.String   `tfsdk:"registry_username"`
	RegistryToken    types.String   `tfsdk:"registry_token"`
	RegistryTokenWO  types.String   `tfsdk:"registry_token_wo"`
	ManagedIdentity  types.String   `tfsdk:"managed_identity"`
	ID               types.String   `tfsdk:"id"`
	ImageID          types.String   `tfsdk:"image_id"`
	Reference        types.String   `tfsdk:"reference"`
	Digest           types.String   `tfsdk:"digest"`
	User             types.String   `tfsdk:"user"`
	Platform         types.String   `tfsdk:"platform"`
	Timeouts         timeouts.Value `tfsdk:"timeouts"`
}

// imageParts are the attributes of the object image.
var imageParts = []string{"reference", "digest", "user", "platform", "prebuilt"}

func imageTypes() map[string]attr.Type {
	all := map[string]attr.Type{}
	for _, name := range imageParts {
		all[name] = types.StringType
	}
	return all
}

// part is one attribute of image, unknown while image is.
func (m *diskImageModel) part(name string) types.String {
	if m.Image.IsUnknown() {
		return types.StringUnknown()
	}
	text, ok := m.Image.Attributes()[name].(types.String)
	if !ok {
		return types.StringNull()
	}
	return text
}

// digestOf is the digest of a reference, if it has one.
func digestOf(reference string) string {
	_, digest, _ := strings.Cut(reference, "@")
	return digest
}

// hand fills in what is handed on to workloads.
func (m *diskImageModel) hand() {
	reference, digest := m.part("reference"), m.part("digest")
	m.User, m.Platform = m.part("user"), m.part("platform")
	m.Reference, m.Digest = types.StringUnknown(), types.StringUnknown()
	if reference.IsUnknown() || digest.IsUnknown() {
		return
	}
	m.Reference = plainText(sandbox.Image{Reference: reference.ValueString(), Digest: digest.ValueString()}.Pinned())
	m.Digest = plainText(digestOf(m.Reference.ValueString()))
}

// body is the image as it is asked for. token is write-only or stored.
func (m *diskImageModel) body(token string) wire.CreateImage {
	b := wire.CreateImage{
		Image:                     &wire.ImageSource{Base: m.Reference.ValueString(), Entrypoint: wordsOf(m.Entrypoint), Cmd: wordsOf(m.Command)},
		Labels:                    textsOf(m.Labels),
		ManagedIdentityResourceID: m.ManagedIdentity.ValueString(),
	}
	if user := m.RegistryUsername.ValueString(); user != "" {
		b.RegistryCredentials = &wire.RegistryCredentials{Username: user, Token: token}
	}
	return b
}

// place names the image that was made.
func (m *diskImageModel) place(id string) {
	m.ImageID, m.ID = types.StringValue(id), childID(m.Group, "diskimages", id)
}

// is reports that the service's image is the one that is planned, as far as it says.
func (m *diskImageModel) is(doc wire.Image) bool {
	same := *m
	same.take(doc)
	return same.Reference.Equal(m.Reference) && same.Entrypoint.Equal(m.Entrypoint) && same.Command.Equal(m.Command) && same.Labels.Equal(m.Labels)
}

// take fills the model with what the service says.
func (m *diskImageModel) take(doc wire.Image) {
	m.place(doc.ID)
	m.Labels = mapFrom(m.Labels, ownLabels(doc.Labels))
	if doc.Image != nil {
		m.Entrypoint, m.Command = listFrom(m.Entrypoint, doc.Image.Entrypoint), listFrom(m.Command, doc.Image.Cmd)
	}
	if base := doc.Reference(); base != "" && (sandbox.Image{Reference: base}).Pinned() != m.Reference.ValueString() {
		// An import, or an image that is not the one that was made.
		parts := map[string]attr.Value{}
		for _, name := range imageParts {
			parts[name] = types.StringNull()
		}
		parts["reference"] = types.StringValue(base)
		m.Image = types.ObjectValueMust(imageTypes(), parts)
		m.hand()
	}
}
