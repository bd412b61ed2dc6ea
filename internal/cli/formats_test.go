package cli_test

import (
	"encoding/json"
	"encoding/xml"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// markup is a name that tries to leave the cell, the element or the string it stands in.
const markup = "a|b](x) @team #1 <img src=x> ``` ]]> \"&"

func TestFormatsForCodeHosts(t *testing.T) {
	t.Parallel()
	m := with(with(fitting(), "wide", wide), "weak", weak)
	path, _ := encode(t, m)
	for _, format := range []string{"sarif", "junit", "markdown"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			got := run(t, "check", path, "--format", format)
			if got.code != cli.ExitRefused || got.stderr != "" {
				t.Fatalf("exit %d: %s", got.code, got.stderr)
			}
			golden.Check(t, *update, "check-"+format, got.stdout)
		})
	}
}

func TestSARIFIsValid(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]func(*sandbox.Spec){"nothing found": func(s *sandbox.Spec) { s.Egress = sandbox.Egress{} }, "refused": wide} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, _ := encode(t, with(fitting(), "report", m))
			got := run(t, "check", path, "--format", "sarif")
			report, err := sarif.FromString(got.stdout)
			if err != nil {
				t.Fatalf("%v\n%s", err, got.stdout)
			}
			if err := report.Validate(); err != nil {
				t.Errorf("%v\n%s", err, got.stdout)
			}
		})
	}
}

func TestFormatsKeepHostileNamesInTheirPlace(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, with(fitting(), markup, wide))
	markdown := run(t, "check", path, "--format", "markdown").stdout
	for _, part := range []string{"<img", " @team", " #1 ", "```", "b](x)"} {
		if strings.Contains(markdown, part) {
			t.Errorf("%q is in\n%s", part, markdown)
		}
	}
	for line := range strings.Lines(markdown) {
		if strings.HasPrefix(line, "| refused") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 6 {
			t.Errorf("a row has another number of cells: %s", line)
		}
	}
	var suites struct {
		Suite struct {
			Cases []struct {
				Name     string `xml:"name,attr"`
				Failures []struct {
					Type string `xml:"type,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	junit := run(t, "check", path, "--format", "junit").stdout
	if err := xml.Unmarshal([]byte(junit), &suites); err != nil {
		t.Fatalf("%v\n%s", err, junit)
	}
	found := false
	for _, c := range suites.Suite.Cases {
		found = found || c.Name == markup && len(c.Failures) > 0 && c.Failures[0].Type == "egress.not_within_policy"
	}
	if !found {
		t.Errorf("the workload does not fail: %s", junit)
	}
	if s := run(t, "check", path, "--format", "sarif").stdout; !json.Valid([]byte(s)) {
		t.Errorf("no JSON: %s", s)
	}
}

const sourceOfReport = `locals {
  hosts = ["a"]
}

resource "sandbox_policy" "agents" {
  name        = "agents"
  egress_mode = "allowlist"
}

resource "sandbox_workload" "wide" {
  kind = "codeact"
  egress_hosts = [
    "packages.example.org",
    "*.example.com",
  ]
}
`

// region is a SARIF range.
type region struct {
	URI                                        string
	StartLine, StartColumn, EndLine, EndColumn int
}

// regions are the ranges of a report by code and path.
func regions(t *testing.T, text string) map[string]region {
	t.Helper()
	var report struct {
		Runs []struct {
			Results []struct {
				RuleID    string
				Locations []struct {
					PhysicalLocation *struct {
						ArtifactLocation struct{ URI string }
						Region           region
					}
					LogicalLocations []struct{ FullyQualifiedName string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	all := map[string]region{}
	for _, r := range report.Runs[0].Results {
		at := r.Locations[0]
		_, path, _ := strings.Cut(at.LogicalLocations[0].FullyQualifiedName, " at ")
		var found region
		if at.PhysicalLocation != nil {
			found = at.PhysicalLocation.Region
			found.URI = at.PhysicalLocation.ArtifactLocation.URI
		}
		all[r.RuleID+" at "+path] = found
	}
	return all
}

func TestSARIFOfAManifestFindsPlacesInTheSource(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, with(fitting(), "wide", wide))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(sourceOfReport), 0o600); err != nil {
		t.Fatal(err)
	}
	const at = "egress.not_within_policy at egress_hosts[1]"
	if got := regions(t, run(t, "check", path, "--format", "sarif").stdout)[at]; got != (region{}) {
		t.Errorf("without a source there is a place: %+v", got)
	}
	got := regions(t, run(t, "check", path, "--format", "sarif", "--source", dir).stdout)[at]
	if want := (region{"main.tf", 14, 5, 14, 20}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if bad := run(t, "check", path, "--source", filepath.Join(dir, "nowhere")); bad.code != cli.ExitBadInput {
		t.Errorf("a source that is not there: exit %d", bad.code)
	}
}

func TestSARIFOfADirectoryHasTerraformsRanges(t *testing.T) {
	t.Parallel()
	root := directory(t, map[string]string{"root/main.tf": versions + agents + workload(`egress_mode = "allowlist"
  egress_hosts = ["packages.example.org", "*.example.com"]
  requires = ["exec"]
  image = { prebuilt = "python-3.13" }`) + rest})
	got := checkDirectory(t, root, "--format", "sarif")
	if got.code != cli.ExitRefused {
		t.Fatalf("exit %d: %s", got.code, got.both())
	}
	all := regions(t, got.stdout)
	place, ok := all["egress.not_within_policy at egress_hosts[1]"]
	if !ok || place.URI != "main.tf" || place.StartLine == 0 || place.StartColumn == 0 || place.EndColumn == 0 {
		t.Errorf("got %+v of %+v", place, all)
	}
}

// Code hosts look for mentions, issues and addresses in the text of the page, in
// which entities are what they stand for.
func TestMarkdownLinksAndMentionsNothingOnThePageEither(t *testing.T) {
	t.Parallel()
	const name = "www.evil.example WWW.evil.example https://evil.example ftp://evil.example a@evil.example @team/all #1 x#1"
	path, _ := encode(t, with(fitting(), name, wide))
	page := html.UnescapeString(run(t, "check", path, "--format", "markdown").stdout)
	if !strings.Contains(page, "evil") {
		t.Fatalf("the name is not there:\n%s", page)
	}
	for _, part := range []string{"www.evil", "WWW.evil", "://evil", "@evil", "@team", "#1"} {
		if strings.Contains(page, part) {
			t.Errorf("%q is in\n%s", part, page)
		}
	}
}
