package provider

import (
	"strings"
	"testing"
)

func TestAccImagePipelineVerifiesWhatItImports(t *testing.T) {
	t.Parallel()
	registry, w := newImageWorld(t), embeddedWorld(t)
	files := exampleFiles(t, "image-pipeline",
		`registries = { "registry.example.com" = {} }`, `registries = { "`+registry.host+`" = { private_addresses = true } }`,
		"registry.example.com", registry.host, "  embedded {}\n", w.inner())
	users := func(user string) [][2]string { return [][2]string{{"linux/amd64", user}, {"linux/arm64", "0"}} }
	registry.push(t, "agents/tool:1.4", users("1654")...)
	registry.push(t, "agents/tool:1.5", users("root")...)
	c := newCLI(t, registry.trusted(w.provider), files)
	if out := c.apply(t); !strings.Contains(out, `user = "1654"`) {
		t.Errorf("the user is not told:\n%s", out)
	}
	c.empty(t)
	if out, _ := c.run(t, "state", "show", "-no-color", "sandbox_disk_image.tool"); !strings.Contains(out, `= "`+registry.host+`/agents/tool@sha256:`) {
		t.Errorf("the image is not pinned by its digest:\n%s", out)
	}

	filesOut := `-var=requires=["exec","files_in","files_out"]`
	out, code := c.plan(t, filesOut)
	if code != 1 {
		t.Errorf("files out of an image that is not root: exit %d\n%s", code, out)
	}
	tells(t, "image-pipeline", out, "Error: Image user cannot do what the workload requires")
	out, code = c.plan(t, "-var=tag=1.5")
	if code != 1 {
		t.Errorf("an image that is root: exit %d\n%s", code, out)
	}
	tells(t, "image-pipeline", out, "Error: Image runs as a user the policy denies")
	if out, code := c.plan(t, filesOut, "-var=tag=1.5", "-var=image_user=root"); code != 2 {
		t.Errorf("the allowed neighbour: exit %d\n%s", code, out)
	}
}

func TestAccImagePipelineTakesNoImageOfAnotherRegistry(t *testing.T) {
	t.Parallel()
	registry, other, w := newImageWorld(t), newImageWorld(t), embeddedWorld(t)
	other.push(t, "agents/tool:1.4", [2]string{"linux/amd64", "1654"})
	files := exampleFiles(t, "image-pipeline",
		`registries = { "registry.example.com" = {} }`, `registries = { "`+other.host+`" = { private_addresses = true } }`,
		`"registry.example.com/`, `"`+other.host+`/`, "registry.example.com", registry.host, "  embedded {}\n", w.inner())
	out, code := newCLI(t, other.trusted(w.provider), files).plan(t)
	if code != 1 || !strings.Contains(out, "\n image.registry_denied at image") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
