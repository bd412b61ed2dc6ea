package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// releaseConfig is the part of .goreleaser.yml that decides names.
type releaseConfig struct {
	ProjectName string `yaml:"project_name"`
	Builds      []struct {
		Main         string
		Binary       string
		Env          []string
		Flags        []string
		Ldflags      []string
		ModTimestamp string `yaml:"mod_timestamp"`
		Goos         []string
		Goarch       []string
	}
	Archives []struct {
		Formats      []string
		NameTemplate string `yaml:"name_template"`
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
		Algorithm    string
		ExtraFiles   []extraFile `yaml:"extra_files"`
	}
	Release struct {
		ExtraFiles []extraFile `yaml:"extra_files"`
	}
	Signs []struct {
		Artifacts string
		Args      []string
	}
	Sboms []struct{ Artifacts string }
}

type extraFile struct {
	Glob         string
	NameTemplate string `yaml:"name_template"`
}

func TestReleaseHasTheNamesTheRegistryLooksFor(t *testing.T) {
	t.Parallel()
	c := readReleaseConfig(t)
	if len(c.Builds) != 1 || len(c.Archives) != 1 || len(c.Signs) != 1 || len(c.Sboms) != 1 {
		t.Fatalf("want one build, archive, signature and SBOM, got %+v", c)
	}
	for what, names := range map[string][2]string{
		"binary":    {c.Builds[0].Binary, "terraform-provider-sandbox_v1.2.3"},
		"archive":   {c.Archives[0].NameTemplate, "terraform-provider-sandbox_1.2.3_linux_arm64"},
		"checksums": {c.Checksum.NameTemplate, "terraform-provider-sandbox_1.2.3_SHA256SUMS"},
	} {
		if got := expand(t, c.ProjectName, names[0]); got != names[1] {
			t.Errorf("the %s is named %s, want %s", what, got, names[1])
		}
	}
	if got := c.Archives[0].Formats; !slices.Equal(got, []string{"zip"}) {
		t.Errorf("archives are %v, want zip", got)
	}
}

// A manifest that is released but not in the checksums is refused by the
// registry, so it must stand in both lists, under one name.
func TestManifestIsReleasedAndInTheChecksums(t *testing.T) {
	t.Parallel()
	c := readReleaseConfig(t)
	for what, files := range map[string][]extraFile{"release": c.Release.ExtraFiles, "checksums": c.Checksum.ExtraFiles} {
		if len(files) != 1 || files[0].Glob != "terraform-registry-manifest.json" {
			t.Errorf("%s: want the manifest alone, got %v", what, files)
			continue
		}
		if got, want := expand(t, c.ProjectName, files[0].NameTemplate), "terraform-provider-sandbox_1.2.3_manifest.json"; got != want {
			t.Errorf("%s: the manifest is named %s, want %s", what, got, want)
		}
	}
	if c.Checksum.Algorithm != "sha256" {
		t.Errorf("checksums are %s, want sha256", c.Checksum.Algorithm)
	}

	text, err := os.ReadFile("terraform-registry-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Version  int
		Metadata struct {
			ProtocolVersions []string `json:"protocol_versions"`
		}
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Version != 1 || !slices.Equal(manifest.Metadata.ProtocolVersions, []string{"6.0"}) {
		t.Errorf("the manifest says %+v, want version 1 and the protocol that main serves, 6.0", manifest)
	}
}

func TestReleaseIsReproducibleAndSigned(t *testing.T) {
	t.Parallel()
	c := readReleaseConfig(t)
	build := c.Builds[0]
	if !slices.Contains(build.Env, "CGO_ENABLED=0") || !slices.Contains(build.Flags, "-trimpath") || build.ModTimestamp != "{{ .CommitTimestamp }}" {
		t.Errorf("the build depends on the machine that makes it: %+v", build)
	}
	if !slices.Equal(build.Goos, []string{"linux", "darwin", "windows"}) || !slices.Equal(build.Goarch, []string{"amd64", "arm64"}) {
		t.Errorf("released for %v on %v; GNUmakefile's PLATFORMS and the docs say otherwise", build.Goos, build.Goarch)
	}
	if s := c.Signs[0]; s.Artifacts != "checksum" || !slices.Contains(s.Args, "--batch") || !slices.Contains(s.Args, "--detach-sign") {
		t.Errorf("want a detached signature of the checksums, made in batch mode, got %+v", s)
	}
}

func TestLinkerSetsAVariableThatExists(t *testing.T) {
	t.Parallel()
	flags := strings.Join(readReleaseConfig(t).Builds[0].Ldflags, " ")
	_, rest, ok := strings.Cut(flags, "-X main.")
	name, value, _ := strings.Cut(rest, "=")
	if !ok || value != "{{ .Version }}" {
		t.Fatalf("the linker is not told the version: %s", flags)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && slices.ContainsFunc(v.Names, func(i *ast.Ident) bool { return i.Name == name }) {
					return
				}
			}
		}
	}
	t.Errorf("main.go has no variable %q; the linker would set nothing, without a word", name)
}

func readReleaseConfig(t *testing.T) releaseConfig {
	t.Helper()
	text, err := os.ReadFile(".goreleaser.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c releaseConfig
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatalf("read .goreleaser.yml: %v", err)
	}
	return c
}

// expand fills a name template the way the release does.
func expand(t *testing.T, project, text string) string {
	t.Helper()
	tmpl, err := template.New("name").Option("missingkey=error").Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var out bytes.Buffer
	data := map[string]string{"ProjectName": project, "Version": "1.2.3", "Os": "linux", "Arch": "arm64"}
	if err := tmpl.Execute(&out, data); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out.String()
}
