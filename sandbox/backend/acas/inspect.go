package acas

import (
	"context"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasegress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// inspect holds what the service shows of a sandbox against what was asked: egress by
// the algebra, nothing else that it reaches or is reached by, and no identity.
func inspect(doc wire.Sandbox, want acasegress.Compiled) error {
	if err := acasegress.Compare(want.Means, acasegress.ReadSandbox(doc)).Err(); err != nil {
		return err
	}
	if err := reach(doc); err != nil {
		return err
	}
	for _, i := range doc.IdentitySettings {
		if i.Lifecycle != "None" {
			return sandbox.Finding{
				Code: sandbox.CodeAttachedIdentity, Subject: "sandbox " + sandbox.Echo(doc.ID),
				Found:    "the identity " + sandbox.Echo(i.Identity) + ", which its programs can use",
				Required: "none, since no workload can require one here", Remedy: "dispose the sandbox; " + identityRemedy,
			}.Refusal(nil)
		}
	}
	return nil
}

// source is what a sandbox is made from: a name of the service's catalogue, or the one
// disk image of the group that was built from the reference.
func (e *Engine) source(ctx context.Context, image sandbox.Image) (wire.SourcesRef, error) {
	if image.Prebuilt != "" && image.Reference == "" {
		return wire.SourcesRef{DiskImage: &wire.ImageRef{Name: image.Prebuilt, IsPublic: true}}, nil
	}
	if image.Reference == "" || image.Prebuilt != "" {
		return wire.SourcesRef{}, imageRefusal(sandbox.CodeImageInvalid, "no image, or two", "a catalogue name or a reference", "name one in the workload's image")
	}
	want := image.Pinned() // as the provider asks for it; others write a tag beside the digest
	var ids []string
	for listed, err := range e.group.Images(ctx, nil) {
		if err != nil {
			return wire.SourcesRef{}, engineError("look for the image", err)
		}
		if (sandbox.Image{Reference: listed.Reference()}).Pinned() == want && wire.SameState(listed.State(), wire.ImageReady) {
			ids = append(ids, listed.ID)
		}
	}
	switch len(ids) {
	case 0:
		return wire.SourcesRef{}, imageRefusal(sandbox.CodeServiceNotFound, "no disk image of "+sandbox.Echo(want)+" that is ready", "one in the group", "import it, with sandbox_disk_image or sandboxctl image import")
	case 1:
		return wire.SourcesRef{DiskImage: &wire.ImageRef{ID: ids[0]}}, nil
	default:
		return wire.SourcesRef{}, imageRefusal(sandbox.CodeServiceConflict, strconv.Itoa(len(ids))+" disk images of "+sandbox.Echo(want), "one", "delete all but one")
	}
}

func imageRefusal(code sandbox.Code, found, required, remedy string) error {
	return sandbox.Finding{Code: code, Path: sandbox.Path("image"), Found: found, Required: required, Remedy: remedy}.Refusal(nil)
}
