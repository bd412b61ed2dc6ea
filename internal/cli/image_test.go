package cli_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
)

const reference = "registry.example.com/team/bicep:0.46.1"

// image puts a disk image into the group.
func (w *world) image(id, base, state string, age time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.images = append(w.images, wire.Image{
		ID: id, Labels: wire.Labels{"name": "n"}, Image: &wire.ImageSource{Base: base},
		Status: &wire.ImageStatus{State: state, CreatedAt: w.clock.Now().Add(-age).Format(time.RFC3339)},
	})
	if state == wire.ImageBuilding {
		w.building[id] = 2
	}
}

func TestImageImportMakesTheOneImageOfAReference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.run(t, "image", "import", reference)
	golden.Check(t, *update, "image-import", got.both())
	if got.code != cli.ExitAllowed || len(w.images) != 1 || w.images[0].Labels["name"] != "bicep-0.46.1" || w.images[0].Labels[marker] == "" {
		t.Errorf("exit code %d, %+v", got.code, w.images)
	}
	got = w.run(t, "image", "import", reference)
	golden.Check(t, *update, "image-import-again", got.both())
	if got.code != cli.ExitAllowed || len(w.images) != 1 || w.count(http.MethodPut, "/diskimages") != 1 {
		t.Errorf("exit code %d, %+v", got.code, w.images)
	}
	if got := w.run(t, "image", "import", reference+".2"); got.code != cli.ExitAllowed || len(w.images) != 2 {
		t.Errorf("another reference: exit code %d, %+v", got.code, w.images)
	}
	golden.Check(t, *update, "image-ls", w.run(t, "image", "ls").both())
	golden.Check(t, *update, "image-ls-json", w.run(t, "image", "ls", "--format", "json", "--label", "name=bicep-0.46.1").both())
}

func TestImageImportTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.building["img-1"] = 30
	golden.Check(t, *update, "image-import-slow", w.run(t, "image", "import", reference).both())

	w = newWorld(t)
	w.building["img-1"] = 5
	got := w.as(t, invocation{terminal: true}, w.flags("image", "import", reference)...)
	golden.Check(t, *update, "image-import-terminal", strings.ReplaceAll(got.both(), "\r", "<CR>"))
	if strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("on a terminal one line changes:\n%q", got.stderr)
	}

	w = newWorld(t)
	got = w.run(t, "image", "import", reference, "--format", "json")
	golden.Check(t, *update, "image-import-json", got.both())
	for line := range strings.Lines(got.stdout) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no event: %s", line)
		}
	}
}

func TestImageImportGoesOnWithABuildThatItFinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.run(t, "image", "import", reference, "--no-wait")
	golden.Check(t, *update, "image-import-no-wait", got.both())
	if got.code != cli.ExitAllowed || w.images[0].Status.State != wire.ImageBuilding {
		t.Errorf("exit code %d, %+v", got.code, w.images)
	}
	got = w.run(t, "image", "import", reference)
	golden.Check(t, *update, "image-import-joined", got.both())
	if got.code != cli.ExitAllowed || len(w.images) != 1 || w.count(http.MethodPut, "/diskimages") != 1 {
		t.Errorf("exit code %d, %+v", got.code, w.images)
	}
}

// What exists of a reference is looked at before anything is made.
func TestWhatIsThereStandsInTheWayOfASecondImage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		images [][2]string // id, state
		code   int
	}{
		"image-import-two":           {[][2]string{{"img-a", "Ready"}, {"img-b", "Ready"}}, cli.ExitRefused},
		"image-import-two-building":  {[][2]string{{"img-a", "Ready"}, {"img-b", "Building"}}, cli.ExitRefused},
		"image-import-failed-before": {[][2]string{{"img-a", "Failed"}}, cli.ExitUnfinished},
	} {
		w := newWorld(t)
		for _, i := range c.images {
			w.image(i[0], reference, i[1], time.Hour)
		}
		got := w.run(t, "image", "import", reference)
		golden.Check(t, *update, name, got.both())
		if got.code != c.code || w.count(http.MethodPut, "/diskimages") != 0 || len(w.images) != len(c.images) {
			t.Errorf("%s: exit code %d, %+v", name, got.code, w.images)
		}
	}
	w := newWorld(t)
	w.image("img-a", reference, "Failed", time.Hour)
	w.image("img-other", reference+".2", "Failed", time.Hour)
	got := w.run(t, "image", "import", reference, "--replace-failed")
	if got.code != cli.ExitAllowed || !slices.Equal(w.imageIDs(), []string{"img-other", "img-1"}) {
		t.Errorf("exit code %d, %q\n%s", got.code, w.imageIDs(), got.both())
	}
}

