package provider

import (
	"strings"
	"testing"
)

const spelledHCL = `
resource "sandbox_group" "team" { name = "team" }
resource "sandbox_volume" "work" {
  depends_on           = [sandbox_group.team]
  group                = "GROUP"
  name                 = "work"
  type                 = "AzureBlobByo"
  storage_container_id = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/a/blobServices/default/containers/c"
  managed_identity_id  = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/u"
}
resource "sandbox_vnet_connection" "net" {
  group     = sandbox_group.team.id
  name      = "net"
  subnet_id = "` + someSubnet + `"
}
`

// ARM ignores the case of ids, and so does a plan: nothing is replaced, or changed,
// because an id is spelled otherwise. Another id, one step away, still is.
func TestAccAnotherSpellingOfAnIDReplacesNothing(t *testing.T) {
	t.Parallel()
	w := servedWorld(t)
	hcl := strings.ReplaceAll(spelledHCL, "GROUP", w.groupID("team").String())
	tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": hcl})
	tf.apply(t)
	for name, c := range map[string]struct {
		old, new string
		replaced bool
	}{
		"the group":              {old: "resourceGroups/" + w.resourceGroup + "/providers/Microsoft.App", new: "resourcegroups/" + strings.ToUpper(w.resourceGroup) + "/providers/microsoft.app"},
		"the group's name":       {old: `{ name = "team" }`, new: `{ name = "Team" }`},
		"the subnet":             {old: "/subnets/a", new: "/Subnets/A"},
		"another subnet":         {old: "/subnets/a", new: "/subnets/b", replaced: true},
		"the container":          {old: "/containers/c", new: "/Containers/C"},
		"another container":      {old: "/containers/c", new: "/containers/d", replaced: true},
		"the identity":           {old: "/userAssignedIdentities/u", new: "/userassignedidentities/U"},
		"another identity":       {old: "/userAssignedIdentities/u", new: "/userAssignedIdentities/v", replaced: true},
		"the connection's name":  {old: `"net"` + "\n  subnet", new: `"NET"` + "\n  subnet"},
		"another connection":     {old: `"net"` + "\n  subnet", new: `"net2"` + "\n  subnet", replaced: true},
		"a group of another one": {old: `"` + w.groupID("team").String() + `"`, new: `"` + w.groupID("team2").String() + `"`, replaced: true},
	} {
		changed := strings.ReplaceAll(hcl, c.old, c.new)
		if changed == hcl {
			t.Fatalf("%s: nothing to change", name)
		}
		tf.write(t, map[string]string{"main.tf": changed})
		out, code := tf.plan(t)
		if c.replaced != strings.Contains(out, "must be replaced") || (code == 0) == c.replaced {
			t.Errorf("%s: exit %d\n%s", name, code, out)
		}
	}
}

// A size that comes back in another unit is the same size; another one is not.
func TestAccASizeInAnotherUnitReplacesNothing(t *testing.T) {
	t.Parallel()
	w := talkative(t, byPolicy)
	hcl := oneGroupHCL + `
resource "sandbox_volume" "work" {
  group = sandbox_group.team.id
  name  = "work"
  type  = "DataDisk"
  size  = "1Gi"
}
`
	tf := newCLI(t, w.provider, map[string]string{"provider.tf": w.block, "main.tf": hcl})
	tf.apply(t)
	for size, replaced := range map[string]bool{"1Gi": false, "1024Mi": false, "2Gi": true} {
		tf.write(t, map[string]string{"main.tf": strings.ReplaceAll(hcl, "1Gi", size)})
		if out, _ := tf.plan(t, "-target=sandbox_volume.work"); replaced != strings.Contains(out, "must be replaced") {
			t.Errorf("%s:\n%s", size, out)
		}
	}
}
