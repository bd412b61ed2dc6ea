package imageregistry

import (
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// CheckReference returns the registry that a reference names: host and port, in
// lower case. A reference that names none is refused, since nobody would choose
// the one that is assumed.
func CheckReference(reference string) (registry string, err error) {
	registry = sandbox.Image{Reference: reference}.Registry()
	u, err := url.Parse("//" + registry)
	if err != nil || registry == "" {
		return "", badReference(reference)
	}
	if _, _, err := egress.ParseRequestHost(u.Hostname()); err != nil {
		return "", badReference(reference)
	}
	if _, err := name.ParseReference(reference); err != nil {
		return "", badReference(reference)
	}
	return registry, nil
}

func badReference(reference string) error {
	return sandbox.Finding{
		Code: sandbox.CodeImageInvalid, Path: referencePath(), Found: sandbox.Echo(reference),
		Required: "host/path:tag or host/path@digest, with the registry's host",
		Remedy:   `write it whole, such as "registry.example.com/agents/python:3.13"`,
	}.Refusal(nil)
}

func referencePath() sandbox.FieldPath { return sandbox.Path("reference") }

// Platform is an operating system and an architecture, and a variant of it if one
// is meant. The zero value is any.
type Platform struct{ OS, Architecture, Variant string }

// ParsePlatform reads os/architecture or os/architecture/variant. Empty text is any.
func ParsePlatform(text string) (Platform, error) {
	if text == "" {
		return Platform{}, nil
	}
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return Platform{}, badPlatform(text)
	}
	for _, part := range parts {
		if part == "" || len(part) > 32 || strings.ContainsFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
		}) {
			return Platform{}, badPlatform(text)
		}
	}
	p := Platform{OS: parts[0], Architecture: parts[1]}
	if len(parts) == 3 {
		p.Variant = parts[2]
	}
	return p, nil
}

func badPlatform(text string) error {
	return sandbox.Finding{
		Code: sandbox.CodeInvalidText, Path: platformPath(), Found: sandbox.Echo(text),
		Required: "os/architecture in lower case, with a variant after another slash if one is meant",
		Remedy:   `write it as "linux/amd64"`,
	}.Refusal(nil)
}

func platformPath() sandbox.FieldPath { return sandbox.Path("platform") }

// String is the platform as [ParsePlatform] reads it, empty for any.
func (p Platform) String() string {
	text := p.OS + "/" + p.Architecture
	switch {
	case p == Platform{}:
		return ""
	case p.Variant != "":
		return text + "/" + p.Variant
	default:
		return text
	}
}

// admits reports whether a platform is one that p asks for. Without a variant every
// variant is, and without anything every Linux is.
func (p Platform) admits(other Platform) bool {
	if p == (Platform{}) {
		return other.OS == "linux"
	}
	return p.OS == other.OS && p.Architecture == other.Architecture && (p.Variant == "" || p.Variant == other.Variant)
}
