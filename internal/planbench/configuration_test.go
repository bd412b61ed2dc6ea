package planbench_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/terraformtest"
)

// size is how much a generated configuration holds.
type size struct {
	policies int // and as many workloads, one under each policy
	hosts    int // of each policy
}

// form is how a policy writes its hosts.
type form string

const (
	shorthand form = "shorthand" // egress_hosts
	fullRules form = "rules"     // egress_rules
)

// configuration is files that the provider allows. Each workload
// is handed its policy whole, as people do, asks for a few of its hosts, and has
// a file of its own: Terraform reads a whole file again for each warning that
// points into it, and one large file measures that.
func configuration(n size, f form) map[string]string {
	const asked = 3
	files := map[string]string{
		"requirements.tf": terraformtest.Requirements,
	}
	for i := range n.policies {
		files[fmt.Sprintf("w%d.tf", i)] = fmt.Sprintf(`resource "sandbox_policy" "p%[1]d" {
  name             = "p%[1]d"
  minimum_evidence = "documented"
  egress_mode      = "allowlist"
%[2]s}

resource "sandbox_workload" "w%[1]d" {
  kind        = "codeact"
  backend     = "acas"
  requires    = ["exec"]
  policy      = sandbox_policy.p%[1]d
  egress_mode = "allowlist"
%[3]s}
`, i, egress(i, n.hosts, f), egress(i, min(asked, n.hosts), f))
	}
	return files
}

// egress are the first hosts of the policy with this number.
func egress(policy, hosts int, f form) string {
	var text strings.Builder
	if f == shorthand {
		text.WriteString("  egress_hosts = [\n")
		for i := range hosts {
			text.WriteString("    " + strconv.Quote(hostName(policy, i)) + ",\n")
		}
		return text.String() + "  ]\n"
	}
	text.WriteString("  egress_rules = {\n")
	for i := range hosts {
		fmt.Fprintf(&text, "    r%d = { host = %q, ports = [\"443\"], methods = [\"GET\", \"POST\"], paths = [\"*\"] }\n", i, hostName(policy, i))
	}
	return text.String() + "  }\n"
}

func hostName(policy, i int) string { return fmt.Sprintf("h%d.p%d.example.com", i, policy) }
