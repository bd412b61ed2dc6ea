package conformance

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	userUnfit  = "image.user_unfit at image.user"
	userDenied = "image.user_denied at image.user"
	userGroup  = "image.user_root_group at image.user"
	userNone   = "image.invalid at image.user"
)

func images() []refusal {
	refusals := imageSources()
	refusals = append(refusals, imagesServed()...)
	refusals = append(refusals, imageUsers()...)
	refusals = append(refusals, imageUserSpellings()...)
	return append(refusals, imageUsersWhereFilesAreRoots()...)
}

func imageSources() []refusal {
	rule := func(r sandbox.ImagePolicy) change { return func(w *World) { w.Policy.Images = r } }
	listed := rule(sandbox.ImagePolicy{Registries: []string{"registry.example.com", "mirror.example.com:5000"}})
	none := rule(sandbox.ImagePolicy{Registries: []string{}})
	pinned := rule(sandbox.ImagePolicy{RequireDigest: true})
	from := func(reference string) change { return imaged(sandbox.Image{Reference: reference}) }
	prebuilt := imaged(sandbox.Image{Prebuilt: "python-3.13"})
	digest := "sha256:" + strings.Repeat("a", 64)
	const registry = "image.registry_denied at image.reference"
	return []refusal{
		{
			"a catalogue image where the policy permits none", then(prebuilt, rule(sandbox.ImagePolicy{Prebuilt: sandbox.PrebuiltDeny})),
			[]string{"image.prebuilt_denied at image.prebuilt"},
			"a catalogue image where the policy permits them", then(prebuilt, rule(sandbox.ImagePolicy{Prebuilt: sandbox.PrebuiltAllow})), nil,
		},
		{
			"a registry that is not listed", then(listed, from("other.example.com/a:1")),
			[]string{registry},
			"one that is", then(listed, from("registry.example.com/a:1")), nil,
		},
		{
			"a registry on another port", then(listed, from("mirror.example.com/a:1")),
			[]string{registry},
			"on the listed port, in capitals", then(listed, from("MIRROR.example.com:5000/a:1")), nil,
		},
		{
			"a listed registry as the beginning of another", then(listed, from("registry.example.com.evil.example/a:1")),
			[]string{registry},
			"no image at all", listed, nil,
		},
		{
			"a reference without a registry", then(listed, from("library/python")),
			[]string{registry},
			"the same where no registries are listed", from("library/python"), nil,
		},
		{
			"an empty list of registries permits none", then(none, from("registry.example.com/a:1")),
			[]string{registry},
			"an empty list and a catalogue image", then(none, prebuilt), nil,
		},
		{
			"an image without the digest that the policy wants", then(pinned, from("registry.example.com/a:1")),
			[]string{"image.digest_required at image.digest"},
			"one with it", then(pinned, imaged(sandbox.Image{Reference: "registry.example.com/a:1", Digest: digest})), nil,
		},
		{
			"an image of another registry and without a digest, in this order",
			then(rule(sandbox.ImagePolicy{Registries: []string{"registry.example.com"}, RequireDigest: true}), from("other.example.com/a:1")),
			[]string{registry, "image.digest_required at image.digest"},
			"the digest in the reference", then(pinned, from("registry.example.com/a@"+digest)), nil,
		},
		{
			"a catalogue name with a tag", imaged(sandbox.Image{Prebuilt: "python:3.13"}),
			[]string{"image.invalid at image.prebuilt"},
			"the version as part of the name", prebuilt, nil,
		},
		{
			"a catalogue name with a path", imaged(sandbox.Image{Prebuilt: "library/python"}),
			[]string{"image.invalid at image.prebuilt"},
			"", nil, nil,
		},
		{
			"a tag that looks like a digest", then(pinned, from("registry.example.com/a:sha256")),
			[]string{"image.digest_required at image.digest"},
			"a catalogue image has no digest to state", then(pinned, prebuilt), nil,
		},
	}
}

func imagesServed() []refusal {
	serving := func(s ...sandbox.ImageSource) change {
		return func(w *World) { w.Backend.ImageSources = sandbox.SetOf(s...) }
	}
	prebuilt := imaged(sandbox.Image{Prebuilt: "python-3.13"})
	reference := imaged(sandbox.Image{Reference: "registry.example.com/a:1"})
	return []refusal{
		{
			"an image where the backend takes none", then(prebuilt, serving()),
			[]string{"image.not_supported at image.prebuilt"},
			"no image where the backend takes none", serving(), nil,
		},
		{
			"a reference where the backend has a catalogue only", then(reference, serving(sandbox.ImageSourcePrebuilt)),
			[]string{"image.not_supported at image.reference"},
			"a reference where it takes nothing else", then(reference, serving(sandbox.ImageSourceReference)), nil,
		},
		{
			"an image that neither the backend nor the policy takes, in this order",
			then(prebuilt, serving(sandbox.ImageSourceReference), func(w *World) { w.Policy.Images.Prebuilt = sandbox.PrebuiltDeny }),
			[]string{"image.not_supported at image.prebuilt", "image.prebuilt_denied at image.prebuilt"},
			"a catalogue image on a backend that has nothing else", then(prebuilt, serving(sandbox.ImageSourcePrebuilt)), nil,
		},
	}
}

