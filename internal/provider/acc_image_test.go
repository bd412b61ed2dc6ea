package provider

import (
	"strings"
	"testing"
)

// imageHCL is a workload on a backend that writes files as root, made from an image
// that a registry knows.
const imageHCL = `
data "sandbox_image" "tool" {
  reference = "REFERENCE"
}
resource "sandbox_workload" "report" {
  policy = {
    minimum_isolation    = "microvm"
    minimum_evidence     = "documented"
    image_registries     = ["HOST"]
    image_require_digest = true
  }
  backend  = "acas"
  kind     = "codeact"
  image    = data.sandbox_image.tool
  requires = ["exec", "files_out"]
}
output "image" { value = sandbox_workload.report.image }
output "findings" { value = sandbox_workload.report.findings }
output "checked" {
  value = provider::sandbox::check({ minimum_isolation = "microvm", minimum_evidence = "documented" }, { backend = "acas", kind = "codeact", requires = ["exec"], image = data.sandbox_image.tool }).verdict
}
`

func (w *imageWorld) hcl(reference string, edits ...string) map[string]string {
	config := strings.NewReplacer(append(edits, "REFERENCE", reference, "HOST", w.host)...).Replace(imageHCL)
	return map[string]string{"main.tf": w.blockHCL() + config}
}

func TestAccPlanKnowsTheUserOfAnImage(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t)
	other, _ := w.push(t, "team/other:1", [2]string{"linux/amd64", "1654"})
	root, digest := w.push(t, "team/root:1", [2]string{"linux/amd64", ""})
	c := newCLI(t, w.trusted(offline()), w.hcl(other))
	out, code := c.plan(t)
	if code != 1 || !strings.Contains(out, "uid 1654 with files_out required") || !strings.Contains(out, " image.user_unfit at image.user\n") {
		t.Errorf("an image that is known not to be root: exit %d\n%s", code, out)
	}
	c.write(t, w.hcl(root))
	out, code = c.plan(t)
	if code != 2 || !strings.Contains(out, digest) || !strings.Contains(out, `+ checked  = "allow"`) {
		t.Errorf("the allowed neighbour: exit %d\n%s", code, out)
	}
	if out, code := c.run(t, "apply", "-auto-approve", "-no-color"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if out, code := c.plan(t); code != 0 {
		t.Errorf("the second plan is not empty: exit %d\n%s", code, out)
	}
	// The tag moves to an image that is not root: the next plan says so.
	w.push(t, "team/root:1", [2]string{"linux/amd64", "1654"})
	if out, code := c.plan(t); code != 1 || !strings.Contains(out, " image.user_unfit at image.user") {
		t.Errorf("a tag that moved: exit %d\n%s", code, out)
	}
}

func TestAccAWorkloadThatOnlyRunsIsWarnedOfTheUser(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t)
	reference, _ := w.push(t, "team/tool:1", [2]string{"linux/amd64", "1654"})
	c := newCLI(t, w.trusted(offline()), w.hcl(reference, `"exec", "files_out"`, `"exec"`))
	out, code := c.plan(t)
	if code != 2 || !strings.Contains(out, "Warning: ") || !strings.Contains(out, "image.user_unfit at image.user: uid 1654") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestAccAPolicyMayDemandAnotherUserThanRoot(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t)
	root, _ := w.push(t, "team/root:1", [2]string{"linux/amd64", "root"})
	other, _ := w.push(t, "team/other:1", [2]string{"linux/amd64", "1654"})
	demand := []string{`"exec", "files_out"`, `"exec"`, "image_require_digest = true", "image_user = \"non_root\""}
	c := newCLI(t, w.trusted(offline()), w.hcl(root, demand...))
	if out, code := c.plan(t); code != 1 || !strings.Contains(out, " image.user_denied at image.user") {
		t.Errorf("root: exit %d\n%s", code, out)
	}
	c.write(t, w.hcl(other, demand...))
	if out, code := c.plan(t); code != 2 {
		t.Errorf("the allowed neighbour: exit %d\n%s", code, out)
	}
}

