package imageregistry_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/imageregistry"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestLookSaysWhatAnImageIs(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	for configured, want := range map[string]struct {
		user        string
		root, other bool
	}{
		"":          {"0", true, false},
		"root":      {"root", true, false},
		"00":        {"00", true, false},
		":0":        {":0", true, false},
		"1654":      {"1654", false, true},
		"1000:1000": {"1000:1000", false, true},
		"app":       {"app", false, false},
	} {
		img := image(t, configured, "linux/amd64")
		reference := w.push(t, "team/tool:"+"v"+digestOf(t, img)[7:20], img)
		got, err := look(t, w.client(private), reference, "")
		if err != nil {
			t.Fatalf("%q: %v", configured, err)
		}
		user, err := got.User()
		if err != nil || user != want.user || got.Digest != digestOf(t, img) || got.Platform().String() != "linux/amd64" {
			t.Errorf("%q: %+v, %v", configured, got, err)
		}
		if u := got.Variants[0].GuestUser(); u.IsRoot() != want.root || u.IsOther() != want.other {
			t.Errorf("%q: root %t, other %t", configured, u.IsRoot(), u.IsOther())
		}
	}
}

func TestLookReadsAnImageByItsDigest(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	img := image(t, "1000", "linux/amd64")
	w.push(t, "team/tool:1", img)
	digest := digestOf(t, img)
	for _, path := range []string{"/team/tool@" + digest, "/team/tool:1@" + digest, "/team/tool:moved@" + digest} {
		got, err := look(t, w.client(private), w.host+path, "linux/amd64")
		if err != nil || got.Digest != digest {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
}

func TestEveryPlatformThatMayRunCounts(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	for name, c := range map[string]struct {
		images   [][2]string
		platform string
		variants []string
		user     string // empty is refused
	}{
		"platforms that agree":        {[][2]string{{"1000", "linux/amd64"}, {"1000", "linux/arm64/v8"}}, "", []string{"linux/amd64", "linux/arm64/v8"}, "1000"},
		"that agree in other words":   {[][2]string{{"", "linux/amd64"}, {"root", "linux/arm64"}}, "", []string{"linux/amd64", "linux/arm64"}, "0"},
		"one is root":                 {[][2]string{{"65534", "linux/amd64"}, {"root", "linux/arm64"}}, "", []string{"linux/amd64", "linux/arm64"}, ""},
		"one may be root":             {[][2]string{{"65534", "linux/amd64"}, {"app", "linux/arm64"}}, "", []string{"linux/amd64", "linux/arm64"}, ""},
		"one is in root's group":      {[][2]string{{"65534", "linux/amd64"}, {"65534:0", "linux/arm64"}}, "", []string{"linux/amd64", "linux/arm64"}, ""},
		"the platform that will run":  {[][2]string{{"65534", "linux/amd64"}, {"root", "linux/arm64"}}, "linux/amd64", []string{"linux/amd64"}, "65534"},
		"all variants of it":          {[][2]string{{"1", "linux/arm/v6"}, {"0", "linux/arm/v7"}}, "linux/arm", []string{"linux/arm/v6", "linux/arm/v7"}, ""},
		"one variant of it":           {[][2]string{{"1", "linux/arm/v6"}, {"0", "linux/arm/v7"}}, "linux/arm/v6", []string{"linux/arm/v6"}, "1"},
		"another system does not run": {[][2]string{{"1000", "linux/amd64"}, {"ContainerUser", "windows/amd64"}}, "", []string{"linux/amd64"}, "1000"},
		"unless it is asked for":      {[][2]string{{"1000", "linux/amd64"}, {"ContainerUser", "windows/amd64"}}, "windows/amd64", []string{"windows/amd64"}, "ContainerUser"},
		"what is said about images":   {[][2]string{{"1000", "linux/amd64"}, {"0", "unknown/unknown"}}, "", []string{"linux/amd64"}, "1000"},
		"a platform nobody says":      {[][2]string{{"1000", "linux/amd64"}, {"0", "?linux/arm64"}}, "", []string{"linux/amd64", "linux/arm64"}, ""},
		"a platform said elsewhere":   {[][2]string{{"1000", "linux/amd64"}, {"0", "?windows/amd64"}}, "", []string{"linux/amd64"}, "1000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idx := index(t, c.images...)
			reference := w.push(t, "team/"+strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "'", ""), " ", "-"))+":1", idx)
			got, err := look(t, w.client(private), reference, c.platform)
			if err != nil {
				t.Fatal(err)
			}
			var variants []string
			for _, v := range got.Variants {
				variants = append(variants, v.Platform.String())
			}
			if !slices.Equal(variants, c.variants) {
				t.Errorf("variants %q, want %q", variants, c.variants)
			}
			if pinned := c.platform != "" && len(variants) == 1; (got.Digest == digestOf(t, idx)) == pinned || pinned && got.Digest != got.Variants[0].Digest {
				t.Errorf("digest %s", got.Digest)
			}
			user, err := got.User()
			if c.user == "" {
				refused(t, err, sandbox.CodeImagePlatform, "platform", c.variants[0]+" runs as ", c.variants[1]+" runs as ", "set platform")
			} else if err != nil || user != c.user {
				t.Errorf("user %q, %v", user, err)
			}
		})
	}
}

