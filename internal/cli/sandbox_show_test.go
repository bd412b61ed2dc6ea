package cli_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
)

// sentinel stands wherever a secret may stand in what the service says.
const sentinel = "s3cr3t-sentinel"

// full is a sandbox of which everything is said.
func full(s *wire.Sandbox) {
	yes := true
	s.Resources = &wire.Resources{CPU: "1000m", Memory: "2048Mi", Disk: "20480Mi"}
	s.Region, s.VMMType, s.Hostname = "swedencentral", "CloudHypervisor", "sandbox-1"
	s.ManagementURL = "https://management.swedencentral.azuredevcompute.io/" + sentinel
	s.Environment = map[string]string{"API_TOKEN": sentinel, "LANG": sentinel}
	s.Entrypoint, s.Cmd = []string{"/bin/serve"}, []string{"--password", sentinel}
	s.Lifecycle = &wire.Lifecycle{
		AutoSuspend: &wire.AutoSuspend{Enabled: true, Interval: 300, Mode: "Memory"},
		AutoDelete:  &wire.AutoDelete{Enabled: true, DeleteIntervalInSeconds: 600, Trigger: "AfterSuspend"},
	}
	s.Ports = []wire.Port{
		{Port: 8080, Auth: &wire.PortAuth{Anonymous: &yes}, URL: "https://sb-1--8080.swedencentral.adcproxy.io"},
		{
			Port: 9090, Auth: &wire.PortAuth{EntraID: &wire.EntraAuth{Enabled: true, Emails: []string{"a@example.com"}, TenantIDs: []string{"t"}}},
			IPAccessControl: &wire.IPAccessControl{DefaultAction: "Deny", Rules: []wire.IPRule{{Name: "office", Action: "Allow"}}},
		},
	}
	s.Volumes = []wire.VolumeMount{{VolumeName: "data", Mountpoint: "/data", ReadOnly: true}}
	s.Connections = []string{"mail"}
	s.IdentitySettings = []wire.IdentitySetting{{Identity: "system", Lifecycle: "Main"}}
	s.CustomerVNetConnectionName = "inside"
	s.OutboundIPAddresses = []string{"203.0.113.10"}
	s.AgentIdentity = wire.Extra{"secret": jsontext.Value(`"` + sentinel + `"`)}
	s.Extra = wire.Extra{"bootToken": jsontext.Value(`"` + sentinel + `"`)}
	s.EgressPolicy = allow("packages.example.org")
	s.EgressPolicy.Rules = []wire.EgressRule{
		{Name: "api", Match: wire.EgressMatch{Host: "api.example.com", Path: "/v1/*", Methods: []string{"GET"}}, Action: wire.EgressAction{Type: wire.EgressAllow}},
		{Match: wire.EgressMatch{Host: "api.example.com"}, Action: wire.EgressAction{Type: wire.EgressDeny}},
	}
}

func TestShowPutsASandboxIntoWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hold("sb-full", 3*time.Hour, ours("name", "report", "run", "42"), full)
	w.hold("sb-open", 40*time.Second, wire.Labels{"team": "other"}, func(s *wire.Sandbox) { s.CreatedAt = "" })
	w.hold("sb-closed", 40*time.Second, wire.Labels{marker: "x"}, func(s *wire.Sandbox) {
		s.State, s.StateDetails = wire.StateStopped, &wire.StateDetails{StoppedReason: wire.StoppedByUser, StoppedAt: "2026-10-01T11:59:50Z"}
		s.EgressPolicy = allow()
	})
	w.hold("sb-changed", time.Hour, ours(), func(s *wire.Sandbox) {
		s.EgressPolicy = allow()
		s.EgressPolicy.Rules = []wire.EgressRule{{
			Match: wire.EgressMatch{Host: "api.example.com"},
			Action: wire.EgressAction{Type: wire.EgressTransform, Host: "other.example.com", Headers: []wire.EgressHeader{
				{Operation: "Set", Name: "Authorization", ValueRef: &wire.EgressValueRef{Secret: &wire.SecretRef{SecretID: "svc", SecretKey: "token"}}},
				{Operation: "Insert", Name: "X-Key", Value: sentinel},
			}},
		}}
	})
	for _, name := range []string{"sb-full", "sb-open", "sb-closed", "sb-changed"} {
		got := w.run(t, "show", "--sandbox", name)
		golden.Check(t, *update, "show-"+name, got.both())
		if got.code != cli.ExitAllowed {
			t.Errorf("%s: exit code %d", name, got.code)
		}
		inJSON := w.run(t, "show", "--sandbox", name, "--format", "json")
		golden.Check(t, *update, "show-"+name+"-json", inJSON.both())
		valid(t, inJSON.stdout)
		if strings.Contains(got.both()+inJSON.both(), sentinel) {
			t.Errorf("%s shows a secret", name)
		}
	}
}

