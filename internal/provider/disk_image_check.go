package provider

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/prebuilt"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// check finds what no image can be made from.
func (diskImageKind) check(m *diskImageModel) []sandbox.Finding {
	findings := append(checkGroup(m.Group), imageSourceFindings(m)...)
	findings = append(findings, checkLabelMap(m.Labels)...)
	return append(findings, registryFindings(m)...)
}

func imageSourceFindings(m *diskImageModel) []sandbox.Finding {
	var findings []sandbox.Finding
	find := func(part, found, required, remedy string) {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeInvalidText, Path: sandbox.Path("image", part), Found: found, Required: required, Remedy: remedy,
		})
	}
	if p := m.part("prebuilt"); !p.IsNull() && !p.IsUnknown() {
		find("prebuilt", sandbox.Echo(p.ValueString()), "an image of a registry", `use the catalogue's image directly, as image = { prebuilt = "…" } of a workload`)
		return findings
	}
	reference, digest := m.part("reference"), m.part("digest")
	if !reference.IsUnknown() {
		text := reference.ValueString()
		switch {
		case text == "":
			find("reference", "no reference", "a reference with its registry", "name the image to import; misspelt names inside an object are dropped by Terraform without a word")
		case !wire.NamesRegistry(text):
			find("reference", sandbox.Echo(text), "REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:…, the registry as a host", "write the registry's host in front")
		case digestOf(text) != "" && !sandbox.IsDigest(digestOf(text)):
			find("reference", sandbox.Echo(text), "a digest of sha256: and 64 hex digits", "copy the digest whole")
		case digestOf(text) != "" && digest.ValueString() != "" && digestOf(text) != digest.ValueString():
			find("digest", sandbox.Echo(digest.ValueString()), "the digest in the reference, "+digestOf(text), "remove one of the two")
		}
	}
	if text := digest.ValueString(); text != "" && !sandbox.IsDigest(text) {
		find("digest", sandbox.Echo(text), "sha256: and 64 hex digits", "copy the digest whole")
	}
	return append(findings, imagePlatformFindings(m.part("platform"))...)
}

// imagePlatformFindings refuses images that the service imports and cannot run.
func imagePlatformFindings(platform types.String) []sandbox.Finding {
	text := platform.ValueString()
	if platform.IsNull() || platform.IsUnknown() || text == prebuilt.Platform {
		return nil
	}
	return []sandbox.Finding{{
		Code: sandbox.CodeImagePlatform, Path: sandbox.Path("image", "platform"), Found: sandbox.Echo(text),
		Required: prebuilt.Platform + ", the only platform that the service runs",
		Remedy:   `look the image up with platform = "` + prebuilt.Platform + `", or import one that is made for it`,
	}}
}

func registryFindings(m *diskImageModel) []sandbox.Finding {
	contradiction := func(at, found, required, remedy string) []sandbox.Finding {
		return []sandbox.Finding{{Code: sandbox.CodeContradiction, Path: sandbox.Path(at), Found: found, Required: required, Remedy: remedy}}
	}
	user, stored, once := m.RegistryUsername, m.RegistryToken, m.RegistryTokenWO
	if user.IsUnknown() || stored.IsUnknown() || once.IsUnknown() || m.ManagedIdentity.IsUnknown() {
		return nil
	}
	switch {
	case !stored.IsNull() && !once.IsNull():
		return contradiction("registry_token", "registry_token and registry_token_wo", "one of the two", "keep registry_token_wo, which is stored nowhere")
	case !user.IsNull() && !m.ManagedIdentity.IsNull():
		return contradiction("managed_identity", "registry_username and managed_identity", "one way to open the registry", "remove one of the two")
	case user.IsNull() && (!stored.IsNull() || !once.IsNull()):
		return contradiction("registry_username", "a token without a user", "registry_username beside it", "set registry_username")
	}
	return nil
}

// readConfig lends the plan the write-only token; foresee takes it out again.
func (diskImageKind) readConfig(plan, config, _ *diskImageModel) {
	plan.RegistryTokenWO = config.RegistryTokenWO
}

// missingTokenFindings refuses a user without a token where an image is made. One that
// exists needs none any more: who has moved here from another provider may have lost it.
func missingTokenFindings(m *diskImageModel, once types.String) []sandbox.Finding {
	if m.RegistryUsername.ValueString() == "" || !m.RegistryToken.IsNull() || !once.IsNull() {
		return nil
	}
	return []sandbox.Finding{{
		Code: sandbox.CodeMissing, Path: sandbox.Path("registry_token_wo"), Found: "registry_username without a token",
		Required: "the token of the user, to make the image", Remedy: "set registry_token_wo, or remove registry_username",
	}}
}

// foresee fills in what is handed on, and holds the image against the policy that is
// imposed: the workload's own check comes too late for an image that nobody uses.
func (diskImageKind) foresee(g *groundwork, prior, plan *diskImageModel) foresight {
	plan.hand()
	once := plan.RegistryTokenWO
	plan.RegistryTokenWO = types.StringNull()
	out := foresight{about: "image " + clip(plan.Reference.ValueString(), maxSummary/2)}
	out.findings = imposedImageFindings(g.guard, plan)
	if prior == nil {
		out.findings = append(out.findings, missingTokenFindings(plan, once)...)
		plan.ID, plan.ImageID = types.StringUnknown(), types.StringUnknown()
		return out
	}
	plan.ID, plan.ImageID = prior.ID, prior.ImageID
	if plan.Reference.IsUnknown() || plan.Reference.ValueString() != prior.Reference.ValueString() {
		out.replace = append(out.replace, path.Root("image"))
	}
	if len(out.replace) > 0 || anotherImage(prior, plan) {
		plan.ID, plan.ImageID = types.StringUnknown(), types.StringUnknown()
	}
	return out
}

// anotherImage reports a change that the schema itself answers with a replacement.
func anotherImage(a, b *diskImageModel) bool {
	return !a.Group.Equal(b.Group) || !a.Entrypoint.Equal(b.Entrypoint) || !a.Command.Equal(b.Command) || !a.Labels.Equal(b.Labels) ||
		!a.RegistryUsername.Equal(b.RegistryUsername) || !a.RegistryToken.Equal(b.RegistryToken) || !a.ManagedIdentity.Equal(b.ManagedIdentity)
}

// imposedImageFindings are the imposed policy's rules about images, as far as they
// are about what is imported.
func imposedImageFindings(guard *platformPolicy, m *diskImageModel) []sandbox.Finding {
	p := guard.effective()
	if p == nil || m.Reference.IsUnknown() || m.Reference.IsNull() {
		return nil
	}
	var findings []sandbox.Finding
	host := sandbox.Image{Reference: m.Reference.ValueString()}.Registry()
	if allowed := p.Images.Registries; allowed != nil && !slices.Contains(allowed, host) {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeImageRegistryDenied, Path: sandbox.Path("image", "reference"), Found: "registry " + sandbox.Echo(host),
			Required: "a registry that the platform policy allows: " + strings.Join(allowed, ", "), Remedy: "import the image from one of these",
		})
	}
	if p.Images.RequireDigest && m.Digest.IsNull() {
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeImageDigestRequired, Path: sandbox.Path("image", "digest"), Found: "no digest",
			Required: "an image pinned by digest, by the platform policy", Remedy: "set digest, or give data.sandbox_image, which has looked it up",
		})
	}
	return findings
}