func TestLookRefusesAPlatformThatTheImageDoesNotHave(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	both := w.push(t, "team/both:1", index(t, [2]string{"0", "linux/amd64"}, [2]string{"0", "linux/arm64"}))
	windows := w.push(t, "team/windows:1", index(t, [2]string{"0", "windows/amd64"}))
	one := w.push(t, "team/one:1", image(t, "0", "linux/amd64"))
	none := w.push(t, "team/none:1", empty.Index)
	c := w.client(private)
	_, err := look(t, c, both, "linux/s390x")
	refused(t, err, sandbox.CodeImagePlatform, "platform", "linux/amd64", "linux/arm64", "linux/s390x")
	_, err = look(t, c, windows, "")
	refused(t, err, sandbox.CodeImagePlatform, "platform", "windows/amd64", "a Linux platform")
	_, err = look(t, c, one, "linux/arm64")
	refused(t, err, sandbox.CodeImagePlatform, "platform", "linux/amd64", "linux/arm64")
	_, err = look(t, c, none, "")
	refused(t, err, sandbox.CodeImagePlatform, "platform", "without images")
	if _, err := look(t, c, one, "linux/amd64"); err != nil {
		t.Errorf("the allowed neighbour: %v", err)
	}
}

func TestLookRefusesImagesThatNobodyCanStart(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	for _, user := range []string{"-1", "4294967296", "a b", "\x1b[31m"} {
		img := image(t, user, "linux/amd64")
		_, err := look(t, w.client(private), w.push(t, "team/x:"+digestOf(t, img)[7:20], img), "")
		refused(t, err, sandbox.CodeImageInvalid, "reference", "USER")
	}
}

func TestLookRefusesWhatIsNoReference(t *testing.T) {
	t.Parallel()
	c := imageregistry.New(imageregistry.Config{})
	for _, reference := range []string{
		"", "python", "python:3.13", "library/python:3.13", "https://registry.example.com/a", "registry.example.com/", "registry.example.com/A:1",
		"registry.example.com/a:", "registry.example.com/a@sha256:12", "registry.example.com/a b", "registry.example.com:99999x/a", "../a",
	} {
		_, err := look(t, c, reference, "")
		refused(t, err, sandbox.CodeImageInvalid, "reference", "registry.example.com/agents/python:3.13")
	}
	for _, platform := range []string{"linux", "linux/", "/amd64", "Linux/amd64", "linux/amd64/v1/x", "linux/amd64:10", "linux amd64", strings.Repeat("a", 99) + "/b"} {
		_, err := imageregistry.ParsePlatform(platform)
		refused(t, err, sandbox.CodeInvalidText, "platform", "linux/amd64")
	}
}

// keychain knows one user everywhere, and that it was asked.
type keychain struct{ asked []string }

func (k *keychain) Resolve(r authn.Resource) (authn.Authenticator, error) {
	k.asked = append(k.asked, r.RegistryStr())
	return &authn.Basic{Username: "agent", Password: "secret"}, nil
}

func TestLookSaysThatAnImageIsNotThere(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	w.push(t, "team/tool:1", mutate.MediaType(image(t, "0", "linux/amd64"), "application/vnd.oci.image.manifest.v1+json"))
	_, err := look(t, w.client(private), w.host+"/team/tool:2", "")
	refused(t, err, sandbox.CodeRegistryNotFound, "reference", "404", w.host)
	_, err = look(t, w.client(private), w.host+"/team/tol:1", "")
	refused(t, err, sandbox.CodeRegistryNotFound, "reference")
	if _, err := look(t, w.client(private), w.host+"/team/tool:1", ""); err != nil {
		t.Errorf("the allowed neighbour: %v", err)
	}
}
