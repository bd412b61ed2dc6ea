package acasguests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
)

// layoutImage is the image in an OCI layout. Its layers are laid over each other
// here, with what they take away from each other, and unpacked in the guest.
func layoutImage(dir, reference string) (process.Image, error) {
	path, err := layout.FromPath(dir)
	if err != nil {
		return process.Image{}, fmt.Errorf("open an image's layout: %w", err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		return process.Image{}, fmt.Errorf("open an image's layout: %w", err)
	}
	image, err := pick(index, reference, maxIndexes)
	if err != nil {
		return process.Image{}, fmt.Errorf("find image %s in its layout: %w", sandbox.Echo(reference), err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return process.Image{}, fmt.Errorf("read an image's configuration: %w", err)
	}
	return process.Image{
		User: config.Config.User, Env: config.Config.Env, WorkDir: config.Config.WorkingDir,
		Files: func(context.Context) (io.ReadCloser, error) { return mutate.Extract(image), nil },
	}, nil
}

// maxIndexes is how deep indexes may lie in each other.
const maxIndexes = 4

// named is how a layout names what is in it.
const named = "org.opencontainers.image.ref.name"

// pick finds an image: by its name where the index has names, and for this machine's
// processor where it has platforms.
func pick(index v1.ImageIndex, reference string, depth int) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	names := false
	for _, d := range manifest.Manifests {
		names = names || d.Annotations[named] == reference
	}
	for _, d := range manifest.Manifests {
		if names && d.Annotations[named] != reference || !fits(d.Platform) {
			continue
		}
		switch {
		case d.MediaType.IsImage():
			return index.Image(d.Digest)
		case d.MediaType.IsIndex() && depth > 0:
			below, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			return pick(below, reference, depth-1)
		}
	}
	return nil, errors.New("it has none for this machine")
}

func fits(p *v1.Platform) bool {
	return p == nil || p.OS == "linux" && p.Architecture == runtime.GOARCH
}
