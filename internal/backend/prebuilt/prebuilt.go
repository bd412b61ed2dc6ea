// Package prebuilt knows the images that Azure Container Apps Sandboxes offer by
// name: the catalogue as it was on a day, as data, and what to say to a name that is
// not in it. It asks nobody. A catalogue that a group's region answers has the same
// type, and whoever asked for it says so in [Catalogue.Source].
//
// Read [Snapshot] first. The list differs by region and changes without notice, so
// what stands here helps to write a plan and proves nothing about a region.
package prebuilt

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Image is one entry of a catalogue.
type Image struct {
	// Name is whole: the version is part of it.
	Name string
	// User is as whom it was seen to run, in the form of an image configuration, and
	// empty where nobody looked. Nothing is concluded from one entry to another.
	User string
}

// Platform is what all of the service's sandboxes run.
const Platform = "linux/amd64"

// Where a catalogue comes from.
const (
	// SourceSnapshot: what is shipped.
	SourceSnapshot = "snapshot"
	// SourceService: what a group's region answered.
	SourceService = "service"
)

// snapshotDate is the day of the last observation that went into the snapshot.
const snapshotDate = "2026-10-04"

// snapshot is the public list as the service's own command line gave it. A user
// stands where a sandbox made from the image told it.
var snapshot = [...]Image{
	{Name: "ubuntu"},
	{Name: "copilot"},
	{Name: "claude"},
	{Name: "node-22", User: "0"},
	{Name: "node-24"},
	{Name: "php-8.3"},
	{Name: "php-8.4"},
	{Name: "dotnet-8"},
	{Name: "dotnet-9"},
	{Name: "dotnet-10"},
	{Name: "python-3.11"},
	{Name: "python-3.12"},
	{Name: "python-3.13"},
	{Name: "python-3.14"},
	{Name: "nginx"},
	{Name: "openclaw"},
	{Name: "ubuntu-systemd"},
}

// Catalogue is the images that can be named.
type Catalogue struct {
	// Source is [SourceSnapshot] or [SourceService].
	Source string
	// Date is the day of the list, as in 2026-10-04, and empty for one that was just
	// asked for.
	Date   string
	Images []Image
}

// Snapshot is the shipped catalogue, a fresh copy each time.
func Snapshot() Catalogue {
	return Catalogue{Source: SourceSnapshot, Date: snapshotDate, Images: slices.Clone(snapshot[:])}
}

// Names are the names of the images, sorted.
func (c Catalogue) Names() []string {
	names := make([]string, len(c.Images))
	for i, image := range c.Images {
		names[i] = image.Name
	}
	slices.Sort(names)
	return names
}

// Digest is the SHA-256 of the sorted names, each ended by a line feed.
func (c Catalogue) Digest() string {
	sum := sha256.New()
	for _, name := range c.Names() {
		sum.Write([]byte(name + "\n"))
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// Find returns the image of that name. Names are compared exactly. One that is not
// there is refused with [sandbox.CodeImagePrebuiltUnknown] at name.
func (c Catalogue) Find(name string) (Image, error) {
	if i := slices.IndexFunc(c.Images, func(image Image) bool { return image.Name == name }); i >= 0 {
		return c.Images[i], nil
	}
	f := sandbox.Finding{
		Code: sandbox.CodeImagePrebuiltUnknown, Path: sandbox.Path("name"), Found: sandbox.Echo(name),
		Required: "one of " + strings.Join(c.Names(), ", ") + " (" + c.origin() + ")",
		Remedy:   "choose one of those",
	}
	if len(c.Images) == 0 {
		f.Required = "a name of the catalogue, which is empty (" + c.origin() + ")"
		f.Remedy = "name an image by reference"
	}
	near := c.near(name)
	switch {
	case name != "" && !sandbox.NamesPrebuilt(name):
		f.Remedy = "the version is part of a catalogue name, and what has a slash or a colon is a registry reference: look it up with data sandbox_image"
		if len(near) > 0 {
			f.Remedy = "the version is part of a catalogue name, not a tag: did you mean " + quoted(near) + "? A registry reference is looked up with data sandbox_image"
		}
	case len(near) > 0:
		f.Remedy = "did you mean " + quoted(near) + "?"
	}
	return Image{}, f.Refusal(nil)
}

func (c Catalogue) origin() string {
	if c.Date == "" {
		return c.Source
	}
	return c.Source + " of " + c.Date
}

// nearest is how many names are proposed.
const nearest = 3

// near are the names that may have been meant: what is spelt most like it, then
// what is of the same family, newest first.
func (c Catalogue) near(name string) []string {
	meant := strings.ToLower(name)
	if i := strings.LastIndexByte(meant, '/'); i >= 0 {
		meant = meant[i+1:]
	}
	meant, _, _ = strings.Cut(meant, "@")
	meant = strings.ReplaceAll(meant, ":", "-")
	names := c.Names()
	var near []string
	if slices.Contains(names, meant) {
		near = append(near, meant)
	} else if best, ok := facts.Nearest(meant, names); ok {
		near = append(near, best)
	}
	slices.Reverse(names)
	for _, candidate := range names {
		if len(near) < nearest && !slices.Contains(near, candidate) && family(candidate) == family(meant) && family(meant) != "" {
			near = append(near, candidate)
		}
	}
	return near
}

// family is a name without its version.
func family(name string) string {
	base, _, _ := strings.Cut(name, "-")
	return base
}

func quoted(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = sandbox.Echo(name)
	}
	return strings.Join(texts, ", ")
}
