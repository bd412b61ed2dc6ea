package cli_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// changed is a copy of a manifest with another policy.
func changed(m manifest.Manifest, change func(*sandbox.Policy)) manifest.Manifest {
	p := m.Policy
	change(&p)
	m.Policy = p
	return m
}

func TestCheckAgainstABaseline(t *testing.T) {
	t.Parallel()
	main := fitting()
	baseline, _ := encode(t, main)
	for name, row := range map[string]struct {
		now  manifest.Manifest
		code int
		says []string
	}{
		"the same": {main, cli.ExitAllowed, nil},
		"spelt otherwise": {
			changed(main, func(p *sandbox.Policy) { p.Egress.Hosts = []string{"*.files.example.org", "PACKAGES.example.org."} }), cli.ExitAllowed, nil,
		},
		"narrower": {changed(main, func(p *sandbox.Policy) { p.Egress.Hosts = p.Egress.Hosts[:1] }), cli.ExitAllowed, nil},
		"a host more": {
			changed(main, func(p *sandbox.Policy) { p.Egress.Hosts = append([]string{"cdn.example.net"}, p.Egress.Hosts...) }), cli.ExitWidened,
			[]string{"widened", "posture.widened", "egress_hosts[0]", "cdn.example.net:443 would become reachable"},
		},
		"a denial less": {
			changed(main, func(p *sandbox.Policy) { p.DeniedIdentities = sandbox.IdentitySet{} }), cli.ExitWidened,
			[]string{"denied_identities", "app"},
		},
		"an assertion less": {
			changed(main, func(p *sandbox.Policy) { p.NeverReaches = p.NeverReaches[:1] }), cli.ExitWidened, []string{"never_reaches"},
		},
		"a lower floor": {
			changed(main, func(p *sandbox.Policy) { p.MinimumIsolation = sandbox.IsolationContainer }), cli.ExitWidened, []string{"minimum_isolation"},
		},
		"a workload that asks for more": {
			with(main, "report", func(s *sandbox.Spec) { s.Egress.Hosts = []string{"packages.example.org", "x.files.example.org"} }), cli.ExitWidened,
			[]string{"report", "x.files.example.org:443 would become reachable"},
		},
		"a workload more, that asks for no more": {with(main, "second", func(*sandbox.Spec) {}), cli.ExitAllowed, nil},
		"a workload more, that asks for more": {
			with(main, "second", func(s *sandbox.Spec) { s.Egress.Hosts = []string{"x.files.example.org"} }), cli.ExitWidened,
			[]string{"second", "x.files.example.org"},
		},
		"another directory": {
			with(main, "report", func(s *sandbox.Spec) { s.WorkDir = "/srv" }), cli.ExitAllowed, nil,
		},
		"another kind in place": {
			with(main, "report", func(s *sandbox.Spec) { s.Kind = "bicep" }), cli.ExitWidened, []string{"report", "kind: bicep"},
		},
		"a platform policy that only repeats": {
			imposing(main, sandbox.Policy{MinimumIsolation: main.Policy.MinimumIsolation}), cli.ExitAllowed, nil,
		},
		"refused and wider": {
			changed(with(main, "wide", wide), func(p *sandbox.Policy) { p.DeniedIdentities = sandbox.IdentitySet{} }), cli.ExitRefused,
			[]string{"refused", "widened"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, _ := encode(t, row.now)
			for _, format := range []string{"text", "markdown", "sarif", "junit", "json"} {
				got := run(t, "check", path, "--baseline", baseline, "--format", format)
				if got.code != row.code {
					t.Fatalf("%s: exit %d, want %d\n%s", format, got.code, row.code, got.both())
				}
				if format != "text" {
					continue
				}
				if !strings.Contains(got.stdout, "compared with") {
					t.Errorf("the text does not say that something was compared:\n%s", got.stdout)
				}
				for _, part := range row.says {
					if !strings.Contains(got.stdout, part) {
						t.Errorf("want %q in\n%s", part, got.stdout)
					}
				}
			}
			if got := run(t, "check", path); (got.code == cli.ExitRefused) != (row.code == cli.ExitRefused) || got.code == cli.ExitWidened {
				t.Errorf("without a baseline: exit %d", got.code)
			}
		})
	}
}

func imposing(m manifest.Manifest, p sandbox.Policy) manifest.Manifest {
	m.HostPolicy = &p
	return m
}

