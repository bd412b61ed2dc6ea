package killapply_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/terraformtest"
)

const (
	subscription  = "11111111-2222-3333-4444-555555555555"
	resourceGroup = "rg-agents"
	location      = "swedencentral"

	// oldGroup has the sandbox that snapshots copy.
	oldGroup = "old"
	// each is how many of every kind there are.
	each = 2
)

// everything is a configuration with each kind of object of the service.
func everything(s *service, sandboxID string) map[string]string {
	text := fmt.Sprintf(`
provider "sandbox" {
  acas {
    subscription_id = %q
    resource_group  = %q
    location        = %q
    endpoint        = %q
    emulator        = true
    ca_file         = %q
  }
}
locals { each = %d }

resource "sandbox_group" "team" {
  count = local.each
  name  = "team-${count.index}"
  tags  = { team = "agents" }
}
resource "sandbox_disk_image" "tool" {
  count  = local.each
  group  = sandbox_group.team[count.index].id
  image  = { reference = "registry.example.com/tool:1", digest = "sha256:%s", user = "1654" }
  labels = { name = "tool" }
}
resource "sandbox_volume" "work" {
  count  = local.each
  group  = sandbox_group.team[count.index].id
  name   = "work"
  type   = "DataDisk"
  size   = "1Gi"
  labels = { team = "agents" }
}
resource "sandbox_secret" "api" {
  count             = local.each
  group             = sandbox_group.team[count.index].id
  name              = "api-token"
  values_wo         = { token = "s3cret" }
  values_wo_version = "1"
}
resource "sandbox_vnet_connection" "internal" {
  count     = local.each
  group     = sandbox_group.team[count.index].id
  name      = "internal"
  subnet_id = "/subscriptions/%s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/n/subnets/a"
}
resource "sandbox_snapshot" "copy" {
  count      = local.each
  group      = %q
  sandbox_id = %q
}
`, subscription, resourceGroup, location, s.url, s.ca, each, strings.Repeat("a", 64), subscription, groupID(oldGroup).String(), sandboxID)
	return map[string]string{"requirements.tf": terraformtest.Requirements, "main.tf": text}
}

// kinds is how many kinds of object everything has.
const kinds = 6

// oneOfEach wants the service to have one of each, and no other.
func (s *service) oneOfEach(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	want, got := map[string]int{"groups": each + 1, "snapshots": each}, map[string]int{}
	count(t, s.outside.ListGroups(ctx, subscription, ""), got, "groups")
	count(t, s.group(t, oldGroup).Snapshots(ctx, nil), got, "snapshots")
	for i := range each {
		name := fmt.Sprintf("team-%d", i)
		g := s.group(t, name)
		count(t, g.Images(ctx, nil), got, "images of "+name)
		count(t, g.Volumes(ctx, nil), got, "volumes of "+name)
		count(t, g.Secrets(ctx), got, "secrets of "+name)
		count(t, s.outside.ListVNetConnections(ctx, groupID(name)), got, "connections of "+name)
		for _, what := range []string{"images", "volumes", "secrets", "connections"} {
			want[what+" of "+name] = 1
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the service has %v, and not %v", got, want)
	}
}

func count[T any](t *testing.T, items func(func(T, error) bool), into map[string]int, what string) {
	t.Helper()
	for _, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		into[what]++
	}
}

// lines are the addresses in a state.
func lines(list string) int {
	return len(slices.DeleteFunc(strings.Split(list, "\n"), func(l string) bool { return !strings.HasPrefix(l, "sandbox_") }))
}
