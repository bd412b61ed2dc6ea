package adopt_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/adopt"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const hostile = "x\"}\n${file(\"/etc/passwd\")}%{if}\u202e\x1b[31m##vso[task]\u115f"

func team() acasapi.GroupID {
	return acasapi.GroupID{Subscription: "11111111-2222-3333-4444-555555555555", ResourceGroup: "rg", Name: "team"}
}

// blocks are the blocks of a file, as TYPE LABEL LABEL. A file that is none fails.
func blocks(t *testing.T, file []byte) []string {
	t.Helper()
	parsed, diags := hclsyntax.ParseConfig(file, "x.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s\n%s", diags, file)
	}
	body, _ := parsed.Body.(*hclsyntax.Body)
	if len(body.Attributes) > 0 {
		t.Errorf("attributes stand at the root of\n%s", file)
	}
	var all []string
	for _, b := range body.Blocks {
		all = append(all, strings.Join(append([]string{b.Type}, b.Labels...), " "))
	}
	return all
}

func crowded() *adopt.Inventory {
	labels := wire.Labels{"name": hostile, hostile: hostile}
	base := &wire.ImageSource{Base: "registry.example.com/tool:1", Entrypoint: []string{hostile}}
	return &adopt.Inventory{
		ID: team(), Group: wire.Group{Location: "westeurope", Tags: map[string]string{hostile: hostile}},
		Images: []wire.Image{
			{ID: "2", Labels: labels, Image: base},
			{ID: "1", Labels: labels, Image: base},
			{ID: "3", Labels: labels, Image: base, Status: &wire.ImageStatus{State: wire.ImageFailed}},
			{ID: "4"},
		},
		Volumes: []wire.Volume{
			{VolumeName: hostile, Type: wire.VolumeBlob},
			{VolumeName: "nfs", Type: wire.VolumeFileNFS},
			{VolumeName: "a", Type: wire.VolumeBlob},
			{VolumeName: "sizeless", Type: wire.VolumeDisk},
		},
		Secrets:   []adopt.SecretNames{{ID: "api", Keys: []string{hostile, "for"}}, {ID: hostile}},
		Snapshots: []wire.Snapshot{{ID: "5", SandboxID: "9", Labels: labels}, {ID: "6"}},
		Networks: []wire.VNetConnection{
			{Name: "in", Properties: wire.VNetProperties{SubnetID: "/x/subnets/" + hostile}}, {Name: hostile, Properties: wire.VNetProperties{SubnetID: "/x/subnets/a"}},
		},
		Sandboxes: []wire.Sandbox{{ID: "7", State: hostile}},
		Policies: []wire.NamedEgressPolicy{{ID: hostile, EgressPolicy: wire.EgressPolicy{DefaultAction: wire.EgressDeny, Rules: []wire.EgressRule{{
			Name: hostile, Match: wire.EgressMatch{Host: "a.example.com"},
			Action: wire.EgressAction{Type: wire.EgressTransform, Headers: []wire.EgressHeader{{Operation: "Set", Name: "A", Value: "s3cret"}}},
		}}}}},
		Credentials: []string{hostile}, Unlisted: map[string]string{"connection": hostile},
	}
}

func TestHostileNamesStayInsideTheirBlocks(t *testing.T) {
	t.Parallel()
	a := adopt.FromGroup(crowded())
	want := []string{
		"import", "resource sandbox_group team", "import", "resource sandbox_disk_image x_file_etc_passwd_if_31m_vso_task",
		"import", "resource sandbox_disk_image x_file_etc_passwd_if_31m_vso_task_2", "import", "resource sandbox_volume a",
		"variable api_values", "import", "resource sandbox_secret api", "import", "resource sandbox_snapshot x_file_etc_passwd_if_31m_vso_task",
		"import", "resource sandbox_vnet_connection in",
	}
	if got := blocks(t, a.HCL); !slices.Equal(got, want) {
		t.Errorf("got %q\n%s", got, a.HCL)
	}
	for _, text := range []string{"\u202e", "\x1b", "\u115f", "##vso", "s3cret"} {
		if bytes.Contains(a.HCL, []byte(text)) {
			t.Errorf("%q stands in\n%s", text, a.HCL)
		}
	}
}

