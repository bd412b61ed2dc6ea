package provider

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestImageDataSaysWhatAWorkloadTakes(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t)
	s := newServer(t, w.trusted(offline())).configure(t, w.block())
	both := [][2]string{{"linux/amd64", "65534"}, {"linux/arm64", "65534"}}
	for name, c := range map[string]struct {
		users          [][2]string
		asked          string
		platform       string
		user, root     string
		wholeDigest    bool
		variantsOnward int
	}{
		"an image of one platform":  {[][2]string{{"linux/amd64", "1654"}}, "", "linux/amd64", "1654", "false", true, 1},
		"an image that names none":  {[][2]string{{"linux/amd64", ""}}, "", "linux/amd64", "0", "true", true, 1},
		"a name":                    {[][2]string{{"linux/amd64", "app"}}, "", "linux/amd64", "app", "null", true, 1},
		"two platforms that agree":  {both, "", "null", "65534", "false", true, 2},
		"one of two platforms":      {both, "linux/arm64", "linux/arm64", "65534", "false", false, 1},
		"one that the other is not": {[][2]string{{"linux/amd64", "65534"}, {"linux/arm64", "root"}}, "linux/arm64", "linux/arm64", "root", "true", false, 1},
	} {
		reference, digest := w.push(t, "team/"+strings.ReplaceAll(name, " ", "-")+":1", c.users...)
		attrs := map[string]any{"reference": reference}
		if c.asked != "" {
			attrs["platform"] = c.asked
		}
		state, diags := s.read(t, "sandbox_image", attrs)
		if failed(diags) {
			t.Fatalf("%s: %s", name, render(diags))
		}
		for attribute, want := range map[string]string{"reference": reference, "platform": c.platform, "user": c.user, "root": c.root} {
			if got := said(t, attrsOf(t, state)[attribute]); got != want {
				t.Errorf("%s: %s is %s, want %s", name, attribute, got, want)
			}
		}
		if got := text(t, state, "digest"); !sandbox.IsDigest(got) || (got == digest) != c.wholeDigest {
			t.Errorf("%s: digest %s", name, got)
		}
		var variants []tftypes.Value
		if err := attrsOf(t, state)["variants"].As(&variants); err != nil || len(variants) != c.variantsOnward {
			t.Errorf("%s: variants %s", name, attrsOf(t, state)["variants"])
		}
	}
}

func TestImageDataRefusesPlatformsThatDiffer(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t)
	s := newServer(t, w.trusted(offline())).configure(t, w.block())
	reference, _ := w.push(t, "team/tool:1", [2]string{"linux/amd64", "65534"}, [2]string{"linux/arm64", "root"})
	_, diags := s.read(t, "sandbox_image", map[string]any{"reference": reference})
	if got := locators(diags); !slices.Equal(got, []string{"image.platform at platform"}) || !strings.Contains(render(diags), `linux/amd64 runs as uid 65534, linux/arm64 runs as root`) {
		t.Error(render(diags))
	}
}

func TestImageDataAsksNobodyWithoutLeave(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t)
	reference, _ := w.push(t, "team/tool:1", [2]string{"linux/amd64", "0"})
	document, _ := policyDocument(t, sandbox.Policy{Images: sandbox.ImagePolicy{Registries: []string{"registry.example.com"}}})
	listed, _ := policyDocument(t, sandbox.Policy{Images: sandbox.ImagePolicy{Registries: []string{w.host}}})
	files := map[string][]byte{"other.json": document, "listed.json": listed}
	other := map[string]any{"registries": map[string]any{"registry.example.com": map[string]any{}}}
	for name, c := range map[string]struct {
		env   map[string]string
		block map[string]any
		want  []string
	}{
		"no registries":                     {nil, nil, []string{"registry.not_allowed at reference"}},
		"another registry":                  {nil, other, []string{"registry.not_allowed at reference"}},
		"registries that are not known yet": {nil, map[string]any{"registries": notKnown{}}, []string{"decision.undecided at reference"}},
		"a platform policy without it":      {map[string]string{envPolicyFile: "other.json"}, w.block(), []string{"image.registry_denied at reference"}},
		"a platform policy not known yet":   {nil, with(w.block(), map[string]any{"policy_file": notKnown{}}), []string{"decision.undecided at reference"}},
		"a platform policy not to be read":  {map[string]string{envPolicyFile: "secret.json"}, w.block(), []string{"platform_policy.unreadable"}},
		"a private address":                 {nil, map[string]any{"registries": map[string]any{w.host: map[string]any{}}}, []string{"registry.not_allowed at reference"}},
		"leave":                             {nil, w.block(), []string{}},
		"leave of the platform policy too":  {map[string]string{envPolicyFile: "listed.json"}, w.block(), []string{}},
	} {
		w.requests.Store(0)
		s := newServer(t, w.trusted(platform(c.env, files))).configure(t, c.block)
		_, diags := s.read(t, "sandbox_image", map[string]any{"reference": reference})
		if got := locators(diags); !slices.Equal(got, c.want) {
			t.Errorf("%s: %s", name, render(diags))
		}
		if n := w.requests.Load(); (n > 0) != (len(c.want) == 0) {
			t.Errorf("%s: %d requests", name, n)
		}
	}
	if _, diags := newServer(t, offline()).read(t, "sandbox_image", map[string]any{"reference": reference}); !slices.Equal(locators(diags), []string{"registry.not_allowed at reference"}) {
		t.Errorf("not configured: %s", render(diags))
	}
}

