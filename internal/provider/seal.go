package provider

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// seal is the digest that a policy or a workload carries when it was received
// from a resource. Terraform drops attributes that a module variable's type does
// not name, without a word; what then arrives no longer has its digest.
type seal string

// readSeal reads the digest attribute. A digest that is absent or not known yet
// is no seal: whoever writes a literal object has none.
func readSeal(o *object) seal {
	o.ignore("digest")
	v, present := o.attrs["digest"]
	if !present || !v.IsKnown() || v.IsNull() || !v.Type().Is(tftypes.String) {
		return ""
	}
	text, _ := asText(v)
	return seal(text)
}

// broken holds what arrived against its seal. The path of the finding is the
// whole object. What cannot be encoded was refused before and is not judged
// here. A digest that is none was invented by a mock, or is a mistake that the
// plan reports.
func (s seal) broken(noun string, encode func() ([]byte, error), p phase) []sandbox.Finding {
	if s == "" || (p == validating && !sandbox.IsDigest(string(s))) {
		return nil
	}
	document, err := encode()
	if err != nil {
		return nil
	}
	have := manifest.DigestOf(document)
	if string(have) == string(s) {
		return nil
	}
	return []sandbox.Finding{{
		Code:     sandbox.CodeAttributesLost,
		Found:    "the " + noun + " that arrived has digest " + abbreviate(string(have)),
		Required: "digest " + abbreviate(string(s)) + ", which it carries",
		Remedy: "type the variables it passes through \"any\"; where you changed it on purpose, as with merge(), " +
			"set digest = null as well",
	}}
}

// abbreviate shortens a digest for a sentence; anything else is echoed.
func abbreviate(digest string) string {
	const shown = len("sha256:") + 12
	if !sandbox.IsDigest(digest) {
		return sandbox.Echo(digest)
	}
	return digest[:shown] + "…"
}
