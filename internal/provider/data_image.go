package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/imageregistry"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// newImageData is the data source sandbox_image.
func newImageData() datasource.DataSource {
	return &askingData{name: "image", schema: imageSchema, check: checkImage, ask: askImage}
}

func imageSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "What a registry has for a reference: its digest, the platforms that may run, and the user that the image is configured to run as. " +
			"The whole object is what a workload's `image` takes (`image = data.sandbox_image.NAME`), so that plans know the user and pin the digest.\n\n" +
			"Only registries that the provider block's `registries` names are asked, and only for manifests and configurations. " +
			"Where platforms that may run have different users the answer is an error, since no single user would be true: set `platform`.",
		Attributes: map[string]schema.Attribute{
			"reference": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "A registry reference with its host, such as `registry.example.com/agents/python:3.13`. A tag is looked up each time; a digest is held to.",
			},
			"platform": schema.StringAttribute{
				Optional: true, Computed: true,
				MarkdownDescription: "The platform that will run, such as `linux/amd64`; the digest is then its own. Every Linux platform of the image counts when unset, and it is the image's if it has only one.",
			},
			"digest": computedText("The digest of what was looked at, `sha256:` and 64 lower-case hex digits: of `platform`'s image where an index has one, else of what the reference names."),
			"user":   computedText("The user that the image is configured to run as, in the form of an image configuration. `0` for an image that names nobody, which runs as root."),
			"root":   rootAttribute(),
			"variants": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The platforms that may run, in the image's own order.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"platform": computedText("Operating system, architecture and variant. Null when the image does not say."),
					"digest":   computedText("The digest of this platform's image."),
					"user":     computedText("The user that it is configured to run as."),
				}},
			},
		},
	}
}

func rootAttribute() schema.BoolAttribute {
	return schema.BoolAttribute{
		Computed: true,
		MarkdownDescription: "Whether `user` is root: `true` for `root`, an empty name and every spelling of 0, `false` for any other number, " +
			"and null for another name, which the image may map to root, and for a user that nobody knows.",
	}
}

// checkImage refuses what is no reference or no platform.
func checkImage(o *object) (findings []sandbox.Finding) {
	reference := o.text("reference")
	if o.settled("reference") && o.reading.known.Everything() {
		if _, err := imageregistry.CheckReference(reference); err != nil {
			findings = append(findings, sandbox.FindingsAt(err, nil)...)
		}
	}
	if _, err := imageregistry.ParsePlatform(o.text("platform")); err != nil {
		findings = append(findings, sandbox.FindingsAt(err, nil)...)
	}
	return findings
}

func askImage(ctx context.Context, o *object, types computedTypes, c *configured) (computed, error) {
	reference := o.text("reference")
	if findings := c.mayAsk(reference); len(findings) > 0 {
		return nil, sandbox.Decide(findings).Err()
	}
	platform, err := imageregistry.ParsePlatform(o.text("platform"))
	if err != nil {
		return nil, err
	}
	registries := c.registries
	if registries == nil {
		registries = imageregistry.New(imageregistry.Config{})
	}
	image, err := registries.Look(ctx, reference, platform)
	if err != nil {
		return nil, err
	}
	user, err := image.User()
	if err != nil {
		return nil, err
	}
	if platform == (imageregistry.Platform{}) {
		platform = image.Platform()
	}
	return computed{
		"platform": textOrNull(platform.String()),
		"digest":   textValue(image.Digest),
		"user":     textValue(user),
		"root":     rootValue(user),
		"variants": variantsValue(types["variants"], image.Variants),
	}, nil
}

// rootValue is whether a user is root, null when that is undecided.
func rootValue(text string) tftypes.Value {
	user, err := sandbox.ParseGuestUser(text)
	if err != nil || !user.IsRoot() && !user.IsOther() {
		return tftypes.NewValue(tftypes.Bool, nil)
	}
	return flagValue(user.IsRoot())
}

func variantsValue(typ tftypes.Type, variants []imageregistry.Variant) tftypes.Value {
	elements := make([]tftypes.Value, len(variants))
	for i, v := range variants {
		elements[i] = tftypes.NewValue(elementType(typ), map[string]tftypes.Value{
			"platform": textOrNull(v.Platform.String()), "digest": textValue(v.Digest), "user": textValue(v.User),
		})
	}
	return tftypes.NewValue(typ, elements)
}