func TestImageDataRefusesOfflineWhatIsNoReference(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name, c := range map[string]struct {
		attrs map[string]any
		want  []string
	}{
		"no registry":              {map[string]any{"reference": "python:3.13"}, []string{"image.invalid at reference"}},
		"a scheme":                 {map[string]any{"reference": "https://registry.example.com/a"}, []string{"image.invalid at reference"}},
		"no platform":              {map[string]any{"reference": "registry.example.com/a:1", "platform": "amd64"}, []string{"value.invalid_text at platform"}},
		"neither":                  {map[string]any{"reference": "a", "platform": "b"}, []string{"image.invalid at reference", "value.invalid_text at platform"}},
		"a reference not known":    {map[string]any{"reference": notKnown{}, "platform": "linux/amd64"}, []string{}},
		"a platform not known":     {map[string]any{"reference": "registry.example.com/a:1", "platform": notKnown{}}, []string{}},
		"a reference and platform": {map[string]any{"reference": "registry.example.com/a:1", "platform": "linux/amd64"}, []string{}},
	} {
		if got := locators(s.validateData(t, "sandbox_image", c.attrs)); !slices.Equal(got, c.want) {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}

func TestRegistriesOfTheProviderBlockAreRead(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	typ := s.types["provider"]
	one := func(host string, o any) map[string]any {
		return map[string]any{"registries": map[string]any{host: o}}
	}
	const host = "registry.example.com"
	for name, c := range map[string]struct {
		block map[string]any
		want  []string
	}{
		"nothing beside the name":   {one(host, map[string]any{}), []string{}},
		"everything":                {one(host+":5000", map[string]any{"private_addresses": true, "credentials": "docker", "token_host": "auth.example.com", "blob_hosts": []string{"*.example.net"}}), []string{}},
		"an address":                {one("127.0.0.1:5000", map[string]any{"plain_http": true}), []string{}},
		"localhost":                 {one("localhost:5000", map[string]any{"plain_http": true}), []string{}},
		"nothing known yet":         {map[string]any{"registries": notKnown{}}, []string{}},
		"an object not known yet":   {one(host, notKnown{}), []string{}},
		"a part not known yet":      {one(host, map[string]any{"credentials": notKnown{}, "blob_hosts": []any{notKnown{}}}), []string{}},
		"null":                      {one(host, nil), []string{`value.null at registries["registry.example.com"]`}},
		"capitals":                  {one("Registry.example.com", map[string]any{}), []string{`value.invalid_text at registries["Registry.example.com"]`}},
		"a scheme":                  {one("https://registry.example.com", map[string]any{}), []string{`value.invalid_text at registries["https://registry.example.com"]`}},
		"a path":                    {one("registry.example.com/a", map[string]any{}), []string{`value.invalid_text at registries["registry.example.com/a"]`}},
		"a pattern":                 {one("*.example.com", map[string]any{}), []string{`value.invalid_text at registries["*.example.com"]`}},
		"a name without a dot":      {one("registry", map[string]any{}), []string{`value.invalid_text at registries["registry"]`}},
		"credentials of nobody":     {one(host, map[string]any{"credentials": "env"}), []string{`value.unknown_word at registries["registry.example.com"].credentials`}},
		"credentials without TLS":   {one(host, map[string]any{"credentials": "docker", "plain_http": true}), []string{`value.contradiction at registries["registry.example.com"].credentials`}},
		"a token host with a path":  {one(host, map[string]any{"token_host": "auth.example.com/token"}), []string{`value.invalid_text at registries["registry.example.com"].token_host`}},
		"a blob host with a scheme": {one(host, map[string]any{"blob_hosts": []string{"a.example.com", "https://b.example.com"}}), []string{`egress.host_invalid at registries["registry.example.com"].blob_hosts[1]`}},
	} {
		resp, err := s.ValidateProviderConfig(context.Background(), &tfprotov6.ValidateProviderConfigRequest{
			Config: dynamic(t, typ, value(t, typ, c.block)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := locators(resp.Diagnostics); !slices.Equal(got, c.want) {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}