func TestAPlatformPolicyThatGoesIsWiderWhereItWasStricter(t *testing.T) {
	t.Parallel()
	now, _ := encode(t, fitting())
	for name, row := range map[string]struct {
		imposed sandbox.Policy
		code    int
	}{
		"stricter":         {sandbox.Policy{MinimumIsolation: sandbox.IsolationVM}, cli.ExitWidened},
		"no stricter":      {sandbox.Policy{MinimumIsolation: sandbox.IsolationContainer}, cli.ExitAllowed},
		"on another axis":  {sandbox.Policy{DeniedCapabilities: sandbox.SetOf(sandbox.CapabilitySnapshot)}, cli.ExitWidened},
		"without anything": {sandbox.Policy{}, cli.ExitAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			baseline, _ := encode(t, imposing(fitting(), row.imposed))
			if got := run(t, "check", now, "--baseline", baseline); got.code != row.code {
				t.Errorf("exit %d, want %d\n%s", got.code, row.code, got.both())
			}
		})
	}
}

func TestWidenedAgainstABaselineAsPeopleSeeIt(t *testing.T) {
	t.Parallel()
	baseline, _ := encode(t, fitting())
	path, _ := encode(t, changed(fitting(), func(p *sandbox.Policy) {
		p.Egress.Rules = map[string]sandbox.EgressRule{
			"api": p.Egress.Rules["api"],
			"cdn": {Host: "cdn.example.net", Ports: []string{"443"}, Methods: []string{"*"}, Paths: []string{"*"}},
		}
	}))
	got := run(t, "check", path, "--baseline", baseline)
	if got.code != cli.ExitWidened {
		t.Fatalf("exit %d: %s", got.code, got.both())
	}
	golden.Check(t, *update, "check-widened", strings.ReplaceAll(got.stdout, baseline, "main.json"))
}

func TestCheckAgainstADigest(t *testing.T) {
	t.Parallel()
	path, digest := encode(t, fitting())
	if got := run(t, "check", path, "--baseline", string(digest)); got.code != cli.ExitAllowed {
		t.Errorf("the same: exit %d\n%s", got.code, got.both())
	}
	other, _ := encode(t, changed(fitting(), func(p *sandbox.Policy) { p.Egress.Hosts = p.Egress.Hosts[:1] }))
	got := run(t, "check", other, "--baseline", string(digest))
	if got.code != cli.ExitWidened || !strings.Contains(got.stdout, "posture.no_baseline") {
		t.Errorf("another: exit %d\n%s", got.code, got.both())
	}
}

func TestABaselineThatIsNoneIsBadInput(t *testing.T) {
	t.Parallel()
	path, _ := encode(t, fitting())
	broken := changed(fitting(), func(p *sandbox.Policy) { p.Egress.Mode = sandbox.EgressClosed })
	b, err := broken.Encode()
	if err == nil {
		if got := run(t, "check", path, "--baseline", write(t, "broken.json", b)); got.code != cli.ExitBadInput {
			t.Errorf("a baseline that contradicts itself: exit %d\n%s", got.code, got.both())
		}
	}
	for name, baseline := range map[string]string{
		"not there":   "nowhere.json",
		"no digest":   "sha256:abc",
		"no document": write(t, "x.json", []byte("{}")),
	} {
		if got := run(t, "check", path, "--baseline", baseline); got.code != cli.ExitBadInput || got.stdout != "" {
			t.Errorf("%s: exit %d\n%s", name, got.code, got.both())
		}
	}
}

