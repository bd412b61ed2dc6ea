package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func fitting() manifest.Manifest {
	m := report()
	m.Policy.MissingGuarantees = sandbox.MissingGuaranteesWarn
	return with(m, "report", func(s *sandbox.Spec) { s.Egress.Hosts = []string{"packages.example.org"} })
}

func wide(s *sandbox.Spec) { s.Egress.Hosts = []string{"packages.example.org", "*.example.com"} }

func weak(s *sandbox.Spec) {
	s.Backend = "docker"
	s.Egress = sandbox.Egress{}
	s.Image = sandbox.Image{}
}

func TestCheckOfAManifest(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		manifest manifest.Manifest
		code     int
	}{
		"check-allowed": {with(fitting(), "report", func(s *sandbox.Spec) { s.Egress = sandbox.Egress{} }), cli.ExitAllowed},
		"check-warned":  {with(fitting(), "second", func(*sandbox.Spec) {}), cli.ExitAllowed},
		"check-refused": {with(with(fitting(), "scratch", weak), "wide", wide), cli.ExitRefused},
		"check-unknown-backend": {
			with(fitting(), "report", func(s *sandbox.Spec) { s.Backend = "memory" }), cli.ExitRefused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, digest := encode(t, row.manifest)
			got := run(t, "check", path, "--accept", string(digest))
			golden.Check(t, *update, name, got.both())
			if got.code != row.code {
				t.Errorf("exit code %d, want %d", got.code, row.code)
			}
		})
	}
}

func TestCheckRefusesAnotherDigestThanTheAccepted(t *testing.T) {
	t.Parallel()
	path, digest := encode(t, fitting())
	other := manifest.DigestOf([]byte("another"))
	if got := run(t, "check", path, "--accept", string(other)); got.code != cli.ExitRefused || !strings.Contains(got.stderr, " document.digest_mismatch\n") {
		t.Errorf("%d %s", got.code, got.both())
	}
	if got := run(t, "check", path, "--accept", string(digest)); got.code != cli.ExitAllowed {
		t.Errorf("%d %s", got.code, got.both())
	}
	if got := run(t, "check", path, "--accept", "latest"); got.code != cli.ExitBadInput {
		t.Errorf("%d %s", got.code, got.both())
	}
}

func TestFactsThatAreGivenReplaceTheShippedOnes(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, with(fitting(), "report", weak))
	if got := run(t, "check", path); got.code != cli.ExitRefused {
		t.Fatalf("%d %s", got.code, got.both())
	}
	d := sandboxtest.Declarations(sandboxtest.NewEngine(sandboxtest.Options{
		RunCode: sandboxtest.Script,
	}))
	d.Backend = "docker"
	everything := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut)
	d.Capabilities = &everything
	b, err := manifest.EncodeDeclarations(d)
	if err != nil {
		t.Fatal(err)
	}
	facts := write(t, "docker.json", b)
	if got := run(t, "check", path, "--facts", facts); got.code != cli.ExitAllowed || !strings.Contains(got.stdout, "docker.json") {
		t.Errorf("%d %s", got.code, got.both())
	}
	if got := run(t, "check", path, "--facts", facts, "--facts", facts); got.code != cli.ExitBadInput {
		t.Errorf("the same backend twice: %d %s", got.code, got.both())
	}
	if got := run(t, "check", path, "--facts", path); got.code != cli.ExitBadInput {
		t.Errorf("a manifest as facts: %d %s", got.code, got.both())
	}
}

func TestCheckHoldsABackendToWhatTheManifestReliedOn(t *testing.T) {
	t.Parallel()
	m := with(fitting(), "report", func(s *sandbox.Spec) { s.Egress = sandbox.Egress{} })
	for guarantee, code := range map[sandbox.Guarantee]int{
		sandbox.GuaranteeSNIBound: cli.ExitAllowed, sandbox.GuaranteeUDPDenied: cli.ExitRefused,
	} {
		m.Guarantees = map[string]sandbox.GuaranteeSet{"acas": sandbox.SetOf(guarantee)}
		path, _ := encode(t, m)
		if got := run(t, "check", path); got.code != code {
			t.Errorf("%s: %d %s", guarantee, got.code, got.both())
		}
	}
}