func TestNothingIsPassedOverInSilence(t *testing.T) {
	t.Parallel()
	a := adopt.FromGroup(crowded())
	kinds := map[string]int{}
	for _, l := range a.Left {
		kinds[l.Kind]++
		if l.Why == "" || !bytes.Contains(a.HCL, []byte("# "+l.Kind+": ")) {
			t.Errorf("%+v is not told in the file", l)
		}
	}
	for kind, n := range map[string]int{
		"disk image": 2, "volume": 3, "secret": 1, "snapshot": 1, "network connection": 1, "sandbox": 1, "egress policy of the group": 1, "credential": 1, "connection": 1,
	} {
		if kinds[kind] != n {
			t.Errorf("%d of kind %s are told, not %d", kinds[kind], kind, n)
		}
	}
	if len(a.Objects) != 7 {
		t.Errorf("it imports %+v", a.Objects)
	}
	if text := string(a.HCL); !strings.Contains(text, "2 images of this reference") && !strings.Contains(text, "3 images of this reference") {
		t.Errorf("two images of one reference are not told in\n%s", text)
	}
}

func TestTheOrderOfTheServicesListsChangesNothing(t *testing.T) {
	t.Parallel()
	in := crowded()
	first := adopt.FromGroup(in)
	slices.Reverse(in.Images)
	slices.Reverse(in.Volumes)
	slices.Reverse(in.Secrets)
	slices.Reverse(in.Snapshots)
	slices.Reverse(in.Networks)
	if again := adopt.FromGroup(in); !bytes.Equal(first.HCL, again.HCL) {
		t.Errorf("other bytes:\n%s\n%s", first.HCL, again.HCL)
	}
}

// state is a document of terraform show -json with these resources.
func state(t *testing.T, resources ...map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"format_version": "1.0", "values": map[string]any{"root_module": map[string]any{
		"child_modules": []any{map[string]any{"address": "module.m", "resources": resources}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func image(address string, change ...func(map[string]any)) map[string]any {
	values := map[string]any{"sandbox_group_id": team().String(), "id": "1", "base_image": "registry.example.com/tool:1"}
	r := map[string]any{"address": address, "mode": "managed", "type": "aca_sandbox_disk_image", "name": "tool", "values": values}
	for _, c := range change {
		c(values)
	}
	return r
}

func TestImagesThatCannotMoveAreToldBesideOneThatCan(t *testing.T) {
	t.Parallel()
	deposed := image(`module.m.aca_sandbox_disk_image.old`)
	deposed["deposed_key"] = "0f"
	a, err := adopt.FromACA(state(t,
		image(`module.m["a.b"].aca_sandbox_disk_image.tool[0]`),
		image(`module.m["c"].aca_sandbox_disk_image.tool[1]`, func(v map[string]any) { v["base_image"] = "tool:1" }),
		image(`module.m.aca_sandbox_disk_image.unread`, func(v map[string]any) { v["id"] = nil }),
		deposed,
		map[string]any{"address": "data.aca_sandbox.x", "mode": "data", "type": "aca_sandbox", "name": "x"},
		map[string]any{"address": "aca_job.x", "mode": "managed", "type": "aca_job", "name": "x"},
		map[string]any{"address": "azurerm_subnet.x", "mode": "managed", "type": "azurerm_subnet", "name": "x"},
	))
	if err != nil {
		t.Fatal(err)
	}
	if got := blocks(t, a.HCL); !slices.Equal(got, []string{"removed", "import", "resource sandbox_disk_image tool"}) {
		t.Errorf("got %q\n%s", got, a.HCL)
	}
	if len(a.Left) != 5 || len(a.Forgotten) != 1 || a.Forgotten[0] != "module.m.aca_sandbox_disk_image.tool" {
		t.Errorf("left %+v, forgotten %q", a.Left, a.Forgotten)
	}
}

func TestOtherDocumentsAreNoState(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		document string
		code     sandbox.Code
	}{
		"text":             {"s3cret", sandbox.CodeDocumentSyntax},
		"the raw state":    {`{"version":4,"lineage":"x"}`, sandbox.CodeDocumentType},
		"a plan":           {`{"format_version":"1.2","planned_values":{}}`, sandbox.CodeDocumentType},
		"another document": {`{}`, sandbox.CodeDocumentType},
		"an empty state":   {`{"format_version":"1.0"}`, sandbox.CodeMissing},
	} {
		if _, err := adopt.FromACA([]byte(row.document)); !errors.Is(err, row.code) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := adopt.FromACA(state(t, image("aca_sandbox_disk_image.tool"))); err != nil {
		t.Error(err)
	}
}
