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
	case slices.Contains(rule.Registries, img.Registry()):
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
	if finding, found := userFinding(l.Source, rule.User, guestUser(img)); found {
		q.say(finding)
	}
}

// userFinding is what a policy's rule about an image's user has to say of a user,
// if anything.
func userFinding(source string, rule sandbox.ImageUser, user sandbox.GuestUser) (sandbox.Finding, bool) {
	path := sandbox.Path("image", "user")
	switch {
	case rule <= sandbox.ImageUserAny || rule == sandbox.ImageUserRoot && user.IsRoot():
		return sandbox.Finding{}, false
	case rule == sandbox.ImageUserNonRoot && user.IsOther():
		return sandbox.Finding{
			Verdict: sandbox.Allow, Code: sandbox.CodeImageUserRootGroup, Path: path,
			Found:    user.String() + " in root's group",
			Required: source + " wants " + rule.String() + ", which the user is and its group is not",
			Remedy:   "give the image a group of its own, such as 1000:1000, if it needs nothing of root's",
		}, user.RootGroup()
	default:
		return sandbox.Finding{
			Verdict: sandbox.Deny, Code: sandbox.CodeImageUserDenied, Path: path, Found: user.String(),
			Required: rule.String() + ", by " + source, Remedy: "use an image whose user is known to be " + rule.String(),
		}, true
	}
}

// BoundsUser reports whether a policy in force has a rule about the user that an
// image runs as, so that a guest is asked for its own.
func (p *CompiledPolicy) BoundsUser() bool {
	return slices.ContainsFunc(p.layers, func(l compiledLayer) bool { return l.Policy.Images.User > sandbox.ImageUserAny })
}

// UserFindings is what the policies in force say of the user that a guest turned
// out to have. It is the rule that a plan asks about the image's configured user.
func (p *CompiledPolicy) UserFindings(user sandbox.GuestUser) []sandbox.Finding {
	var findings []sandbox.Finding
	for i := range p.layers {
		l := &p.layers[i]
		if f, found := userFinding(l.Source, l.Policy.Images.User, user); found {
			findings = append(findings, f)
		}
	}
	return findings
}

// guestUser is the image's user. Text that is none is reported where the spec is
// compiled, and is undecided here.
func guestUser(img sandbox.Image) sandbox.GuestUser {
	user, err := sandbox.ParseGuestUser(img.User)
	if err != nil {
		return sandbox.GuestUser{}
	}
	return user
}

// userRule is what the backend's way of writing files makes of a user.
func (q *question) userRule() sandbox.UserRule {
	return sandbox.UserRule{Files: q.backend.decl.WriteAuthority, Backend: q.backendName()}
}

// userMatters reports whether the image's user decides what works, as far as is
// known.
func (q *question) userMatters() bool {
	rule := q.userRule()
	return rule.Matters(q.spec.requires) || q.spec.requiresOpen && rule.Matters(sandbox.SetOf(sandbox.Capabilities()...))
}

// imageUser refuses what the image's user cannot do where the backend writes
// files as root.
func (q *question) imageUser() {
	rule := q.userRule()
	if !rule.Applies() {
		return
	}
	if !q.imageKnown("user") {
		if q.userMatters() {
			q.wait(q.imageField("user"), "image.user", "whether the program can write beside files that root wrote")
		}
		return
	}
	user := guestUser(q.spec.spec.Image)
	finding, found := rule.Finding(user, q.spec.requires)
	if q.spec.requiresOpen && !user.IsRoot() && (!found || finding.Verdict == sandbox.Allow) {
		q.wait(q.imageField("user"), "requires", "whether the image's user matters")
		return
	}
	if found {
		finding.Path = q.imageField("user")
		q.say(finding)
	}
}
