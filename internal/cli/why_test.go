package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// asking has one workload for each way to be allowed or refused.
func asking() manifest.Manifest {
	m := with(with(fitting(), "scratch", weak), "shut", func(s *sandbox.Spec) { s.Egress = sandbox.Egress{} })
	return with(m, "api", func(s *sandbox.Spec) {
		s.Egress.Hosts = nil
		s.Egress.Rules = map[string]sandbox.EgressRule{
			"items": {Host: "api.example.com", Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"/v1/items"}},
		}
	})
}

func TestWhySaysWhatAllowsAndWhatRefuses(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, asking())
	imposed, _ := encode(t, imposed())
	for name, row := range map[string]struct {
		args []string
		code int
	}{
		"why-allowed":        {[]string{"--manifest", path, "--host", "packages.example.org", "--workload", "report"}, cli.ExitAllowed},
		"why-all":            {[]string{"--manifest", path, "--host", "packages.example.org"}, cli.ExitAllowed},
		"why-other-host":     {[]string{"--manifest", path, "--host", "cdn.example.net", "--workload", "report"}, cli.ExitRefused},
		"why-other-port":     {[]string{"--manifest", path, "--host", "packages.example.org", "--port", "8443", "--workload", "report"}, cli.ExitRefused},
		"why-other-method":   {[]string{"--manifest", path, "--host", "api.example.com", "--method", "POST", "--path", "/v1/items", "--workload", "api"}, cli.ExitRefused},
		"why-request":        {[]string{"--manifest", path, "--host", "api.example.com", "--method", "GET", "--path", "/v1/items/7", "--workload", "api"}, cli.ExitRefused},
		"why-tunnel":         {[]string{"--manifest", path, "--host", "api.example.com", "--workload", "api"}, cli.ExitRefused},
		"why-never":          {[]string{"--manifest", path, "--host", "db.internal.example.com", "--workload", "report"}, cli.ExitRefused},
		"why-metadata":       {[]string{"--manifest", path, "--host", "169.254.169.254", "--port", "80", "--workload", "report"}, cli.ExitRefused},
		"why-closed":         {[]string{"--manifest", path, "--host", "packages.example.org", "--workload", "shut"}, cli.ExitRefused},
		"why-imposed":        {[]string{"--manifest", imposed, "--host", "a.files.example.org", "--workload", "wide"}, cli.ExitRefused},
		"why-refused-anyway": {[]string{"--manifest", imposed, "--host", "packages.example.org", "--workload", "report"}, cli.ExitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, append([]string{"why"}, row.args...)...)
			golden.Check(t, *update, name, got.both())
			if got.code != row.code {
				t.Errorf("exit code %d, want %d", got.code, row.code)
			}
			var answer struct {
				Allowed bool `json:"allowed"`
			}
			got = run(t, append([]string{"why", "--format", "json"}, row.args...)...)
			if err := json.Unmarshal([]byte(got.stdout), &answer); err != nil || got.code != row.code || answer.Allowed != (row.code == cli.ExitAllowed) {
				t.Errorf("exit code %d, %v: %s", got.code, err, got.both())
			}
		})
	}
}

func TestWhyTakesNoHalfQuestion(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, asking())
	for says, args := range map[string][]string{
		"--host":                   {"--manifest", path},
		"--manifest":               {"--host", "a.example"},
		"both --method and":        {"--manifest", path, "--host", "a.example", "--method", "GET"},
		"or neither":               {"--manifest", path, "--host", "a.example", "--method", "", "--path", ""},
		"from 1 to 65535":          {"--manifest", path, "--host", "a.example", "--port", "0"},
		"a scheme":                 {"--manifest", path, "--host", "https://a.example"},
		"makes it a pattern":       {"--manifest", path, "--host", "*.example"},
		`"api", "report"`:          {"--manifest", path, "--host", "a.example", "--workload", "repotr"},
		"not one of text, json":    {"--manifest", path, "--host", "a.example", "--format", "yaml"},
		"no such file":             {"--manifest", path + "x", "--host", "a.example"},
		"document.":                {"--manifest", write(t, "m.json", []byte(`{}`)), "--host", "a.example"},
		`"70000"`:                  {"--manifest", path, "--host", "a.example", "--port", "70000"},
		"unknown command \"more\"": {"--manifest", path, "--host", "a.example", "more"},
	} {
		got := run(t, append([]string{"why"}, args...)...)
		if got.code != cli.ExitBadInput || !strings.Contains(got.stderr, says) || got.stdout != "" {
			t.Errorf("%q: exit code %d, not %q: %s", args, got.code, says, got.both())
		}
	}
	if got := run(t, "why", "--manifest", path, "--host", "PACKAGES.example.org."); got.code != cli.ExitAllowed {
		t.Errorf("%d %s", got.code, got.both())
	}
}