// Every one of these leaves the word for a sandbox's egress open; the neighbour says
// what it is.
func TestAnEgressPolicyThatIsNotPlainIsCalledUnclear(t *testing.T) {
	t.Parallel()
	rule := func(action string) func(*wire.Sandbox) {
		return func(s *wire.Sandbox) {
			s.EgressPolicy.Rules = []wire.EgressRule{{Match: wire.EgressMatch{Host: "h"}, Action: wire.EgressAction{Type: action}}}
		}
	}
	for name, c := range map[string]struct {
		change func(*wire.Sandbox)
		want   string
	}{
		"plain":                {func(*wire.Sandbox) {}, "allowlist (1)"},
		"no inspection stated": {func(s *wire.Sandbox) { s.EgressPolicy.TrafficInspection = "" }, "unclear"},
		"enforced":             {func(s *wire.Sandbox) { s.EgressPolicy.EnforcementMode = "Enforced" }, "allowlist (1)"},
		"a rule more":          {rule("Allow"), "allowlist (2)"},
		"a denial more":        {rule("Deny"), "allowlist (1)"},
		"no policy":            {func(s *wire.Sandbox) { s.EgressPolicy = nil }, "unrestricted"},
		"allow by default":     {func(s *wire.Sandbox) { s.EgressPolicy.DefaultAction = "Allow" }, "unrestricted"},
		"any host":             {func(s *wire.Sandbox) { s.EgressPolicy.HostRules[0].Pattern = "*" }, "unrestricted"},
		"no host":              {func(s *wire.Sandbox) { s.EgressPolicy.HostRules[0].Pattern = "" }, "unrestricted"},
		"any host denied":      {func(s *wire.Sandbox) { s.EgressPolicy.HostRules[0] = wire.HostRule{Pattern: "*", Action: "Deny"} }, "closed"},
		"any host, one path": {func(s *wire.Sandbox) {
			s.EgressPolicy.Rules = []wire.EgressRule{{Match: wire.EgressMatch{Path: "/v1"}, Action: wire.EgressAction{Type: "Allow"}}}
		}, "unclear"},
		"any host of a domain":   {func(s *wire.Sandbox) { s.EgressPolicy.HostRules[0].Pattern = "*.example.org" }, "allowlist (1)"},
		"nothing let out":        {func(s *wire.Sandbox) { s.EgressPolicy.HostRules = nil }, "closed"},
		"audit":                  {func(s *wire.Sandbox) { s.EgressPolicy.EnforcementMode = "Audit" }, "unclear"},
		"no default":             {func(s *wire.Sandbox) { s.EgressPolicy.DefaultAction = "" }, "unclear"},
		"partial inspection":     {func(s *wire.Sandbox) { s.EgressPolicy.TrafficInspection = "Partial" }, "unclear"},
		"a rewrite":              {rule("Rewrite"), "unclear"},
		"transport rules":        {func(s *wire.Sandbox) { s.EgressPolicy.TransportRules = jsontext.Value(`{"defaultAction":"Allow"}`) }, "unclear"},
		"a field nobody knows":   {func(s *wire.Sandbox) { s.EgressPolicy.Extra = wire.Extra{"bypass": jsontext.Value(`true`)} }, "unclear"},
		"a named policy":         {func(s *wire.Sandbox) { s.EgressPolicyID = "p" }, "unclear"},
		"around the proxy":       {func(s *wire.Sandbox) { s.SkipEgressProxy = true }, "unclear"},
		"a field nobody knows 2": {func(s *wire.Sandbox) { s.EgressPolicy.HostRules[0].Extra = wire.Extra{"x": jsontext.Value(`1`)} }, "unclear"},
	} {
		w := newWorld(t)
		w.hold("sb-1", time.Hour, ours(), func(s *wire.Sandbox) {
			s.EgressPolicy = allow("a.example")
			c.change(s)
		})
		if got := w.run(t, "ls"); !strings.Contains(got.stdout, " "+c.want+" ") {
			t.Errorf("%s:\n%s", name, got.both())
		}
	}
}

func TestShowOfASandboxThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.run(t, "show", "--sandbox", "sb-9")
	golden.Check(t, *update, "show-missing", got.both())
	if got.code != cli.ExitRefused {
		t.Errorf("exit code %d", got.code)
	}
	w.exists = false
	got = w.run(t, "show", "--sandbox", "sb-9")
	golden.Check(t, *update, "show-no-group", got.both())
	if got.code != cli.ExitRefused {
		t.Errorf("without its group: exit code %d", got.code)
	}
	if got := w.run(t, "ls"); got.code != cli.ExitRefused || !strings.Contains(got.stderr, "service.not_found") {
		t.Errorf("a list of no group: exit code %d\n%s", got.code, got.both())
	}
	w.exists = true
	w.fail(http.MethodGet, "/sandboxes/*", 1, says(http.StatusOK, `{"id":"sb-8","state":"Running"}`))
	if got := w.run(t, "show", "--sandbox", "sb-9"); got.code != cli.ExitBadInput || !strings.Contains(got.stderr, "service.answer_invalid") {
		t.Errorf("another sandbox was shown: %s", got.both())
	}
	for name, args := range map[string][]string{
		"both":         w.flags("show", "--sandbox", "sb-1", "manifest.json"),
		"no id":        w.flags("show", "--sandbox", ""),
		"a path":       w.flags("show", "--sandbox", "../sandboxGroups"),
		"no group":     {"show", "--sandbox", "sb-1"},
		"neither":      {"show"},
		"not a number": w.flags("show", "--sandbox", "sb-1", "--format", "yaml"),
	} {
		if got := w.as(t, invocation{}, args...); got.code != cli.ExitBadInput || got.stdout != "" {
			t.Errorf("%s: exit code %d\n%s", name, got.code, got.both())
		}
	}
}
