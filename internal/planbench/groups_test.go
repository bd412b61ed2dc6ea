package planbench_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/listener"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/terraformtest"
)

// BenchmarkApply200Groups plans, applies, and plans again what was applied: each
// group with a disk image. The service is an emulator in this process that answers
// at once, so CPU time has none of it and the clock has its answers. Each provider
// starts with no state, and ours with no service's.
func BenchmarkApply200Groups(b *testing.B) {
	n := 200
	if testing.Short() {
		n = 20
	}
	ours, bare := withBinary(b, module), withBinary(b, module+"/internal/planbench/bare").silenced()
	rounds := map[string][]step{}
	for b.Loop() {
		rounds["ours"] = append(rounds["ours"], ours.life(b, n))
		rounds["bare"] = append(rounds["bare"], bare.life(b, n))
	}
	report(b, rounds)
}

func TestTheBareProviderAppliesWhatOursDoes(t *testing.T) {
	t.Parallel()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("set TF_ACC=1 to run tests through the real command line")
	}
	for _, pkg := range []string{module, module + "/internal/planbench/bare"} {
		withBinary(t, pkg).life(t, 2)
	}
}

// life is the first plan, the apply, and a plan that refreshes everything and has
// nothing to change.
func (t terraform) life(tb testing.TB, groups int) step {
	tb.Helper()
	dir := written(tb, groupsWithImages(tb, groups))
	return step{
		"plan":    t.measure(tb, dir, "plan", "-no-color", "-input=false"),
		"apply":   t.measure(tb, dir, "apply", "-no-color", "-input=false", "-auto-approve"),
		"refresh": t.measure(tb, dir, "plan", "-no-color", "-input=false", "-detailed-exitcode"),
	}
}

// groupsWithImages is a configuration of that many groups, each with a disk image.
func groupsWithImages(tb testing.TB, n int) map[string]string {
	tb.Helper()
	emulator, err := acasemu.New(acasemu.Config{State: filepath.Join(tb.TempDir(), "state.db"), Pace: &acasemu.Pace{}})
	if err != nil {
		tb.Fatal(err)
	}
	server, err := listener.Listen(tb.Context(), emulator, listener.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			tb.Errorf("closing the emulator: %v", err)
		}
	})
	ca := filepath.Join(tb.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, server.CA(), 0o600); err != nil {
		tb.Fatal(err)
	}
	files := map[string]string{
		"requirements.tf": terraformtest.Requirements,
		"provider.tf": fmt.Sprintf(`provider "sandbox" {
  acas {
    subscription_id = "11111111-2222-3333-4444-555555555555"
    resource_group  = "rg-agents"
    location        = "swedencentral"
    endpoint        = %q
    emulator        = true
    ca_file         = %q
  }
}
`, server.URL(), ca),
	}
	for i := range n {
		files[fmt.Sprintf("g%d.tf", i)] = fmt.Sprintf(`resource "sandbox_group" "g%[1]d" {
  name = "group-%[1]d"
  tags = { team = "agents" }
}
resource "sandbox_disk_image" "g%[1]d" {
  group = sandbox_group.g%[1]d.id
  image = { reference = "registry.example.com/tool:%[1]d" }
}
`, i)
	}
	return files
}