func TestCheckOfAPlan(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{
		"known": cli.ExitAllowed, "unknown": cli.ExitBadInput, "errored": cli.ExitBadInput,
	} {
		b, err := os.ReadFile("../planjson/testdata/" + name + "/plan.json")
		if err != nil {
			t.Fatal(err)
		}
		got := invocation{stdin: string(b)}.run(t, "check", "-")
		golden.Check(t, *update, "plan-"+name, got.both())
		if got.code != code {
			t.Errorf("%s: exit code %d, want %d", name, got.code, code)
		}
	}
}

// Terraform drops a misspelt name from what it plans; the configuration in the plan has
// it still.
func TestCheckOfAPlanNamesWhatTerraformDropped(t *testing.T) {
	t.Parallel()
	image := func(word string) string {
		return edited(t, `"root_module":{"resources":[{"address":"sandbox_manifest.hosts","mode":"managed"`,
			`"root_module":{"module_calls":{"images":{"module":{"resources":[{"address":"sandbox_disk_image.tool","mode":"managed","type":"sandbox_disk_image",`+
				`"provider_config_key":"sandbox","expressions":{"image":{"constant_value":{"reference":"registry.example.com/tool:1","`+word+`":"x"}}}}]}}},`+
				`"resources":[{"address":"sandbox_manifest.hosts","mode":"managed"`)
	}
	for name, row := range map[string]struct {
		plan string
		code int
		says string
	}{
		"in a module": {image("digset"), cli.ExitRefused, " value.unknown_name at image.digset\n"},
		"well spelt":  {image("digest"), cli.ExitAllowed, "allowed"},
		"in a policy": {edited(t, `"max_files":64,`, `"max_file":64,`), cli.ExitRefused, " value.unknown_name at files_in_limits.max_file\n"},
		"and is theirs": {
			strings.Replace(image("digset"), `"full_name":"registry.example.com/sandbox-iac/sandbox"`, `"full_name":"registry.example.com/evil/sandbox"`, 1),
			cli.ExitAllowed, "allowed",
		},
	} {
		got := invocation{stdin: row.plan}.run(t, "check", "-")
		if got.code != row.code || !strings.Contains(got.stdout, row.says) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s", name, got.code, row.code, row.says, got.both())
		}
	}
}

// A directory with an object in a cloud has no answer, but a name that Terraform drops
// is one.
func TestADirectoryWithARemoteObjectIsRefusedForAMisspeltName(t *testing.T) {
	t.Parallel()
	for word, code := range map[string]int{"digset": cli.ExitRefused, "digest": cli.ExitBadInput} {
		root := directory(t, map[string]string{"root/main.tf": versions + `
resource "sandbox_disk_image" "tool" {
  group = "g"
  image = { reference = "registry.example.com/tool:1", ` + word + ` = "x" }
}
`})
		got := run(t, "check", root)
		if got.code != code || strings.Contains(got.both(), "value.unknown_name at image.digset") != (word == "digset") ||
			!strings.Contains(strings.Join(strings.Fields(got.both()), " "), "is an object that lives in a cloud or a registry") {
			t.Errorf("%s: exit code %d\n%s", word, got.code, got.both())
		}
	}
}

// edited is the known plan after one edit of its text.
func edited(t *testing.T, old, replacement string) string {
	t.Helper()
	b, err := os.ReadFile("../planjson/testdata/known/plan.json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), old) {
		t.Fatalf("the plan has no %s", old)
	}
	return strings.ReplaceAll(string(b), old, replacement)
}

