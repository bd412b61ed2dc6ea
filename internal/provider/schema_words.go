package provider

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// anyOf lists the words of a vocabulary for a description, in its own order, so
// that the docs say what the parser accepts.
func anyOf[T fmt.Stringer](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = "`" + w.String() + "`"
	}
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

// The constructors below make optional attributes. None takes a default or is
// computed: the same attributes are read from plain objects, and a value that
// the provider filled in would look as if its author had written it.

func textAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description}
}

func flagAttribute(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
}

func numberAttribute(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Optional: true, MarkdownDescription: description}
}

func textsAttribute(description string) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description}
}

func limitsAttribute(description string) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: description + " All three numbers are stated; each bound is inclusive, and a transfer over one is refused whole.",
		Attributes: map[string]schema.Attribute{
			"max_bytes_per_file": numberAttribute("Bytes of the largest single file, from 0 to 2^53-1."),
			"max_total_bytes":    numberAttribute("Bytes of all files of one transfer together, from 0 to 2^53-1."),
			"max_files":          numberAttribute("How many files one transfer may have, from 0 to 2^53-1."),
		},
	}
}

// rulesAttribute is the long form of egress, one object a rule.
func rulesAttribute(description string) schema.MapNestedAttribute {
	return schema.MapNestedAttribute{
		Optional: true,
		MarkdownDescription: description + " The keys name the rules in messages. Each rule states all four of its parts, `[\"*\"]` for any: " +
			"Terraform drops a misspelt name inside an object without a word, so a part that is absent is refused and never read as \"any\".",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"host": textAttribute("A DNS name, `*.suffix` for every name below it (at any depth, not the suffix itself), an IP address or a CIDR range."),
			"ports": textsAttribute("Ports from 1 to 65535 or ranges such as `8000-8099`; `[\"*\"]` for any. " +
				"Ports other than 443 need the backend's capability `egress_ports`."),
			"methods": textsAttribute("HTTP methods in upper case; `[\"*\"]` for any. Naming some needs the backend's capability `egress_methods`."),
			"paths": textsAttribute("Path prefixes of whole segments: `/v1` admits `/v1` and `/v1/x`, not `/v10`; `[\"*\"]` for any. " +
				"Naming some needs the backend's capability `egress_paths`."),
		}},
	}
}
