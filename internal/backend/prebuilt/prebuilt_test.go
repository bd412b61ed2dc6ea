package prebuilt_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/prebuilt"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// snapshotDigest was computed elsewhere, by sort and sha256sum.
const snapshotDigest = "a3de3ac3666b49c7f5d2e1d242fdf3e0038910ff86bbd5847b24eeb7a1e5fdae"

func TestSnapshotIsWellFormed(t *testing.T) {
	t.Parallel()
	c := prebuilt.Snapshot()
	if _, err := time.Parse(time.DateOnly, c.Date); err != nil || c.Source != prebuilt.SourceSnapshot {
		t.Errorf("source %q, date %q", c.Source, c.Date)
	}
	names := c.Names()
	if len(names) != 17 || !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("names %q", names)
	}
	for _, image := range c.Images {
		if _, err := sandbox.ParseGuestUser(image.User); err != nil || !sandbox.NamesPrebuilt(image.Name) {
			t.Errorf("%+v: %v", image, err)
		}
		if found, err := c.Find(image.Name); err != nil || found != image {
			t.Errorf("%s: %+v, %v", image.Name, found, err)
		}
	}
	c.Images[0].Name = "changed"
	if prebuilt.Snapshot().Images[0].Name == "changed" {
		t.Error("the snapshot can be changed from outside")
	}
}

func TestDigestFollowsTheNamesAlone(t *testing.T) {
	t.Parallel()
	a := prebuilt.Catalogue{Images: []prebuilt.Image{{Name: "a"}, {Name: "b", User: "0"}}}
	b := prebuilt.Catalogue{Source: prebuilt.SourceService, Date: "2027-01-01", Images: []prebuilt.Image{{Name: "b"}, {Name: "a"}}}
	if a.Digest() != b.Digest() || !sandbox.IsDigest(a.Digest()) {
		t.Errorf("%s and %s", a.Digest(), b.Digest())
	}
	if (prebuilt.Catalogue{Images: []prebuilt.Image{{Name: "ab"}}}).Digest() == a.Digest() {
		t.Error("two names are one")
	}
	if prebuilt.Snapshot().Digest() != "sha256:"+snapshotDigest {
		t.Errorf("the snapshot is %s: change its date with its names", prebuilt.Snapshot().Digest())
	}
}

func TestUnknownNameIsToldWhatMayBeMeant(t *testing.T) {
	t.Parallel()
	c := prebuilt.Snapshot()
	for name, want := range map[string][]string{
		"python-3.15":                      {`"python-3.14"`, `"python-3.13"`},
		"python":                           {`"python-3.14"`, `"python-3.13"`, `"python-3.12"`},
		"pyhton-3.13":                      {`did you mean "python-3.13"`},
		"Python-3.13":                      {`did you mean "python-3.13"`},
		"node-20":                          {`"node-22"`},
		"ubunut":                           {`"ubuntu"`},
		"python:3.13":                      {"the version is part of a catalogue name", `"python-3.13"`},
		"python:3.13@sha256:0":             {`"python-3.13"`},
		"docker.io/library/python:3.13":    {`"python-3.13"`, "sandbox_image"},
		"registry.example.com/team/tool:1": {"registry reference", "sandbox_image"},
		"rust-1.90":                        {"choose one of those"},
		"":                                 {"choose one of those"},
	} {
		_, err := c.Find(name)
		var r *sandbox.Refusal
		if !errors.As(err, &r) || r.Locator() != "image.prebuilt_unknown at name" {
			t.Fatalf("%q: %v", name, err)
		}
		for _, word := range want {
			if !strings.Contains(r.Remedy, word) {
				t.Errorf("%q: %q does not say %q", name, r.Remedy, word)
			}
		}
		if !strings.Contains(r.Required, "claude, copilot, dotnet-10") || !strings.Contains(r.Required, c.Date) {
			t.Errorf("%q: required %q", name, r.Required)
		}
	}
}

func TestEmptyCatalogueSaysSo(t *testing.T) {
	t.Parallel()
	_, err := prebuilt.Catalogue{Source: prebuilt.SourceService, Date: "2027-01-01"}.Find("python-3.13")
	if err == nil || !strings.Contains(err.Error(), "which is empty (service of 2027-01-01)") {
		t.Error(err)
	}
}