// Two imports of one reference at the same time leave one image, the first.
func TestTwoImportsAtTheSameTimeLeaveOneImage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		age  time.Duration // of the other's image; negative: it is made later
		skip int           // looks before it shows
		want string
	}{
		"the other was first":                 {time.Minute, 1, "img-other"},
		"the other was first, and shows late": {time.Minute, 2, "img-other"},
		"ours was first":                      {-time.Minute, 1, "img-1"},
	} {
		w := newWorld(t)
		w.fail(http.MethodGet, "/diskimages", 1, func(http.ResponseWriter, *http.Request) bool {
			w.images = append(w.images, wire.Image{
				ID: "img-other", Image: &wire.ImageSource{Base: reference},
				Status: &wire.ImageStatus{State: wire.ImageReady, CreatedAt: w.clock.Now().Add(-c.age).Format(time.RFC3339)},
			})
			return false
		}).skip = c.skip
		got := w.run(t, "image", "import", reference)
		if got.code != cli.ExitAllowed || !slices.Contains(w.imageIDs(), c.want) || !strings.Contains(got.stdout, "disk image "+c.want+" of ") {
			t.Errorf("%s: exit code %d, %q\n%s", name, got.code, w.imageIDs(), got.both())
		}
		if c.want == "img-other" && len(w.images) != 1 {
			t.Errorf("%s: %q are left", name, w.imageIDs())
		}
	}
}

func TestABuildThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("step 1/9: \x1b[31mpulling\x1b[0m a layer of the image, one more time\n", 4000) + "::error::pull denied\u202e\n##vso[task.complete]\n"
	for name, text := range map[string]string{"image-import-build-fails": "pull denied: RegistryAuthFailed", "image-import-build-fails-long": long, "image-import-build-fails-silent": ""} {
		w := newWorld(t)
		w.buildEnds = wire.ImageStatus{State: wire.ImageFailed, ErrorMessage: text}
		got := w.run(t, "image", "import", reference)
		golden.Check(t, *update, name, got.both())
		if got.code != cli.ExitUnfinished || len(w.images) != 0 {
			t.Errorf("%s: exit code %d, %+v", name, got.code, w.images)
		}
		for _, bad := range []string{"\x1b", "\u202e", "##vso[", "\n::error"} {
			if strings.Contains(got.both(), bad) {
				t.Errorf("%s let %q through", name, bad)
			}
		}
		if len(got.both()) > 16<<10 {
			t.Errorf("%s prints %d bytes", name, len(got.both()))
		}
		w = newWorld(t)
		w.buildEnds = wire.ImageStatus{State: wire.ImageFailed, Message: text}
		got = w.run(t, "image", "import", reference, "--format", "json")
		last := got.stdout[strings.LastIndex(strings.TrimSuffix(got.stdout, "\n"), "\n")+1:]
		if doc := valid(t, last); doc["event"] != "failed" || doc["code"] != "service.failed" {
			t.Errorf("%s: %s", name, last)
		}
	}
	// Somebody else's is left.
	w := newWorld(t)
	w.image("img-a", reference, wire.ImageBuilding, time.Minute)
	w.buildEnds = wire.ImageStatus{State: wire.ImageFailed, ErrorMessage: "pull denied"}
	got := w.run(t, "image", "import", reference)
	golden.Check(t, *update, "image-import-joined-fails", got.both())
	if got.code != cli.ExitUnfinished || len(w.images) != 1 {
		t.Errorf("exit code %d, %+v", got.code, w.images)
	}
}

func TestABuildThatDoesNotEndInTimeIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.building["img-1"] = 1 << 30
	got := w.run(t, "image", "import", reference, "--timeout", "1m")
	golden.Check(t, *update, "image-import-timeout", got.both())
	if got.code != cli.ExitUnfinished || len(w.images) != 1 {
		t.Errorf("exit code %d, %+v", got.code, w.images)
	}
}

func TestAnImageThatIsDeletedWhileItIsBuiltIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fail(http.MethodGet, "/diskimages/img-1", 1, func(http.ResponseWriter, *http.Request) bool {
		w.images = nil
		return false
	}).skip = 1
	w.building["img-1"] = 10
	got := w.run(t, "image", "import", reference)
	golden.Check(t, *update, "image-import-deleted", got.both())
	if got.code != cli.ExitUnfinished {
		t.Errorf("exit code %d", got.code)
	}
}

func TestAnInterruptedImportNamesWhatItLeavesAndHowToGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.building["img-1"] = 1 << 30
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.clock.sleeping = cancel
	got := w.as(t, invocation{ctx: ctx}, w.flags("image", "import", reference)...)
	golden.Check(t, *update, "image-import-interrupted", got.both())
	if got.code != cli.ExitInterrupted || len(w.images) != 1 {
		t.Errorf("exit code %d, %+v", got.code, w.images)
	}
}

