package provider

import (
	"strings"
	"testing"
)

func TestAccPlatformsFileIsWhatItsOwnRootPrints(t *testing.T) {
	t.Parallel()
	c := newCLI(t, offline(), exampleFiles(t, "guardrails/platform"))
	c.apply(t)
	printed, code := c.run(t, "output", "-raw", "document")
	file := exampleFiles(t, "guardrails")["platform-policy.json"]
	if code != 0 || strings.TrimSpace(printed) != strings.TrimSpace(file) {
		t.Errorf("the root prints\n%s\nand the file is\n%s", printed, file)
	}
}

func TestAccPlatformsFileBoundsAWorkloadOfTheTwelve(t *testing.T) {
	t.Parallel()
	w := embeddedWorld(t)
	files := exampleFiles(t, "guardrails", "  embedded {}\n", w.inner())
	c := newCLI(t, reads(w.provider, files), files)
	out, code := c.plan(t, `-var=news=["*.example.org"]`)
	if code != 1 || strings.Count(out, "Error: ") != 2 || strings.Contains(out, "sandbox_workload.all[\"headlines\"],\n  on main.tf line 62") {
		t.Errorf("exit %d\n%s", code, out)
	}
	tells(t, "guardrails", out, "Error: Egress is wider than the policy allows")
	tells(t, "guardrails", out, "Error: Egress reaches what must never be reached")
	if out, code := c.plan(t, `-var=news=["feeds.example.org"]`); code != 2 {
		t.Errorf("the allowed neighbour: exit %d\n%s", code, out)
	}
}

// A runner imposes the same file on a root that does not name it.
func TestAccARunnerImposesThePlatformsFile(t *testing.T) {
	t.Parallel()
	w := embeddedWorld(t)
	files := exampleFiles(t, "guardrails", "  embedded {}\n", w.inner(), "  policy_file = \"platform-policy.json\"\n", "")
	wide := `-var=news=["*.example.org"]`
	w.provider.getenv = func(name string) string {
		return map[string]string{
			envPolicyFile:   "platform-policy.json",
			envPolicyDigest: "sha256:3c3eb3ea2fb90fc9c73f0640443ebbb1dec99a77a703af86f528eb55181b1fc5",
		}[name]
	}
	c := newCLI(t, reads(w.provider, files), files)
	if out, code := c.plan(t, wide); code != 1 || !strings.Contains(out, " egress.not_within_policy at egress_hosts[0]\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
