package provider

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// badService is what is wrong at a service, in the notation that all of them take,
// and the words in which it is told.
type badService struct {
	fault string
	words []string
	// overcome is a fault that the first apply gets over by itself.
	overcome bool
}

func badServices() map[string]badService {
	const groups, images = "path=*/sandboxGroups/team", "path=*/diskimages"
	return map[string]badService{
		"wrong subscription":    {fault: "status=404,method=PUT," + groups, words: []string{"Creating sandbox group", "Check the subscription and the resource group", "service.not_found"}},
		"wrong region":          {fault: "status=400,method=PUT," + groups, words: []string{"Service does not accept the request", "Creating sandbox group", "service.request_invalid"}},
		"token not accepted":    {fault: "token=reject", words: []string{"Service does not accept the token", "Give the token that the emulator takes", "service.unauthenticated"}},
		"missing role":          {fault: "status=403,body=empty,method=GET," + images, words: []string{"Container Apps SandboxGroup Data Owner", "Owner and Contributor do not include it", "service.forbidden"}},
		"missing role at ARM":   {fault: "status=403,method=PUT," + groups, words: []string{"Creating sandbox group", "such as Contributor on its resource group", "service.forbidden"}},
		"throttled":             {fault: "status=429,retry-after=1,method=PUT," + images, words: []string{"Service asks for fewer requests", "service.throttled"}},
		"throttled for a while": {fault: "status=429,retry-after=1,times=3", overcome: true},
		"service down":          {fault: "status=503,method=PUT," + groups, words: []string{"Service failed", "service.unavailable"}},
		"group fails":           {fault: "arm=fail", words: []string{"Service gave the object up", "service.failed"}},
		"group stuck":           {fault: "arm=stuck", words: []string{"Service did not finish in time", "service.timeout"}},
		"build failed":          {fault: "image=fail", words: []string{"a failed build", "service.failed"}},
		"build stuck":           {fault: "image=stuck", words: []string{"Building after", "Ready within 5m0s", "in the block timeouts", "service.timeout"}},
		"build slow":            {fault: "image=slow:8", overcome: true},
		"build too slow":        {fault: "image=slow:100", words: []string{"Building after", "service.timeout"}},
		// An answer that is lost is looked for, and found.
		"group half-created": {fault: "drop=after,times=1,method=PUT," + groups, overcome: true},
		"image half-created": {fault: "drop=after,times=1,method=PUT," + images, overcome: true},
		"redirect elsewhere": {fault: "status=307,location=https://elsewhere.example/,method=PUT," + groups, words: []string{"service.answer_invalid"}},
	}
}

// What goes wrong at the service is told, and once it is over the next apply ends
// where the first should have: with one of everything.
func TestAccFailuresOfTheServiceAreToldAndOvercome(t *testing.T) {
	t.Parallel()
	for service, start := range worlds() {
		for name, c := range badServices() {
			t.Run(service+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := start(t)
				w.misbehave(c.fault)
				tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": toolHCL})
				if c.overcome {
					tf.apply(t)
				} else {
					tf.refused(t, c.words...)
				}
				w.calm()
				tf.write(t, map[string]string{"provider.tf": w.block})
				tf.apply(t)
				tf.empty(t)
				if n := each(t, w.group(t, "team").Images(context.Background(), nil), nil); n != 1 {
					t.Errorf("the group has %d images", n)
				}
				if n := each(t, w.outside.ListGroups(context.Background(), w.subscription, ""), nil); n != 1 {
					t.Errorf("there are %d groups", n)
				}
			})
		}
	}
}

// claimsToken is a token of three parts that nobody signed.
func claimsToken(claims string) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none"}`)) + "." + part([]byte(claims)) + "."
}