func TestReferencesThatDoNotMeanTheSameToEverybodyAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, ref := range map[string]string{
		"image-import-prebuilt-name": "python-3.13", "image-import-no-registry": "team/bicep:1", "image-import-no-tag": "registry.example.com/team/bicep",
		"image-import-url": "https://registry.example.com/a:1", "image-import-spaces": "registry.example.com/a b:1", "image-import-bare-tag": "ubuntu:22.04",
		"image-import-port-only": "localhost:5000/bicep", "image-import-escape": "registry.example.com/a\x1b:1",
	} {
		got := w.run(t, "image", "import", ref)
		golden.Check(t, *update, name, got.both())
		if got.code != cli.ExitBadInput || len(w.seen) != 0 {
			t.Errorf("%s: exit code %d", name, got.code)
		}
	}
	digest := "registry.example.com/team/bicep@sha256:" + strings.Repeat("a", 64)
	for _, ref := range []string{digest, "localhost:5000/bicep:1", "localhost/bicep:1"} {
		if got := w.run(t, "image", "import", ref); got.code != cli.ExitAllowed {
			t.Errorf("%s: %s", ref, got.both())
		}
	}
	if name := w.images[0].Labels["name"]; name != "bicep-sha256-"+strings.Repeat("a", 47) {
		t.Errorf("a digest is called %q", name)
	}
}

func TestWhoPullsIsToldToTheServiceAndToNobodyElse(t *testing.T) {
	t.Parallel()
	password := write(t, "password", []byte(sentinel+"\n"))
	var sent wire.CreateImage
	w := newWorld(t)
	w.fail(http.MethodPut, "/diskimages", 1, says(http.StatusBadRequest, `{"title":"RegistryAuthFailed","status":400,"detail":"no: `+sentinel+`"}`))
	got := w.run(t, "image", "import", reference, "--registry-user", "pull", "--registry-password-file", password)
	golden.Check(t, *update, "image-import-pull-denied", got.both())
	if got.code != cli.ExitBadInput || strings.Contains(got.both(), sentinel) || len(w.images) != 0 {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	w.created = &sent
	if got := w.run(t, "image", "import", reference, "--registry-user", "pull", "--registry-password-file", password); got.code != cli.ExitAllowed {
		t.Error(got.both())
	}
	if sent.RegistryCredentials == nil || sent.RegistryCredentials.Token != sentinel || sent.RegistryCredentials.Username != "pull" {
		t.Errorf("%+v was sent", sent)
	}
	if got := w.run(t, "image", "import", reference+"-2", "--identity", "system", "--name", "mine"); got.code != cli.ExitAllowed || sent.ManagedIdentityResourceID != "system" || sent.Labels["name"] != "mine" {
		t.Errorf("%+v was sent\n%s", sent, got.both())
	}
	empty := write(t, "empty", nil)
	for name, args := range map[string][]string{
		"a user alone":     {"--registry-user", "pull"},
		"a password alone": {"--registry-password-file", password},
		"both":             {"--identity", "system", "--registry-user", "pull", "--registry-password-file", password},
		"no password":      {"--registry-user", "pull", "--registry-password-file", empty},
		"a name to split":  {"--name", "a,b"},
		"a long name":      {"--name", strings.Repeat("a", 64)},
	} {
		if got := w.run(t, append([]string{"image", "import", reference + "-3"}, args...)...); got.code != cli.ExitBadInput || len(w.images) != 2 {
			t.Errorf("%s: exit code %d\n%s", name, got.code, got.both())
		}
	}
}

func TestTheCatalogueNamesWhatIsNearest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"catalogue":           {nil, cli.ExitAllowed},
		"catalogue-json":      {[]string{"--format", "json"}, cli.ExitAllowed},
		"catalogue-one":       {[]string{"python-3.13"}, cli.ExitAllowed},
		"catalogue-typo":      {[]string{"pyhton-3.13"}, cli.ExitRefused},
		"catalogue-far":       {[]string{"windows"}, cli.ExitRefused},
		"catalogue-reference": {[]string{"registry.example.com/python:3.13"}, cli.ExitRefused},
	} {
		got := w.run(t, append([]string{"image", "catalogue"}, c.args...)...)
		golden.Check(t, *update, name, got.both())
		if got.code != c.code {
			t.Errorf("%s: exit code %d", name, got.code)
		}
	}
	if got := w.run(t, "image", "catalog", "ubuntu"); got.code != cli.ExitAllowed {
		t.Error(got.both())
	}
	w.catalogue = nil
	golden.Check(t, *update, "catalogue-empty", w.run(t, "image", "catalogue", "ubuntu").both())
}