func imageUsers() []refusal {
	wants := func(u sandbox.ImageUser) change { return func(w *World) { w.Policy.Images.User = u } }
	as := func(user string) change {
		return imaged(sandbox.Image{Reference: "registry.example.com/a:1", User: user})
	}
	nonRoot, root := wants(sandbox.ImageUserNonRoot), wants(sandbox.ImageUserRoot)
	return []refusal{
		{
			"root where the policy wants another user", then(nonRoot, as("root")),
			[]string{userDenied},
			"another user", then(nonRoot, as("1654:1654")), nil,
		},
		{
			"another spelling of root", then(nonRoot, as("00:1")),
			[]string{userDenied},
			"root where the policy wants root", then(root, as("+0:1")), nil,
		},
		{
			"a user where the policy wants root", then(root, as("1654")),
			[]string{userDenied},
			"any user where the policy wants any", then(wants(sandbox.ImageUserAny), as("1654")), nil,
		},
		{
			"a name, which may be root", then(nonRoot, as("app")),
			[]string{userDenied},
			"a name where nobody minds", as("app"), nil,
		},
		{
			"a user that nobody knows is not non-root", then(nonRoot, as("")),
			[]string{userDenied},
			"a user that nobody knows where nobody minds", as(""), nil,
		},
		{
			"a user that nobody knows is not root", then(root, as("")),
			[]string{userDenied},
			"", nil, nil,
		},
		{
			"no image, whose user nobody knows", nonRoot,
			[]string{userDenied},
			"no image where nobody minds", wants(sandbox.ImageUserAny), nil,
		},
	}
}

// imageUserSpellings are the ways of writing a user, as engines read them.
func imageUserSpellings() []refusal {
	as := func(user string) change {
		return imaged(sandbox.Image{Reference: "registry.example.com/a:1", User: user})
	}
	nonRoot := func(w *World) { w.Policy.Images.User = sandbox.ImageUserNonRoot }
	root := func(w *World) { w.Policy.Images.User = sandbox.ImageUserRoot }
	return []refusal{
		{
			"root with zeros", then(nonRoot, as("00")),
			[]string{userDenied},
			"which is root", then(root, as("00")), nil,
		},
		{
			"root with a sign", then(nonRoot, as("+0")),
			[]string{userDenied},
			"root with the other sign", then(root, as("-0")), nil,
		},
		{
			"root by naming a group alone", then(nonRoot, as(":0")),
			[]string{userDenied},
			"which is root as well", then(root, as(":1000")), nil,
		},
		{
			"a number that only looks like 0", then(root, as("0x0")),
			[]string{userDenied},
			"0 as a number", then(root, as("0")), nil,
		},
		{
			"a number below 0", as("-1"),
			[]string{userNone},
			"the smallest of somebody else", then(nonRoot, as("1")), nil,
		},
		{
			"a number above all users", as("4294967296"),
			[]string{userNone},
			"the largest of all users", then(nonRoot, as("2147483647")), nil,
		},
		{
			"a group above all groups", as("1000:2147483648"),
			[]string{userNone},
			"the largest of all groups", then(nonRoot, as("1000:2147483647")), nil,
		},
		{
			"a user with a space", as("0 "),
			[]string{userNone},
			"a name with a backslash", as(`GROUP\app`), nil,
		},
		{
			"a root with root's group", then(nonRoot, as("0:0")),
			[]string{userDenied},
			"another user in root's group, with a warning", then(nonRoot, as("1000:0")),
			[]string{userGroup},
		},
		{
			"a name with root's group", then(nonRoot, as("app:root")),
			[]string{userDenied},
			"another user in root's group by name, with a warning", then(nonRoot, as("1000:root")),
			[]string{userGroup},
		},
		{
			"a name with a group of its own", then(nonRoot, as("app:1000")),
			[]string{userDenied},
			"root's group where nobody minds the user", as("1000:0"), nil,
		},
	}
}

func imageUsersWhereFilesAreRoots() []refusal {
	as := func(user string) change {
		return then(filesAsRoot, imaged(sandbox.Image{Reference: "registry.example.com/a:1", User: user}))
	}
	onlyRuns := requiringOnly(sandbox.CapabilityExec, sandbox.CapabilityFilesIn)
	deletes := requiringOnly(sandbox.CapabilityExec, sandbox.CapabilityFilesDelete)
	return []refusal{
		{
			"a user that cannot write beside root's files", as("1654"),
			[]string{userUnfit},
			"root, which can", as("0"), nil,
		},
		{
			"a user that cannot answer host tools", then(as("1654"), requiringOnly(sandbox.CapabilityHostTools)),
			[]string{userUnfit},
			"a user that only executes, with a warning", then(as("1654"), onlyRuns),
			[]string{userUnfit},
		},
		{
			"a user that may not delete root's files", then(as("app"), deletes),
			[]string{userUnfit},
			"a name that only executes", then(as("app"), onlyRuns), nil,
		},
		{
			"every capability that the user takes away, in one answer",
			then(as("1654"), requiringOnly(sandbox.CapabilityFilesDelete, sandbox.CapabilityFilesOut, sandbox.CapabilityHostTools)),
			[]string{userUnfit},
			"a name may leave files, and be refused once it turns out to be somebody else", as("app"), nil,
		},
		{
			"an unknown user may not delete root's files", then(as(""), deletes),
			[]string{userUnfit},
			"root may", then(as("root"), deletes), nil,
		},
	}
}
