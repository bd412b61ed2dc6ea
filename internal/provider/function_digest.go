package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// newDigestFunction is the function digest.
func newDigestFunction() function.Function {
	return &pureFunction{name: "digest", definition: digestDefinition, evaluate: evaluateDigest}
}

func digestDefinition() function.Definition {
	return function.Definition{
		Summary: "The digest of a document that hosts or runners accept",
		MarkdownDescription: "Reads a `sandbox/v1` document of any sort (manifest, policy, workload or backend facts) as strictly as a host does, and returns the SHA-256 of exactly its bytes: `sha256:` and 64 hex digits. " +
			"A document that a host would refuse, for an unknown field, a value stated twice or another layout, has no digest here, so that nobody pins one. " +
			"`file()` keeps a line break at the end of a file, and a manifest that has one is refused: write it with `terraform output -raw`.",
		Parameters: []function.Parameter{
			textParameter("document", "The document's text, such as `file(\"manifest.json\")` or `sandbox_manifest.NAME.document`."),
		},
		Return: function.StringReturn{},
	}
}

func evaluateDigest(arguments []tftypes.Value, _ tftypes.Type) answer {
	const document = 0
	text, _ := asText(arguments[document])
	if err := manifest.ParseAny([]byte(text)); err != nil {
		return answer{complaints: about(document, sandbox.FindingsAt(err, nil))}
	}
	return answer{value: textValue(string(manifest.DigestOf([]byte(text))))}
}
