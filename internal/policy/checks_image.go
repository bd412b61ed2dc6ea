package policy

import (
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// image holds the image against every policy's rules, and its user against what
// the workload does.
func (q *question) image() {
	if q.spec.open.image {
		if q.imagesBounded() || q.userMatters() || q.backend.decl.ImageSources.Len() < len(sandbox.ImageSources()) {
			q.wait(at("image"), "image", "whether the policy and the backend accept it")
		}
		return
	}
	q.imageSource()
	for i := range q.policy.layers {
		q.imageWithin(&q.policy.layers[i])
	}
	q.imageUser()
}

// imageSource asks whether the backend makes sandboxes from such an image.
func (q *question) imageSource() {
	img, have := q.spec.spec.Image, q.backend.decl.ImageSources
	q.imageFrom("prebuilt", img.Prebuilt, have.Has(sandbox.ImageSourcePrebuilt))
	q.imageFrom("reference", img.Reference, have.Has(sandbox.ImageSourceReference))
}

func (q *question) imageFrom(field, named string, served bool) {
	switch {
	case served:
	case !q.imageKnown(field):
		q.wait(q.imageField(field), "image."+field, "whether the backend makes a sandbox from it")
	case named != "":
		q.deny(sandbox.CodeImageUnsupported, q.imageField(field), sandbox.Echo(named),
			"an image source of backend "+q.backendName()+": "+q.backend.decl.ImageSources.String(),
			"leave the image out, or choose another backend")
	}
}

func (q *question) imagesBounded() bool {
	for i := range q.policy.layers {
		l := &q.policy.layers[i]
		p := l.Policy.Images
		if l.imagesOpen != (imagesOpen{}) || p.Registries != nil || p.RequireDigest ||
			p.Prebuilt == sandbox.PrebuiltDeny || p.User > sandbox.ImageUserAny {
			return true
		}
	}
	return false
}

func (q *question) imageField(name string) sandbox.FieldPath {
	return sandbox.FieldPath{sandbox.Attr("image"), sandbox.Attr(name)}
}

func (q *question) imageKnown(name string) bool { return q.spec.known.Has(q.imageField(name)) }

func (q *question) imageWithin(l *compiledLayer) {
	img, rule := q.spec.spec.Image, l.Policy.Images
	if q.spec.known.Everything() && img.IsZero() && rule.User <= sandbox.ImageUserAny && l.imagesOpen == (imagesOpen{}) {
		return
	}
	q.prebuiltWithin(l, img, rule)
	q.registryWithin(l, img, rule)
	q.digestWithin(l, img, rule)
	q.userWithin(l, img, rule)
}

func (q *question) prebuiltWithin(l *compiledLayer, img sandbox.Image, rule sandbox.ImagePolicy) {
	path := q.imageField("prebuilt")
	switch {
	case !q.imageKnown("prebuilt"):
		if rule.Prebuilt == sandbox.PrebuiltDeny || l.imagesOpen.prebuilt {
			q.wait(path, "image.prebuilt", "whether "+l.Source+" permits it")
		}
	case img.Prebuilt == "":
	case l.imagesOpen.prebuilt:
		q.wait(path, "image_prebuilt of "+l.Source, "whether catalogue images are permitted")
	case rule.Prebuilt == sandbox.PrebuiltDeny:
		q.deny(sandbox.CodeImagePrebuiltDenied, path, sandbox.Echo(img.Prebuilt),
			l.Source+" permits no catalogue images", `name an image by reference, or set image_prebuilt = "allow" in the policy`)
	}
}

func (q *question) registryWithin(l *compiledLayer, img sandbox.Image, rule sandbox.ImagePolicy) {
	path := q.imageField("reference")
	switch {
	case !q.imageKnown("reference"):
		if rule.Registries != nil || l.imagesOpen.registries {
			q.wait(path, "image.reference", "whether "+l.Source+" permits its registry")
		}
	case img.Reference == "":
	case !l.imagesOpen.registries && rule.Registries == nil:
	case slices.Contains(rule.Registries, registryOf(img.Reference)):
	case l.imagesOpen.registries:
		q.wait(path, "image_registries of "+l.Source, "whether the registry is permitted")
	default:
		q.deny(sandbox.CodeImageRegistryDenied, path, sandbox.Echo(img.Reference),
			"a registry that "+l.Source+" lists: "+quoted(rule.Registries),
			"copy the image to a listed registry, or add the registry to image_registries in the policy")
	}
}

func (q *question) digestWithin(l *compiledLayer, img sandbox.Image, rule sandbox.ImagePolicy) {
	if img.Prebuilt != "" && q.imageKnown("prebuilt") {
		return
	}
	path := q.imageField("digest")
	pinned := img.Digest != "" || strings.Contains(img.Reference, "@sha256:")
	open := !q.imageKnown("digest") || !q.imageKnown("reference") || !q.imageKnown("prebuilt")
	switch {
	case !rule.RequireDigest && !l.imagesOpen.digest:
	case pinned && q.imageKnown("digest"):
	case open:
		q.wait(path, "image.digest", "whether the image is pinned")
	case img.Reference == "":
	case l.imagesOpen.digest:
		q.wait(path, "image_require_digest of "+l.Source, "whether the image must be pinned")
	default:
		q.deny(sandbox.CodeImageDigestRequired, path, sandbox.Echo(img.Reference)+" without a digest",
			l.Source+" wants images pinned by digest", "set image.digest to the sha256 the registry answers for it")
	}
}

func (q *question) userWithin(l *compiledLayer, img sandbox.Image, rule sandbox.ImagePolicy) {
	path := q.imageField("user")
	if l.imagesOpen.user {
		q.wait(path, "image_user of "+l.Source, "which user an image may run as")
		return
	}
	if rule.User <= sandbox.ImageUserAny {
		return
	}
	if !q.imageKnown("user") {
		q.wait(path, "image.user", "whether "+l.Source+" permits it")
		return
	}
	user := parseUser(img.User)
	fits := user.known && ((rule.User == sandbox.ImageUserRoot) == user.root)
	if !fits {
		q.deny(sandbox.CodeImageUserDenied, path, user.String(), rule.User.String()+", by "+l.Source,
			"use an image whose user is known to be "+rule.User.String())
	}
}

// userMatters reports whether the backend writes files with more authority than
// the program has, so that the image's user decides what works.
func (q *question) userMatters() bool {
	needs := sandbox.SetOf(sandbox.CapabilityFilesOut, sandbox.CapabilityHostTools, sandbox.CapabilityFilesDelete)
	return q.backend.decl.WriteAuthority.Principal() == sandbox.PrincipalRoot &&
		(!q.spec.requires.Intersect(needs).Empty() || q.spec.requiresOpen)
}

// imageUser refuses what the image's user cannot do where the backend writes
// files as root: such files and their directories are not the program's.
func (q *question) imageUser() {
	if q.backend.decl.WriteAuthority.Principal() != sandbox.PrincipalRoot {
		return
	}
	path := q.imageField("user")
	requires := q.spec.requires
	if !q.imageKnown("user") {
		if q.userMatters() {
			q.wait(path, "image.user", "whether the program can write beside files that root wrote")
		}
		return
	}
	user := parseUser(q.spec.spec.Image.User)
	blocked := sandbox.CapabilitySet{}
	if user.known && !user.root {
		blocked = requires.Intersect(sandbox.SetOf(sandbox.CapabilityFilesOut, sandbox.CapabilityHostTools))
	}
	if !user.known || !user.root {
		blocked = blocked.Union(requires.Intersect(sandbox.SetOf(sandbox.CapabilityFilesDelete)))
	}
	switch {
	case !blocked.Empty():
		q.deny(sandbox.CodeImageUserUnfit, path, user.String()+" with "+blocked.String()+" required",
			"an image that runs as root: backend "+q.backendName()+" writes files as root, and the program can create nothing beside them",
			"use an image whose user is root, or take "+blocked.String()+" out of requires")
	case q.spec.requiresOpen && (!user.known || !user.root):
		q.wait(path, "requires", "whether the image's user matters")
	case user.known && !user.root && requires.Has(sandbox.CapabilityExec):
		q.warn(sandbox.CodeImageUserUnfit, path, user.String(),
			"nothing, as long as the program only executes",
			"expect that it cannot write beside uploaded files")
	}
}
