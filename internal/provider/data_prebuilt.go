package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/prebuilt"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// newPrebuiltImageData is the data source sandbox_prebuilt_image.
func newPrebuiltImageData() datasource.DataSource {
	return &askingData{name: "prebuilt_image", schema: prebuiltImageSchema, check: checkPrebuilt, ask: askPrebuilt}
}

// newPrebuiltImagesData is the data source sandbox_prebuilt_images.
func newPrebuiltImagesData() datasource.DataSource {
	return &askingData{
		name: "prebuilt_images", schema: prebuiltImagesSchema, check: checkCatalogue, ask: askPrebuilts,
	}
}

// catalogueAttributes say which catalogue is asked, and which one answered.
func catalogueAttributes(others map[string]schema.Attribute) map[string]schema.Attribute {
	others["group"] = schema.StringAttribute{
		Optional: true,
		MarkdownDescription: "The id of a group whose region's own catalogue is asked, `sandbox_group.NAME.id`; the provider block then says where groups live. " +
			"The shipped catalogue answers when unset.",
	}
	others["catalogue_source"] = computedText("Where the catalogue comes from: `" + prebuilt.SourceSnapshot + "` for the one that is shipped, `" + prebuilt.SourceService + "` for one that the service answered.")
	others["catalogue_date"] = computedText("The day of the shipped catalogue, such as `" + prebuilt.Snapshot().Date + "`. Null for one that the service just answered.")
	others["catalogue_digest"] = computedText("SHA-256 of the catalogue's sorted names, each ended by a line feed: two catalogues of one digest have the same names.")
	return others
}

func catalogueValues(c prebuilt.Catalogue, others computed) computed {
	others["catalogue_source"] = textValue(c.Source)
	others["catalogue_date"] = textOrNull(c.Date)
	others["catalogue_digest"] = textValue(c.Digest())
	return others
}

func prebuiltImageSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "An image of the service's catalogue by its name, checked when the configuration is planned. " +
			"The whole object is what a workload's `image` takes: `image = data.sandbox_prebuilt_image.NAME`.\n\n" +
			"The version is part of a catalogue name (`python-3.13`), not a tag; what has a slash or a colon is a registry reference and belongs to `sandbox_image`. " +
			"An unknown name is refused with the names that may have been meant. The shipped catalogue is that of " + prebuilt.Snapshot().Date + "; regions may offer others, which `group` asks for.",
		Attributes: catalogueAttributes(map[string]schema.Attribute{
			"name":     schema.StringAttribute{Required: true, MarkdownDescription: "The image's whole name, compared exactly."},
			"prebuilt": computedText("The name, as a workload's `image` takes it."),
			"platform": computedText("The platform that the service runs: `" + prebuilt.Platform + "`."),
			"user":     computedText("The user that a sandbox made from the image was seen to run as. Null when nobody looked, which is not root."),
			"root":     rootAttribute(),
		}),
	}
}

func prebuiltImagesSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "The service's catalogue of images that can be named: a dated list that is shipped or, with `group`, what the group's region offers now.",
		Attributes: catalogueAttributes(map[string]schema.Attribute{
			"names": computedTexts("The names of all images, sorted."),
			"images": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The images, in the catalogue's own order.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"name": computedText("The image's whole name."),
					"user": computedText("The user that a sandbox made from it was seen to run as. Null when nobody looked."),
				}},
			},
		}),
	}
}

// checkPrebuilt refuses names that no catalogue can have.
func checkPrebuilt(o *object) []sandbox.Finding {
	name := o.text("name")
	if !o.settled("name") || sandbox.NamesPrebuilt(name) {
		return checkCatalogue(o)
	}
	_, err := prebuilt.Snapshot().Find(name)
	return append(sandbox.FindingsAt(err, nil), checkCatalogue(o)...)
}

// checkCatalogue refuses what is no group.
func checkCatalogue(o *object) []sandbox.Finding {
	group := o.text("group")
	if group == "" {
		return nil
	}
	return checkGroup(types.StringValue(group))
}

func askPrebuilt(ctx context.Context, o *object, _ computedTypes, c *configured) (computed, error) {
	catalogue, err := c.catalogue(ctx, o.text("group"))
	if err != nil {
		return nil, err
	}
	image, err := catalogue.Find(o.text("name"))
	if err != nil {
		return nil, err
	}
	return catalogueValues(catalogue, computed{
		"prebuilt": textValue(image.Name), "platform": textValue(prebuilt.Platform),
		"user": textOrNull(image.User), "root": rootValue(image.User),
	}), nil
}

func askPrebuilts(ctx context.Context, o *object, attributes computedTypes, c *configured) (computed, error) {
	catalogue, err := c.catalogue(ctx, o.text("group"))
	if err != nil {
		return nil, err
	}
	images := make([]tftypes.Value, len(catalogue.Images))
	for i, image := range catalogue.Images {
		images[i] = tftypes.NewValue(elementType(attributes["images"]), map[string]tftypes.Value{
			"name": textValue(image.Name), "user": textOrNull(image.User),
		})
	}
	return catalogueValues(catalogue, computed{
		"names": textsValue(catalogue.Names()), "images": tftypes.NewValue(attributes["images"], images),
	}), nil
}
