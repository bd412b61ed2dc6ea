package provider

import (
	"errors"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// failedImage leaves an image whose build failed, with these labels.
func failedImage(t *testing.T, w *world, labels wire.Labels) string {
	t.Helper()
	body := wire.CreateImage{Image: &wire.ImageSource{Base: "registry.example.com/tool:1"}, Labels: labels}
	mark := labels[acasapi.MarkerLabel]
	w.misbehave("image=fail")
	defer w.calm()
	made := must[wire.Image](t)(w.group(t, "team").StartImage(t.Context(), body, mark))
	image, err := w.group(t, "team").AwaitImage(t.Context(), made, acasapi.Wait{})
	if !errors.Is(err, sandbox.CodeServiceFailed) {
		t.Fatalf("the build did not fail: %v", err)
	}
	return image.ID
}

// unmark takes the product's marker off an image, as one that another client made.
func unmark(doc map[string]any) {
	if doc[acasapi.MarkerLabel] == "theirs" {
		delete(doc, acasapi.MarkerLabel)
	}
}

// A failed image that something of ours left is replaced; somebody else's is named and
// stays.
func TestAccAFailedImageOfSomebodyElseIsNotDeleted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mark    string
		refused bool
	}{"ours": {"ours", false}, "somebody else's": {"theirs", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := talkative(t, unmark)
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": oneGroupHCL})
			tf.apply(t)
			id := failedImage(t, w, wire.Labels{acasapi.MarkerLabel: c.mark})
			tf.write(t, map[string]string{"main.tf": toolHCL})
			if !c.refused {
				tf.apply(t)
				tf.empty(t)
				return
			}
			tf.refused(t, id, "somebody else made", "service.failed at image")
			if image := must[wire.Image](t)(w.group(t, "team").Image(t.Context(), id)); image.ID != id {
				t.Errorf("the image is %q", image.ID)
			}
		})
	}
}

// An image that the service calls failed is taken for gone, and made again; it can be
// destroyed as well.
func TestAccAnImageThatFailedLaterIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(*testing.T, *cli){
		"made again": func(t *testing.T, tf *cli) { t.Helper(); tf.apply(t); tf.empty(t) },
		"destroyed": func(t *testing.T, tf *cli) {
			t.Helper()
			if out, code := tf.run(t, "destroy", "-auto-approve", "-no-color", "-input=false", "-refresh=false"); code != 0 {
				t.Error(out)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed := false
			w := talkative(t, func(doc map[string]any) {
				if status, ok := doc["status"].(map[string]any); ok && failed && doc["image"] != nil {
					status["state"] = wire.ImageFailed
				}
			})
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": toolHCL})
			tf.apply(t)
			failed = true
			out, code := tf.plan(t)
			if code != 2 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			wants(t, out, "Object is of no use", "1 to add, 0 to change, 0 to destroy")
			failed = name == "destroyed"
			after(t, tf)
		})
	}
}
