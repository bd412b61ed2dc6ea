package imageregistry

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// lookup is one question to one registry.
type lookup struct {
	puller *remote.Puller
	ref    name.Reference
	host   string
	want   Platform
	limits Limits
	ended  func() error // why the look-up's time is over, or nil
}

func (l *lookup) run(ctx context.Context) (Image, error) {
	top, err := l.puller.Get(ctx, l.ref)
	if err != nil {
		return Image{}, l.failure(err, "read the manifest")
	}
	if err := checkDigest(top.Digest); err != nil {
		return Image{}, err
	}
	switch {
	case top.MediaType.IsIndex():
		return l.index(ctx, top)
	case top.MediaType.IsImage():
		v, err := l.variant(top, Platform{})
		if err != nil {
			return Image{}, err
		}
		if l.want != (Platform{}) && !l.want.admits(v.Platform) {
			return Image{}, l.noPlatform([]Platform{v.Platform})
		}
		return Image{Digest: v.Digest, Variants: []Variant{v}}, nil
	default:
		return Image{}, notAnImage(top.MediaType)
	}
}

// index looks at every platform that may run.
func (l *lookup) index(ctx context.Context, top *remote.Descriptor) (Image, error) {
	manifest, err := v1.ParseIndexManifest(bytes.NewReader(top.Manifest))
	if err != nil {
		return Image{}, answerInvalid("an index that cannot be read", "an index of images")
	}
	found := Image{Digest: top.Digest.String()}
	var others []Platform
	for i := range manifest.Manifests {
		child := &manifest.Manifests[i]
		if child.Platform != nil && !l.want.admits(platformOf(child.Platform)) {
			if child.Platform.OS != "unknown" { // what is signed or said about an image
				others = append(others, platformOf(child.Platform))
			}
			continue
		}
		if len(found.Variants)+len(others) >= l.limits.Platforms {
			return Image{}, answerInvalid("an index of more than "+strconv.Itoa(l.limits.Platforms)+" platforms", "fewer")
		}
		v, err := l.child(ctx, child)
		switch {
		case err != nil:
			return Image{}, err
		case !l.want.admits(v.Platform):
			others = append(others, v.Platform)
		default:
			found.Variants = append(found.Variants, v)
		}
	}
	if len(found.Variants) == 0 {
		return Image{}, l.noPlatform(others)
	}
	if l.want != (Platform{}) && len(found.Variants) == 1 {
		found.Digest = found.Variants[0].Digest
	}
	return found, nil
}

// child looks at one image of an index. What the index says of its platform is what
// engines choose by; only where it says nothing the configuration counts.
func (l *lookup) child(ctx context.Context, d *v1.Descriptor) (Variant, error) {
	if !d.MediaType.IsImage() {
		return Variant{}, notAnImage(d.MediaType)
	}
	if err := checkDigest(d.Digest); err != nil {
		return Variant{}, err
	}
	desc, err := l.puller.Get(ctx, l.ref.Context().Digest(d.Digest.String()))
	if err != nil {
		return Variant{}, l.failure(err, "read the manifest of one platform")
	}
	if !desc.MediaType.IsImage() {
		return Variant{}, notAnImage(desc.MediaType)
	}
	return l.variant(desc, platformOf(d.Platform))
}

// variant reads an image's configuration.
func (l *lookup) variant(desc *remote.Descriptor, said Platform) (Variant, error) {
	image, err := desc.Image()
	if err != nil {
		return Variant{}, l.failure(err, "read the manifest")
	}
	manifest, err := image.Manifest()
	if err != nil {
		return Variant{}, answerInvalid("a manifest that cannot be read", "an image manifest")
	}
	if !manifest.Config.MediaType.IsConfig() || manifest.Config.Size > l.limits.Bytes {
		return Variant{}, notAnImage(manifest.Config.MediaType)
	}
	raw, err := image.RawConfigFile()
	if err != nil {
		return Variant{}, l.failure(err, "read the configuration")
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return Variant{}, answerInvalid("a configuration that cannot be read", "an image configuration")
	}
	v := Variant{Platform: said, Digest: desc.Digest.String(), User: config.Config.User}
	if said == (Platform{}) {
		v.Platform = Platform{OS: config.OS, Architecture: config.Architecture, Variant: config.Variant}
	}
	if v.User == "" {
		v.User = "0"
	}
	if _, err := sandbox.ParseGuestUser(v.User); err != nil {
		return Variant{}, sandbox.Finding{
			Code: sandbox.CodeImageInvalid, Path: referencePath(), Found: "an image that runs as " + sandbox.Echo(v.User) + ": " + err.Error(),
			Required: "an image that an engine can start", Remedy: "correct USER where the image is built",
		}.Refusal(nil)
	}
	return v, checkPlatform(v.Platform)
}

func platformOf(p *v1.Platform) Platform {
	if p == nil {
		return Platform{}
	}
	return Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant}
}

// checkPlatform refuses what could not be written down as a platform.
func checkPlatform(p Platform) error {
	if p == (Platform{}) {
		return nil
	}
	if _, err := ParsePlatform(p.String()); err != nil {
		return answerInvalid("an image for platform "+sandbox.Echo(p.String()), "os/architecture")
	}
	return nil
}

// checkDigest refuses digests of another kind than policies and workloads name.
func checkDigest(h v1.Hash) error {
	if !sandbox.IsDigest(h.String()) {
		return answerInvalid("digest "+sandbox.Echo(h.String()), "sha256:<64 hex digits>")
	}
	return nil
}

func notAnImage(t types.MediaType) error {
	return answerInvalid("content of type "+sandbox.Echo(string(t)), "an image, or an index of images")
}

func (l *lookup) noPlatform(have []Platform) error {
	names := make([]string, 0, len(have))
	for _, p := range have[:min(len(have), l.limits.Platforms)] {
		names = append(names, sandbox.Echo(p.String()))
	}
	required := l.want.String()
	if required == "" {
		required = "a Linux platform"
	}
	found := "an image for " + strings.Join(names, ", ")
	if len(names) == 0 {
		found = "an index without images"
	}
	return sandbox.Finding{
		Code: sandbox.CodeImagePlatform, Path: platformPath(), Found: found, Required: required,
		Remedy: "set platform to one that the image has, or build it for the other",
	}.Refusal(nil)
}