func TestAPlanThatCannotAnswerIsNeverSuccess(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		plan string
		code int
		says string
	}{
		"as it is":            {edited(t, `"errored":false`, `"errored":false`), cli.ExitAllowed, "2 allowed"},
		"a failed one":        {edited(t, `"errored":false`, `"errored":true`), cli.ExitBadInput, "planning failed"},
		"a partial one":       {edited(t, `"complete":true`, `"complete":false`), cli.ExitBadInput, "-target"},
		"a deferral":          {edited(t, `"complete":true`, `"complete":false,"deferred_changes":[{"resource_change":{"address":"sandbox_workload.later"}}]`), cli.ExitBadInput, "sandbox_workload.later"},
		"nothing of ours":     {edited(t, "sandbox-iac/sandbox", "evil/sandbox"), cli.ExitBadInput, "no workload"},
		"another document":    {edited(t, `\"api_version\":\"sandbox/v1\"`, `\"api_version\":\"sandbox/v9\"`), cli.ExitRefused, "document.version"},
		"a wider document":    {edited(t, `\"egress_hosts\":[\"packages.example.org\"],\"egress_mode\":\"allowlist\",\"files_in_limits\":{\"max_bytes_per_file\":1048576`, `\"egress_hosts\":[\"evil.example.org\"],\"egress_mode\":\"allowlist\",\"files_in_limits\":{\"max_bytes_per_file\":1048576`), cli.ExitRefused, "evil.example.org:443 would become reachable"},
		"a wider workload":    {edited(t, `"egress_hosts":["packages.example.org"],"egress_mode":"allowlist","egress_rules":null`, `"egress_hosts":["evil.example.org"],"egress_mode":"allowlist","egress_rules":null`), cli.ExitRefused, "evil.example.org:443 would become reachable"},
		"no verdict yet":      {edited(t, `"verdict":"allow"`, `"verdict":null`), cli.ExitBadInput, "verdict is not known yet"},
		"facts of another":    {edited(t, `"backend_facts":null`, `"backend_facts":"{}"`), cli.ExitRefused, "backend_facts"},
		"a backend not known": {edited(t, `"backend":"acas"`, `"backend":"azure"`), cli.ExitRefused, "backend.unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := invocation{stdin: row.plan}.run(t, "check", "-")
			if got.code != row.code || !strings.Contains(strings.Join(strings.Fields(got.both()), " "), row.says) {
				t.Errorf("exit code %d, want %d and %q\n%s", got.code, row.code, row.says, got.both())
			}
		})
	}
}

