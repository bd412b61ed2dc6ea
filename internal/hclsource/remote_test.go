package hclsource_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hclsource"
)

func TestTheFirstObjectThatNeedsACloudIsNamed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a resource of another provider": {
			map[string]string{"root/a.tf": required, "root/b.tf": "resource \"aws_s3_bucket\" \"b\" {}"},
			`aws_s3_bucket.b at b.tf:1 is an object of provider "aws"`,
		},
		"a data source of another provider": {
			map[string]string{"root/a.tf": required + "\ndata \"http\" \"x\" {}"}, `data.http.x at a.tf:7 is an object of provider "http"`,
		},
		"a data source inside a check": {
			map[string]string{"root/a.tf": required + "\ncheck \"c\" {\n  data \"external\" \"x\" {}\n}"},
			`data.external.x at a.tf:8 is an object of provider "external"`,
		},
		"an ephemeral resource": {
			map[string]string{"root/a.tf": required + "\nephemeral \"random_password\" \"x\" {}"},
			`ephemeral.random_password.x at a.tf:7 is an object of provider "random"`,
		},
		"remote state": {
			map[string]string{"root/a.tf": required + "\ndata \"terraform_remote_state\" \"x\" {}"},
			`data.terraform_remote_state.x at a.tf:7 is an object of provider "terraform"`,
		},
		"our own group": {
			map[string]string{"root/a.tf": required + "\nresource \"sandbox_group\" \"g\" {}"},
			"sandbox_group.g at a.tf:7 is an object that lives in a cloud or a registry",
		},
		"one in a module": {
			map[string]string{
				"root/a.tf":  required + "\nmodule \"m\" { source = \"../child\" }",
				"child/a.tf": "resource \"null_resource\" \"n\" {}",
			},
			`null_resource.n at ../child/a.tf:1 is an object of provider "null"`,
		},
		"a module from elsewhere": {
			map[string]string{"root/a.tf": required + "\nmodule \"m\" { source = \"terraform-aws-modules/vpc/aws\" }"},
			`module.m at a.tf:7 comes from "terraform-aws-modules/vpc/aws", which would have to be fetched; only modules in local directories are read`,
		},
		"our type under somebody's provider": {
			map[string]string{"root/a.tf": strings.Replace(required, "sandbox-iac/", "evil/", 1) + "\nresource \"sandbox_policy\" \"p\" {}"},
			`sandbox_policy.p at a.tf:7 is an object of provider "evil/sandbox"`,
		},
		"our type under an alias of another": {
			map[string]string{"root/a.tf": strings.Replace(required, "sandbox =", "other = { source = \"evil/x\" }\n    sandbox =", 1) +
				"\nresource \"sandbox_policy\" \"p\" { provider = other.x }"},
			`sandbox_policy.p at a.tf:8 is an object of provider "evil/x"`,
		},
		"our type without a provider": {
			map[string]string{"root/a.tf": "resource \"sandbox_policy\" \"p\" {}"},
			`sandbox_policy.p at a.tf:1 has no provider: add sandbox = { source = "sandbox-iac/sandbox" } to required_providers of its module`,
		},
		"a provider without an object": {
			map[string]string{"root/a.tf": strings.Replace(required, "sandbox =", "evil = { source = \"evil/x\" }\n    sandbox =", 1)},
			`provider "evil" at a.tf:3 would have to be fetched and run; a directory that is checked requires only "sandbox-iac/sandbox"`,
		},
		"a provider by its name alone": {
			map[string]string{"root/a.tf": strings.Replace(required, "sandbox =", "evil = \"~> 1.0\"\n    sandbox =", 1)},
			`provider "evil" at a.tf:3 would have to be fetched and run; a directory that is checked requires only "sandbox-iac/sandbox"`,
		},
		"only pure objects": {
			map[string]string{"root/a.tf": required + `
resource "sandbox_policy" "p" {}
resource "terraform_data" "d" {}
data "sandbox_capability_check" "c" {}
`}, "",
		},
		"a provider under another local name": {
			map[string]string{"root/a.tf": strings.Replace(required, "sandbox =", "sbx =", 1) + "\nresource \"sandbox_policy\" \"p\" { provider = sbx }"}, "",
		},
		"a provider with its host": {
			map[string]string{"root/a.tf": strings.Replace(required, "sandbox-iac/", "registry.example.com/sandbox-iac/", 1) + "\nresource \"sandbox_policy\" \"p\" {}"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := tree(t, row.files)
			if err != nil {
				t.Fatal(err)
			}
			if got := config.Remote(); got != row.want {
				t.Errorf("\n got %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no configuration":   {map[string]string{"root/readme.md": ""}, `root" has no .tf file`},
		"broken syntax":      {map[string]string{"root/a.tf": "resource {"}, "a.tf:1: "},
		"a module not there": {map[string]string{"root/a.tf": "module \"m\" { source = \"./gone\" }"}, `a.tf:1: module "m": no directory ./gone`},
	} {
		if _, err := tree(t, row.files); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s…", name, err, row.want)
		}
	}
}

func TestABackendIsBlankedWithoutMovingALine(t *testing.T) {
	t.Parallel()
	source := "terraform {\n  backend \"s3\" {\n    bucket = \"é\"\n  }\n  cloud { organization = \"o\" }\n  required_version = \">= 1.0\"\n}\nlocals { backend = 1 }\n"
	got, err := hclsource.WithoutBackend([]byte(source), "main.tf")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(source) || strings.Count(string(got), "\n") != strings.Count(source, "\n") {
		t.Errorf("lines moved: %q", got)
	}
	if text := string(got); strings.Contains(text, "s3") || strings.Contains(text, "cloud") ||
		!strings.Contains(text, "  required_version = \">= 1.0\"\n}\nlocals { backend = 1 }\n") {
		t.Errorf("%s", got)
	}
	if _, err := hclsource.WithoutBackend([]byte(`{"terraform":{"backend":{"s3":{}}}}`), "a.tf.json"); err == nil {
		t.Error("a backend in JSON passed")
	}
	if _, err := hclsource.WithoutBackend([]byte(`{"terraform":{"required_version":"1"}}`), "a.tf.json"); err != nil {
		t.Error(err)
	}
}

// What lives in a cloud has objects inside too, from which Terraform drops names.
func TestADroppedNameIsFoundInARemoteObject(t *testing.T) {
	t.Parallel()
	for word, want := range map[string][]string{"digset": {"a.tf:4 image.digset"}, "digest": nil} {
		got := dropped(t, map[string]string{"root/a.tf": `
resource "sandbox_disk_image" "tool" {
  group = "g"
  image = { reference = "registry.example.com/tool:1", ` + word + ` = "sha256:0" }
}`})
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestADroppedNameIsFoundInValuesAsAPlanHasThem(t *testing.T) {
	t.Parallel()
	image := func(word string) map[string]any {
		return map[string]any{"image": map[string]any{"reference": "registry.example.com/tool:1", word: "x"}}
	}
	rules := func(word string) map[string]any {
		return map[string]any{"workloads": map[string]any{"w": map[string]any{"egress_rules": map[string]any{"r": map[string]any{word: nil}}}}}
	}
	for name, row := range map[string]struct {
		kind       string
		attributes map[string]any
		want       string
	}{
		"an image":                            {"sandbox_disk_image", image("digset"), "image.digset"},
		"an image, well spelt":                {"sandbox_disk_image", image("digest"), ""},
		"deep in a manifest":                  {"sandbox_manifest", rules("method"), `workloads["w"].egress_rules["r"].method`},
		"deep, well spelt":                    {"sandbox_manifest", rules("methods"), ""},
		"of somebody else":                    {"sandbox_other", image("digset"), ""},
		"an attribute that is no object here": {"sandbox_disk_image", map[string]any{"labels": map[string]any{"digset": "x"}}, ""},
	} {
		got := ""
		for _, f := range hclsource.DroppedFrom(row.kind, row.attributes) {
			got += f.Path.String()
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