func TestADirectoryAgainstABaseline(t *testing.T) {
	t.Parallel()
	files := func(hosts string) map[string]string {
		return map[string]string{"root/main.tf": versions + strings.Replace(agents, `["packages.example.org"]`, hosts, 1) +
			workload(`egress_mode = "allowlist"
  egress_hosts = ["packages.example.org"]
  requires = ["exec"]
  image = { prebuilt = "python-3.13" }`) + rest}
	}
	m := manifest.Manifest{
		Policy: sandbox.Policy{
			Name: "agents", MinimumIsolation: sandbox.IsolationMicroVM, MinimumEvidence: sandbox.EvidenceDocumented,
			Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"packages.example.org"}},
		},
		Workloads: map[string]sandbox.Spec{"report": {
			Kind: "codeact", Backend: "acas", Image: sandbox.Image{Prebuilt: "python-3.13"},
			Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"packages.example.org"}},
		}},
	}
	requires := sandbox.SetOf(sandbox.CapabilityExec)
	spec := m.Workloads["report"]
	spec.Requires = &requires
	m.Workloads["report"] = spec
	baseline, _ := encode(t, m)
	if got := checkDirectory(t, directory(t, files(`["packages.example.org"]`)), "--baseline", baseline); got.code != cli.ExitAllowed {
		t.Errorf("the same: exit %d\n%s", got.code, got.both())
	}
	got := checkDirectory(t, directory(t, files(`["packages.example.org", "cdn.example.net"]`)), "--baseline", baseline)
	if got.code != cli.ExitWidened || !strings.Contains(got.stdout, "cdn.example.net:443 would become reachable") || !strings.Contains(got.stdout, "main.tf line") {
		t.Errorf("a host more: exit %d\n%s", got.code, got.both())
	}

	// A plan that is refused lacks the manifest, which is no fault of the baseline.
	refused := files(`["cdn.example.net"]`)
	got = checkDirectory(t, directory(t, refused), "--baseline", baseline)
	if got.code != cli.ExitRefused || strings.Contains(got.stdout, "no answer") ||
		!strings.HasSuffix(got.stdout, "\n1 refused; not compared with the baseline, since the plan was refused\n") {
		t.Errorf("refused: exit %d\n%s", got.code, got.both())
	}
	for form, says := range map[string]string{"json": `"problems": []`, "markdown": "not compared with the baseline", "junit": `errors="0"`} {
		if got := checkDirectory(t, directory(t, refused), "--baseline", baseline, "--format", form); got.code != cli.ExitRefused || !strings.Contains(got.stdout, says) {
			t.Errorf("refused, as %s: exit %d\n%s", form, got.code, got.both())
		}
	}

	// Each change is told where it is written, and not where the manifest begins.
	wider := files(`["packages.example.org", "cdn.example.net"]`)
	wider["root/main.tf"] = strings.Replace(wider["root/main.tf"], `["exec"]`, `["exec", "files_in"]`, 1)
	lineOf := func(text string) string {
		before, _, ok := strings.Cut(wider["root/main.tf"], text)
		if !ok {
			t.Fatalf("no %s", text)
		}
		return "main.tf:" + strconv.Itoa(strings.Count(before, "\n")+1) + ")"
	}
	got = checkDirectory(t, directory(t, wider), "--baseline", baseline, "--format", "markdown")
	for _, where := range []string{lineOf(`"cdn.example.net"`), lineOf(`"files_in"`)} {
		if got.code != cli.ExitWidened || !strings.Contains(got.stdout, where) {
			t.Errorf("nothing at %s: exit %d\n%s", where, got.code, got.both())
		}
	}
	if strings.Contains(got.stdout, lineOf(`resource "sandbox_manifest"`)) {
		t.Errorf("a change at the manifest:\n%s", got.stdout)
	}
}

// What stands beside the manifest is no part of what hosts open; that nobody compared
// it is said.
func TestAWorkloadOfNoManifestIsSaidNotToBeCompared(t *testing.T) {
	t.Parallel()
	m := fitting()
	baseline, _ := encode(t, m)
	document, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(string(document))
	if err != nil {
		t.Fatal(err)
	}
	change := func(address, kind, after string) string {
		return `{"address":"` + address + `","mode":"managed","type":"` + kind + `","provider_name":"provider.example/sandbox-iac/sandbox",` +
			`"change":{"actions":["create"],"before":null,"after_unknown":{},"after":` + after + `}}`
	}
	gate := change("sandbox_manifest.hosts", "sandbox_manifest", `{"document":`+string(quoted)+`,"workloads":{}}`)
	beside := change("sandbox_workload.beside", "sandbox_workload",
		`{"kind":"codeact","backend":"wasm","minimum_isolation":"runtime","requires":["run_code"],"verdict":"allow","policy":{"minimum_isolation":"runtime"}}`)
	plan := func(changes string) string {
		return write(t, "plan.json", []byte(`{"format_version":"1.2","terraform_version":"1.14.0","resource_changes":[`+changes+`]}`))
	}
	if got := run(t, "check", plan(gate), "--baseline", baseline); got.code != cli.ExitAllowed || strings.Contains(got.both(), "posture.no_baseline") {
		t.Errorf("exit %d\n%s", got.code, got.both())
	}
	got := run(t, "check", plan(gate+","+beside), "--baseline", baseline)
	if got.code != cli.ExitAllowed || !strings.Contains(got.both(), "posture.no_baseline") || !strings.Contains(got.both(), "beside") {
		t.Errorf("exit %d\n%s", got.code, got.both())
	}
}

func TestASourceThatIsNoDirectoryIsBadInput(t *testing.T) {
	t.Parallel()
	manifest, _ := encode(t, fitting())
	for _, source := range []string{"not/there", manifest} {
		got := run(t, "check", manifest, "--source", source)
		if got.code != cli.ExitBadInput || !strings.Contains(got.both(), "--source") || strings.Contains(got.both(), "lstat") {
			t.Errorf("%s: exit %d\n%s", source, got.code, got.both())
		}
	}
}