// What is not known at plan is looked up during apply, and refused there.
func TestAccAnImageThatIsNotKnownYetSurvivesThePlan(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t)
	other, _ := w.push(t, "team/other:1", [2]string{"linux/amd64", "1654"})
	root, _ := w.push(t, "team/root:1", [2]string{"linux/amd64", "0"})
	late := func(reference string) map[string]string {
		files := w.hcl(reference, `reference = "REFERENCE"`, "reference = terraform_data.late.output")
		files["late.tf"] = "resource \"terraform_data\" \"late\" {\n  input = \"" + reference + "\"\n}\n"
		return files
	}
	for reference, want := range map[string]int{other: 1, root: 0} {
		c := newCLI(t, w.trusted(offline()), late(reference))
		w.requests.Store(0)
		if out, code := c.plan(t); code != 2 || w.requests.Load() != 0 {
			t.Fatalf("exit %d after %d requests\n%s", code, w.requests.Load(), out)
		}
		out, code := c.run(t, "apply", "-auto-approve", "-no-color")
		if code != want || strings.Contains(out, " image.user_unfit at image.user") != (want == 1) || strings.Contains(out, "bug in the provider") {
			t.Errorf("exit %d, want %d\n%s", code, want, out)
		}
	}
}

func TestAccNoRegistryIsAskedThatTheProviderBlockDoesNotName(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t)
	reference, _ := w.push(t, "team/tool:1", [2]string{"linux/amd64", "0"})
	files := w.hcl(reference)
	files["main.tf"] = strings.Replace(files["main.tf"], w.blockHCL(), "", 1)
	c := newCLI(t, w.trusted(offline()), files)
	out, code := c.plan(t)
	if code != 1 || !strings.Contains(out, " registry.not_allowed at reference") || !strings.Contains(out, "with data.sandbox_image.tool") || w.requests.Load() != 0 {
		t.Errorf("exit %d after %d requests\n%s", code, w.requests.Load(), out)
	}
}

const prebuiltHCL = `
data "sandbox_prebuilt_image" "python" {
  name = "python-3.13"
}
data "sandbox_prebuilt_images" "all" {}
resource "sandbox_workload" "report" {
  policy   = { minimum_isolation = "microvm", minimum_evidence = "documented" }
  backend  = "acas"
  kind     = "codeact"
  image    = data.sandbox_prebuilt_image.python
  requires = ["exec", "files_out"]
}
output "date" { value = data.sandbox_prebuilt_images.all.catalogue_date }
output "image" { value = sandbox_workload.report.image.prebuilt }
`

func TestAccCatalogueNamesAreCheckedAtPlan(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), map[string]string{"main.tf": prebuiltHCL})
	if out, code := c.plan(t); code != 2 || !strings.Contains(out, `+ image = "python-3.13"`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	c.write(t, map[string]string{"main.tf": strings.Replace(prebuiltHCL, "python-3.13", "pyhton-3.13", 1)})
	if out, code := c.plan(t); code != 1 || !strings.Contains(out, "main.tf line 3") || !strings.Contains(out, `Did you mean "python-3.13"`) || !strings.Contains(out, " image.prebuilt_unknown at name") {
		t.Errorf("a misspelt name: exit %d\n%s", code, out)
	}
	c.write(t, map[string]string{"main.tf": strings.Replace(prebuiltHCL, "python-3.13", "python:3.13", 1)})
	if out, code := c.run(t, "validate", "-no-color"); code != 1 || !strings.Contains(out, `"python-3.13"`) || !strings.Contains(out, "part of a catalogue name") {
		t.Errorf("a tag: exit %d\n%s", code, out)
	}
	// Nobody looked as whom python-3.13 runs, so nothing is removed on its behalf.
	c.write(t, map[string]string{"main.tf": strings.Replace(prebuiltHCL, `"files_out"]`, `"files_delete"]`, 1)})
	if out, code := c.plan(t); code != 1 || !strings.Contains(out, " image.user_unfit at image.user") {
		t.Errorf("files_delete: exit %d\n%s", code, out)
	}
	c.write(t, map[string]string{"main.tf": strings.NewReplacer(`"files_out"]`, `"files_delete"]`, "python-3.13", "node-22").Replace(prebuiltHCL)})
	if out, code := c.plan(t); code != 2 {
		t.Errorf("the allowed neighbour: exit %d\n%s", code, out)
	}
}

