package explain

import (
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Document is one side of a comparison.
type Document struct {
	// Sort is "policy", "workload" or "manifest", and says which of the others is
	// set.
	Sort     string
	Digest   manifest.Digest
	Policy   sandbox.Policy
	Workload sandbox.Spec
	Manifest manifest.Manifest
}

// The sorts of documents that can be compared.
const (
	sortPolicy   = "policy"
	sortWorkload = "workload"
	sortManifest = "manifest"
)

// ErrSort is returned for two documents of different sorts, and for one that
// permits nothing, such as a backend's facts.
var ErrSort = errors.New("not two documents of one sort")

// Read reads a document strictly; errors are those of package manifest.
func Read(b []byte) (Document, error) {
	d := Document{Sort: manifest.Sort(b), Digest: manifest.DigestOf(b)}
	var err error
	switch d.Sort {
	case sortPolicy:
		d.Policy, err = manifest.ParsePolicy(b)
	case sortWorkload:
		d.Workload, err = manifest.ParseWorkload(b)
	case "backend":
		return Document{}, fmt.Errorf("%w: a backend's facts permit nothing", ErrSort)
	default: // whose parser says what is wrong with what is no document
		d.Sort = sortManifest
		d.Manifest, err = manifest.Parse(b)
	}
	return d, err
}