func TestInputThatIsNeitherIsBad(t *testing.T) {
	t.Parallel()
	path, digest := encode(t, fitting())
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, input := range map[string]string{
		"nothing":           "",
		"a trailing break":  string(b) + "\n",
		"cut off":           string(b[:len(b)-10]),
		"a saved plan":      "PK\x03\x04rest",
		"another field":     strings.Replace(string(b), `"document"`, `"Policy":{},"document"`, 1),
		"a newer version":   strings.Replace(string(b), "sandbox/v1", "sandbox/v2", 1),
		"a million nulls":   `{"x":[` + strings.Repeat("null,", 1_000_000) + "null]}",
		"nested deeply":     strings.Repeat("[", 1_000_000),
		"a name of escapes": `{"api_version":"\u001b[2J::error::\u202e","document":"manifest"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := invocation{stdin: input}.run(t, "check", "-")
			if got.code != cli.ExitBadInput || got.stderr == "" || len(got.stderr) > 20_000 {
				t.Errorf("exit code %d, %d bytes: %.2000s", got.code, len(got.stderr), got.both())
			}
			if strings.ContainsAny(got.both(), "\x1b\u202e") || strings.Contains(got.both(), "\n::") {
				t.Errorf("it came through: %q", got.both())
			}
		})
	}
	for _, args := range [][]string{
		{"check"},
		{"check", path, path},
		{"check", t.TempDir()},
		{"check", path, "--format", "yaml"},
		{"check", path + ".gone"},
		{"check", t.TempDir(), "--accept", string(digest)},
		{"frob"},
		{"show"},
		{"--frob"},
		{"explain", "no.such_code"},
	} {
		if got := run(t, args...); got.code != cli.ExitBadInput || got.stdout != "" {
			t.Errorf("%q: exit code %d\n%s", args, got.code, got.both())
		}
	}
}

// At night the question is which of many files, and what to do with it.
func TestBadInputIsNamedAndSaysWhatToGiveInstead(t *testing.T) {
	t.Parallel()
	path, digest := encode(t, fitting())
	cut := write(t, "cut.json", []byte(`{"api_version":"sandbox/v1",`))
	for _, row := range []struct {
		args []string
		says string
	}{
		{[]string{"check", cut}, "refused  " + cut + ": Document is not well formed\n"},
		{[]string{"show", cut}, "refused  " + cut + ": "},
		{[]string{"digest", cut}, "refused  " + cut + ": "},
		{[]string{"canonical", cut}, "refused  " + cut + ": "},
		{[]string{"check", "-"}, "\"-\" is empty"},
		{[]string{"show", "-"}, "refused  standard input: "},
		{[]string{"check", path, "--accept", "latest"}, "refused  --accept: "},
		{[]string{"check", path, "--facts", path}, "refused  --facts " + path + ": "},
		{[]string{"facts", "--backend", "wsam"}, "refused  --backend: "},
		{[]string{"check", write(t, "main.tf", []byte("locals {}"))}, "give the directory that it stands in"},
		{[]string{"check", write(t, "log.json", []byte(`{"@level":"info","@message":"Terraform"}`))}, "terraform show -json"},
		{[]string{"check", path, "--var", "kind=codeact"}, "--var and --var-file are for a directory"},
		{[]string{"run", "--manifest", cut, "--accept", string(digest), "--workload", "report", "--", path}, "refused  " + cut + ": "},
	} {
		got := run(t, row.args...)
		if got.code == cli.ExitAllowed || !strings.Contains(got.stderr, row.says) {
			t.Errorf("%q: exit code %d, no %q in\n%s", row.args, got.code, row.says, got.both())
		}
		if lines := strings.Split(strings.TrimRight(got.stderr, "\n"), "\n"); strings.HasPrefix(lines[0], "refused") && !strings.HasPrefix(lines[len(lines)-1], " ") {
			t.Errorf("%q does not end in the line that programs read:\n%s", row.args, got.stderr)
		}
	}
}

func TestALargeManifestIsJudged(t *testing.T) {
	t.Parallel()
	m := fitting()
	for i := range 6_000 {
		m = withWorkload(m, "workload-"+strings.Repeat("x", 40)+string(rune('a'+i%26))+strings.Repeat("y", i/26%60)+string(rune('a'+i/1560)))
	}
	path, _ := encode(t, m)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, "check", path)
	if got.code != cli.ExitAllowed {
		t.Fatalf("exit code %d: %.500s", got.code, got.both())
	}
	t.Logf("%d workloads, %d bytes", len(m.Workloads), info.Size())
}

func withWorkload(m manifest.Manifest, name string) manifest.Manifest {
	m.Workloads[name] = m.Workloads["report"]
	return m
}

func TestJSONSaysWhatTheTextSays(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, with(fitting(), "wide", wide))
	got := run(t, "check", path, "--format", "json")
	var r struct {
		Exit      int    `json:"exit"`
		Verdict   string `json:"verdict"`
		Workloads []struct {
			Name, Backend, Verdict string
		} `json:"workloads"`
		Findings []struct {
			Name, Verdict, Code, Path, Witness, Remedy string
		} `json:"findings"`
		Problems []string `json:"problems"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v\n%s", err, got.stdout)
	}
	if got.code != cli.ExitRefused || r.Exit != got.code || r.Verdict != "refused" || len(r.Workloads) != 2 {
		t.Errorf("%+v", r)
	}
	refused := r.Findings[len(r.Findings)-1]
	for _, f := range r.Findings {
		if f.Path == "egress_hosts[1]" {
			refused = f
			break
		}
	}
	if refused.Name != "wide" || refused.Code != "egress.not_within_policy" || refused.Path != "egress_hosts[1]" || refused.Witness == "" {
		t.Errorf("%+v", refused)
	}
}