// A token that is for somebody else, or too old, is told from one that may not.
func TestAccTokensOfAnotherAudienceAndOldOnesAreTold(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]string{
		"wrong audience": `{"aud":"https://storage.example.com"}`,
		"expired":        `{"aud":"https://management.azure.com","exp":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := servedWorld(t)
			block := strings.Replace(w.block, "emulator        = true", "emulator        = true\n    emulator_token  = \""+claimsToken(claims)+"\"", 1)
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": block, "main.tf": toolHCL})
			tf.refused(t, "Service does not accept the token", "service.unauthenticated")
			tf.write(t, map[string]string{"provider.tf": w.block})
			tf.apply(t)
			tf.empty(t)
		})
	}
}

const volumeAndSecretHCL = `
resource "sandbox_group" "team" {
  name = "team"
}
resource "sandbox_volume" "work" {
  group  = sandbox_group.team.id
  name   = "work"
  type   = "AzureBlob"
  labels = { name = "work" }
}
resource "sandbox_secret" "api" {
  group             = sandbox_group.team.id
  name              = "api-token"
  values_wo         = { token = "s3cret" }
  values_wo_version = "1"
}
`

// A name that is taken is told with what imports it; what another name would do is
// for who reads it to choose. Nothing of what was there has changed.
func TestAccTakenNamesAreToldAndAnotherNameApplies(t *testing.T) {
	t.Parallel()
	for service, start := range worlds() {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			must[wire.Group](t)(w.outside.PutGroup(t.Context(), w.groupID("team"), wire.Group{Location: w.location, Tags: map[string]string{"of": "others"}}, acasapi.Wait{}))
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": volumeAndSecretHCL})
			tf.refused(t, `Sandbox group "team" exists already and is not in this Terraform state, or another resource of this configuration made it`,
				"remove create_before_destroy", "to = sandbox_group.NAME", w.groupID("team").String(), "remote.already_exists at name")
			if doc := must[wire.Group](t)(w.outside.GetGroup(t.Context(), w.groupID("team"))); doc.Tags["of"] != "others" {
				t.Errorf("the group that was there has the tags %v", doc.Tags)
			}
			tf.write(t, map[string]string{"main.tf": strings.Replace(volumeAndSecretHCL, `name = "team"`, `name = "team-two"`, 1)})
			tf.apply(t)
			tf.empty(t)
		})
	}
}

// Nobody is asked about a name that nothing can have.
func TestAccIllegalNamesAreToldAtPlan(t *testing.T) {
	t.Parallel()
	w := embeddedWorld(t)
	for name, c := range map[string]struct{ from, to, at string }{
		"group":          {`name = "team"`, `name = "my team"`, "value.invalid_text at name"},
		"group too long": {`name = "team"`, `name = "` + strings.Repeat("a", 33) + `"`, "value.invalid_text at name"},
		"group region":   {`name = "team"`, "name = \"team\"\n  location = \"west/europe\"\n", "at location"},
		"volume":         {`name   = "work"`, `name   = "../work"`, "value.invalid_text at name"},
		"secret":         {`"api-token"`, `"a_b"`, "value.invalid_text at name"},
		"label":          {`{ name = "work" }`, `{ name = "` + strings.Repeat("a", 64) + `" }`, `value.invalid_text at labels["name"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": strings.Replace(volumeAndSecretHCL, c.from, c.to, 1)})
			out, code := tf.plan(t)
			if code != 1 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			wants(t, out, c.at)
			tf.write(t, map[string]string{"main.tf": volumeAndSecretHCL})
			if out, code := tf.plan(t); code != 2 {
				t.Errorf("with a name: exit %d\n%s", code, out)
			}
		})
	}
}

// What somebody renamed is, to Terraform, gone: it is made again, and the other is
// left alone. An image that the service no longer has is built again.
func TestAccWhatWasRenamedOrHasExpiredIsMadeAgain(t *testing.T) {
	t.Parallel()
	for service, start := range worlds() {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": volumeAndSecretHCL, "tool.tf": strings.TrimPrefix(toolHCL, oneGroupHCL)})
			tf.apply(t)
			ctx, g := t.Context(), w.group(t, "team")
			if err := g.DeleteVolume(ctx, "work", acasapi.Wait{}); err != nil {
				t.Fatal(err)
			}
			must[wire.Volume](t)(g.PutVolume(ctx, "works", wire.Volume{Type: wire.VolumeBlob, Labels: wire.Labels{"name": "work"}}, acasapi.Wait{}))
			each(t, g.Images(ctx, nil), func(i wire.Image) error { return g.DeleteImage(ctx, i.ID, acasapi.Wait{}) })
			out, code := tf.plan(t)
			if code != 2 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			wants(t, out, "sandbox_volume.work will be created", "sandbox_disk_image.tool will be created", "2 to add, 0 to change, 0 to destroy")
			tf.apply(t)
			tf.empty(t)
			if n := each(t, g.Volumes(ctx, nil), nil); n != 2 {
				t.Errorf("the group has %d volumes", n)
			}
			if n := each(t, g.Images(ctx, nil), nil); n != 1 {
				t.Errorf("the group has %d images", n)
			}
		})
	}
}