// The group's own region is asked once the group is there.
func TestAccCatalogueOfAGroupIsTheRegionsOwn(t *testing.T) {
	t.Parallel()
	for name, newWorld := range map[string]func(*testing.T) *world{"embedded": embeddedWorld, "acas": servedWorld} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			config := w.block + `
resource "sandbox_group" "team" {
  name     = "team"
  location = "` + w.location + `"
}
data "sandbox_prebuilt_image" "python" {
  group = sandbox_group.team.id
  name  = "python-3.13"
}
data "sandbox_prebuilt_images" "all" { group = sandbox_group.team.id }
output "source" { value = data.sandbox_prebuilt_images.all.catalogue_source }
output "name" { value = data.sandbox_prebuilt_image.python.prebuilt }
`
			c := newCLI(t, w.provider, map[string]string{"main.tf": config})
			if out, code := c.run(t, "apply", "-auto-approve", "-no-color"); code != 0 || !strings.Contains(out, `source = "service"`) || !strings.Contains(out, `name = "python-3.13"`) {
				t.Fatalf("exit %d\n%s", code, out)
			}
			if out, code := c.plan(t); code != 0 {
				t.Errorf("the second plan is not empty: exit %d\n%s", code, out)
			}
			c.write(t, map[string]string{"main.tf": strings.Replace(config, "python-3.13", "python-3.15", 1)})
			if out, code := c.plan(t); code != 1 || !strings.Contains(out, "(service)") || !strings.Contains(out, " image.prebuilt_unknown at name") {
				t.Errorf("an unknown name: exit %d\n%s", code, out)
			}
		})
	}
}

// The user travels from the registry through an imported image to the workload, before
// anything exists.
func TestAccUserOfAnImageTravelsThroughADiskImage(t *testing.T) {
	t.Parallel()
	registry, w := newImageWorld(t), embeddedWorld(t)
	block := strings.Replace(w.block, "{\n", "{\n  registries = { \""+registry.host+"\" = { private_addresses = true } }\n", 1)
	config := func(reference string) map[string]string {
		return map[string]string{"main.tf": block + `
resource "sandbox_group" "team" {
  name     = "team"
  location = "` + w.location + `"
}
data "sandbox_image" "tool" {
  reference = "` + reference + `"
  platform  = "linux/amd64"
}
resource "sandbox_disk_image" "tool" {
  group = sandbox_group.team.id
  image = data.sandbox_image.tool
}
resource "sandbox_workload" "report" {
  policy   = { minimum_isolation = "microvm", minimum_evidence = "documented", image_require_digest = true }
  backend  = "acas"
  kind     = "codeact"
  image    = sandbox_disk_image.tool
  requires = ["exec", "files_out"]
}
output "checked" { # the whole image has a password that may be stored
  value = nonsensitive(provider::sandbox::check({ minimum_isolation = "microvm", minimum_evidence = "documented" }, { backend = "acas", kind = "codeact", requires = ["exec"], image = sandbox_disk_image.tool }).verdict)
}
`}
	}
	users := func(user string) [][2]string { return [][2]string{{"linux/amd64", user}, {"linux/arm64", "0"}} }
	other, _ := registry.push(t, "team/other:1", users("1654")...)
	root, _ := registry.push(t, "team/root:1", users("0")...)
	c := newCLI(t, registry.trusted(w.provider), config(other))
	if out, code := c.plan(t); code != 1 || !strings.Contains(out, "uid 1654 with files_out required") || !strings.Contains(out, "with sandbox_workload.report") {
		t.Errorf("exit %d\n%s", code, out)
	}
	c.write(t, config(root))
	if out, code := c.plan(t); code != 2 || !strings.Contains(out, `+ checked = "allow"`) {
		t.Errorf("the allowed neighbour: exit %d\n%s", code, out)
	}
	if out, code := c.run(t, "apply", "-auto-approve", "-no-color"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if out, code := c.plan(t); code != 0 {
		t.Errorf("the second plan is not empty: exit %d\n%s", code, out)
	}
}
