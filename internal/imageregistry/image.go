package imageregistry

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Image is what a registry has for a reference.
type Image struct {
	// Digest names the content that was looked at: of the manifest that the
	// reference names or, when one platform of an index was asked for, of that
	// platform's.
	Digest string
	// Variants are the platforms that may run, at least one, in the index's order.
	Variants []Variant
}

// Variant is an image for one platform.
type Variant struct {
	Platform Platform
	Digest   string
	// User is as whom the image is configured to run, in the form of an image
	// configuration. It is never empty: a configuration that names nobody runs as
	// root, which is "0".
	User string
}

// GuestUser is the variant's user.
func (v Variant) GuestUser() sandbox.GuestUser {
	user, err := sandbox.ParseGuestUser(v.User)
	if err != nil {
		return sandbox.GuestUser{}
	}
	return user
}

// User is the one user of all platforms that may run. Where they differ it refuses
// with [sandbox.CodeImagePlatform]: no single answer would be true of the one that
// will.
func (i Image) User() (string, error) {
	first := i.Variants[0]
	for _, v := range i.Variants[1:] {
		if !v.GuestUser().Alike(first.GuestUser()) {
			return "", sandbox.Finding{
				Code: sandbox.CodeImagePlatform, Path: platformPath(), Found: i.users(),
				Required: "the same user on every platform that may run",
				Remedy:   "set platform to the one that will run, such as " + sandbox.Echo(first.Platform.String()),
			}.Refusal(nil)
		}
	}
	return first.User, nil
}

func (i Image) users() string {
	texts := make([]string, len(i.Variants))
	for n, v := range i.Variants {
		texts[n] = v.Platform.String() + " runs as " + v.GuestUser().String()
	}
	return strings.Join(texts, ", ")
}

// Platform is the platform of an image that has only one, and any otherwise.
func (i Image) Platform() Platform {
	if len(i.Variants) != 1 {
		return Platform{}
	}
	return i.Variants[0].Platform
}
