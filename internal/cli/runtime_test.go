package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestTheRuntimeChoosesHowABackendIsBuilt(t *testing.T) {
	t.Parallel()
	on := func(rung sandbox.Isolation) cli.Backend {
		return cli.Backend{Declarations: func() sandbox.Declarations {
			return sandbox.Declarations{
				Backend: "lab", Isolation: rung,
				IsolationEvidence: sandbox.Evidence{Kind: sandbox.EvidenceProbed, Reference: "a probe"},
			}
		}}
	}
	lab := on(sandbox.IsolationContainer)
	lab.Runtimes = map[string]cli.Backend{"strong": on(sandbox.IsolationHardenedContainer)}
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"none":              {[]string{"--backend", "lab"}, cli.ExitAllowed, "container "},
		"another":           {[]string{"--backend", "lab", "--runtime", "strong"}, cli.ExitAllowed, "hardened_container"},
		"one there is not":  {[]string{"--backend", "lab", "--runtime", "weak"}, cli.ExitBadInput, `--runtime "weak": backend lab has strong`},
		"of no one backend": {[]string{"--runtime", "strong"}, cli.ExitBadInput, "name it with --backend"},
	} {
		var out bytes.Buffer
		code := cli.Main(t.Context(), cli.Env{Stdout: &out, Stderr: &out, Backends: map[string]cli.Backend{"lab": lab}},
			append([]string{"facts"}, test.args...))
		if code != test.code || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: exit %d\n%s", name, code, out.String())
		}
	}
}
