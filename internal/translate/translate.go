package translate

import (
	"cmp"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Source is a format that can be read. The zero value is none.
type Source uint8

const (
	_ Source = iota
	// ACA is a manifest of the aca command line, or an egress policy of Azure
	// Container Apps sandboxes, in YAML or JSON.
	ACA
	// Docker is a kit of Docker sandboxes (spec.yaml, schema versions 1, 2 and 3)
	// or a policy of their governance API.
	Docker
	// NetworkPolicy is a NetworkPolicy of Kubernetes, networking.k8s.io/v1.
	NetworkPolicy
	// OpenShell is a sandbox policy of NVIDIA OpenShell, version 1.
	OpenShell
)

var sourceWords = [...]string{ACA: "aca", Docker: "docker", NetworkPolicy: "networkpolicy", OpenShell: "openshell"}

// Sources lists the formats.
func Sources() []Source { return []Source{ACA, Docker, NetworkPolicy, OpenShell} }

// ParseSource reads a format's word, and reports whether there is one of it.
func ParseSource(word string) (Source, bool) {
	for _, s := range Sources() {
		if s.String() == word {
			return s, true
		}
	}
	return 0, false
}

// String is the format's word, such as "networkpolicy".
func (s Source) String() string {
	if int(s) < len(sourceWords) {
		return sourceWords[s]
	}
	return ""
}

// Effect is what a loss does to what the policy admits, compared with the source.
// The zero value says that nobody knows.
type Effect uint8

const (
	// Unknown: the part may permit or restrict something; the reader cannot tell.
	Unknown Effect = iota
	// Widens: the policy admits something that the source refuses.
	Widens
	// Narrows: the policy refuses something that the source admits.
	Narrows
	// NoEquivalent: the part does not say what may be reached, and a policy has
	// nothing that says the same.
	NoEquivalent
)

var effectWords = [...]string{Unknown: "unknown", Widens: "widens", Narrows: "narrows", NoEquivalent: "no equivalent"}

// String is "unknown", "widens", "narrows" or "no equivalent".
func (e Effect) String() string {
	if int(e) < len(effectWords) {
		return effectWords[e]
	}
	return effectWords[Unknown]
}

// MarshalText is the effect's word.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Loss is one part of the source that the policy does not say.
type Loss struct {
	Effect Effect
	// Line is where the part begins, counted from 1, and Path where it stands in
	// the source's own names.
	Line int
	Path sandbox.FieldPath
	// Why says what was lost and for what reason. Values of the source in it went
	// through [sandbox.Echo].
	Why string
	// Remedy is what a person can do about it. It may be empty.
	Remedy string
}

// Translation is a source read into a policy.
type Translation struct {
	Source Source
	// Policy holds the egress part, never_reaches and, where the source has one, a
	// name. What the source does not speak of is unset.
	Policy sandbox.Policy
	// Losses are in the order of their lines.
	Losses []Loss
}

// Read reads one file. An input that is not what the format is, or larger or
// deeper than is read, is an error that holds a [*sandbox.Refusal]; its path is
// in the source's names.
func Read(source Source, input []byte) (Translation, error) {
	root, err := parse(input, source == NetworkPolicy)
	if err != nil {
		return Translation{}, err
	}
	r := &reader{}
	switch source {
	case ACA:
		r.aca(root[0])
	case Docker:
		r.docker(root[0])
	case NetworkPolicy:
		r.networkPolicies(root)
	case OpenShell:
		r.openShell(root[0])
	default:
		return Translation{}, sandbox.Finding{
			Code: sandbox.CodeUnknownWord, Found: "no source format", Required: "one of the formats that can be read",
		}.Refusal(nil)
	}
	if r.err == nil {
		r.settle()
	}
	if r.err != nil {
		return Translation{}, r.err
	}
	// What is handed out is what the provider will accept. A finding here would be
	// a mistake of a reader, and nobody is given a policy that was not compiled.
	if findings := policy.LayerFindings(policy.Layer{Policy: r.policy}); len(findings) > 0 {
		return Translation{}, findings[0].Refusal(nil)
	}
	slices.SortStableFunc(r.losses, func(a, b Loss) int { return cmp.Compare(a.Line, b.Line) })
	return Translation{Source: source, Policy: r.policy, Losses: r.losses}, nil
}
