package policy

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// imageFindings judges how an image is named.
func imageFindings(img sandbox.Image, known sandbox.Known) []sandbox.Finding {
	var findings []sandbox.Finding
	field := func(name string) sandbox.FieldPath {
		return sandbox.FieldPath{sandbox.Attr("image"), sandbox.Attr(name)}
	}
	bad := func(name, found, required, remedy string) {
		if !known.Has(field(name)) {
			return
		}
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeImageInvalid, Path: field(name), Found: found, Required: required, Remedy: remedy,
		})
	}
	if img.Prebuilt != "" && img.Reference != "" && known.Has(field("reference")) {
		bad("prebuilt", sandbox.Echo(img.Prebuilt)+" and "+sandbox.Echo(img.Reference),
			"a catalogue name or a registry reference, not both", "remove one of the two")
	}
	if img.Digest != "" && !sandbox.IsDigest(img.Digest) {
		bad("digest", sandbox.Echo(img.Digest), "sha256:<64 lower-case hex digits>", "copy the digest whole")
	}
	if img.Prebuilt != "" && (!sandbox.NamesPrebuilt(img.Prebuilt) || strings.ContainsFunc(img.Prebuilt, unprintable)) {
		bad("prebuilt", sandbox.Echo(img.Prebuilt), "a catalogue name, of which the version is part: no slash, colon or space",
			"write it as in python-3.13, or set reference instead")
	}
	if _, err := sandbox.ParseGuestUser(img.User); err != nil {
		bad("user", sandbox.Echo(img.User)+": "+err.Error(), "a user of an image configuration, such as 1000 or 1000:1000",
			"correct the image, or the copy of its user")
	}
	if img.Reference == "" {
		return findings
	}
	if strings.ContainsFunc(img.Reference, unprintable) || strings.Contains(img.Reference, "://") {
		bad("reference", sandbox.Echo(img.Reference), "host/path:tag or host/path@digest in ASCII", "remove the scheme, spaces and other characters")
		return findings
	}
	if _, digest, pinned := strings.Cut(img.Reference, "@"); pinned {
		switch {
		case !sandbox.IsDigest(digest):
			bad("reference", sandbox.Echo(img.Reference), "a digest of the form sha256:<64 lower-case hex digits>", "copy the digest whole")
		case img.Digest != "" && img.Digest != digest:
			bad("digest", sandbox.Echo(img.Digest), "the digest that the reference names: "+digest, "remove one of the two")
		}
	}
	return findings
}

// unprintable are the characters that no name of an image has.
func unprintable(r rune) bool { return r <= ' ' || r > '~' }

// registryFindings judges the registries that a policy lists.
func registryFindings(registries []string, known sandbox.Known) []sandbox.Finding {
	root := at("image_registries")
	if !known.Has(root) {
		return nil
	}
	var findings []sandbox.Finding
	for i, r := range registries {
		path := root.Append(sandbox.Index(i))
		if !known.Has(path) || r != "" && (sandbox.Image{Reference: r + "/x"}).Registry() == r {
			continue
		}
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeInvalidText, Path: path, Found: sandbox.Echo(r),
			Required: "a registry's host in lower case, with its port if it has one, and no path",
			Remedy:   `write it as in a reference, such as "registry.example.com"`,
		})
	}
	return slices.Clip(findings)
}
