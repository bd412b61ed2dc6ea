package cli_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
)

// allow is a policy that denies by default and lets hosts out.
func allow(hosts ...string) *wire.EgressPolicy {
	p := &wire.EgressPolicy{DefaultAction: wire.EgressDeny, TrafficInspection: wire.InspectFull}
	for _, h := range hosts {
		p.HostRules = append(p.HostRules, wire.HostRule{Pattern: h, Action: wire.EgressAllow})
	}
	return p
}

// populated is a group with one sandbox of each kind that a list tells apart.
func populated(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.hold("7b0c2f3e-1d5a-4f0e-9a51-000000000001", 3*time.Hour+12*time.Minute, ours("name", "report", "run", "42"), func(s *wire.Sandbox) {
		s.EgressPolicy = allow("packages.example.org", "*.files.example.org")
	})
	w.hold("7b0c2f3e-1d5a-4f0e-9a51-000000000002", 9*24*time.Hour, wire.Labels{marker: "x"}, func(s *wire.Sandbox) {
		s.State, s.StateDetails = wire.StateStopped, &wire.StateDetails{StoppedReason: wire.StoppedIdle}
		s.EgressPolicy = allow()
		s.SourcesRef.DiskImage = &wire.ImageRef{ID: "d1f0aa"}
	})
	w.hold("7b0c2f3e-1d5a-4f0e-9a51-000000000003", 30*time.Second, nil, func(s *wire.Sandbox) { s.SourcesRef = nil })
	w.hold("7b0c2f3e-1d5a-4f0e-9a51-000000000004", time.Hour, wire.Labels{"team": "other"}, func(s *wire.Sandbox) {
		s.CreatedAt, s.State = "", "Hibernating"
		s.EgressPolicy = allow("a.example")
		s.EgressPolicy.EnforcementMode = wire.EnforceAudit
	})
	return w
}

func TestLsShowsAGroupInALineForEachSandbox(t *testing.T) {
	t.Parallel()
	w := populated(t)
	for name, args := range map[string][]string{
		"ls": {"ls"}, "ls-json": {"ls", "--format", "json"},
		"ls-label": {"ls", "--label", "run=42"}, "ls-label-none": {"ls", "--label", "run=43"},
		"ls-label-none-json": {"ls", "--label", "run=43", "--format", "json"},
	} {
		got := w.run(t, args...)
		golden.Check(t, *update, name, got.both())
		if got.code != cli.ExitAllowed {
			t.Errorf("%s: exit code %d", name, got.code)
		}
		if strings.HasSuffix(name, "json") {
			if doc := valid(t, got.stdout); doc["complete"] != true || doc["emulator"] != true {
				t.Errorf("%s: %v", name, doc)
			}
		}
	}
}

func TestTheServiceItselfIsNotCalledAnEmulator(t *testing.T) {
	t.Parallel()
	w := populated(t)
	env := []string{"ARM_SUBSCRIPTION_ID=" + subscription, "AZURE_RESOURCE_GROUP=rg-agents"}
	for name, args := range map[string][]string{
		"the location is given": {"ls", "--group", "agents", "--location", "swedencentral"},
		"the group is asked":    {"ls", "--group", "agents"},
		"by resource id":        {"ls", "--group", "/subscriptions/" + subscription + "/resourceGroups/rg-agents/providers/Microsoft.App/sandboxGroups/agents"},
	} {
		got := w.as(t, invocation{environ: env, service: w.asTheService}, args...)
		if got.code != cli.ExitAllowed || !strings.HasPrefix(strings.ToLower(got.stdout), "group agents in rg-agents, sweden") {
			t.Errorf("%s: exit code %d\n%s", name, got.code, got.both())
		}
	}
	if n := w.count(http.MethodGet, "/*"); n == 0 {
		t.Error("nobody was asked")
	}
}

func TestALargeGroupIsListedWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const many = 1234
	for i := range many {
		w.hold(fmt.Sprintf("sb-%d", i), time.Minute, ours())
	}
	got := w.run(t, "ls")
	if got.code != cli.ExitAllowed || strings.Count(got.stdout, "\nsb-") != many || !strings.HasSuffix(got.stdout, "\n1,234 sandboxes\n") {
		t.Errorf("exit code %d, %d rows", got.code, strings.Count(got.stdout, "\nsb-"))
	}
	list := valid(t, w.run(t, "ls", "--format", "json").stdout)["sandboxes"]
	if rows, ok := list.([]any); !ok || len(rows) != many {
		t.Errorf("%d rows in JSON", len(rows))
	}
}

// A list that broke off must not be taken for all there is.
func TestAListThatBreaksOffSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 150 {
		w.hold(fmt.Sprintf("sb-%d", i), time.Minute, ours())
	}
	w.fail(http.MethodGet, "/sandboxes", 100, says(http.StatusInternalServerError, "")).skip = 1
	got := w.run(t, "ls")
	if got.code != cli.ExitBadInput || !strings.Contains(got.stdout, "broken off after 100: there may be more") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	golden.Check(t, *update, "ls-broken-off", got.stderr)
	w.fail(http.MethodGet, "/sandboxes", 100, says(http.StatusInternalServerError, "")).skip = 1
	w.faults = w.faults[1:]
	got = w.run(t, "ls", "--format", "json")
	if doc := valid(t, got.stdout); got.code != cli.ExitBadInput || doc["complete"] != false || doc["code"] != "service.unavailable" {
		t.Errorf("exit code %d, %v, %v", got.code, doc["complete"], doc["code"])
	}
}

// What the service says may be hostile to a terminal.
func TestWhatTheServiceSaysIsEscaped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hostile := "\x1b[2J::error::x\u202e##vso[task.complete]\n"
	w.hold("sb-1", time.Hour, wire.Labels{marker: "x", "name": hostile, hostile: "v"}, func(s *wire.Sandbox) {
		s.State, s.Hostname, s.Region = hostile, hostile, hostile
		s.SourcesRef.DiskImage.Name = hostile
		s.EgressPolicy = allow(hostile)
		s.EgressPolicy.Rules = []wire.EgressRule{{Name: hostile, Match: wire.EgressMatch{Host: hostile, Path: hostile}, Action: wire.EgressAction{Type: hostile}}}
		s.Ports = []wire.Port{{Port: 80, URL: hostile}}
	})
	w.fail(http.MethodDelete, "/sandboxes/*", 1, says(http.StatusBadRequest, `{"title":"X\u001b[2J","detail":"::error::x\u202e\n##vso[task.complete]"}`))
	for _, args := range [][]string{
		{"ls"},
		{"ls", "--format", "json"},
		{"show", "--sandbox", "sb-1"},
		{"show", "--sandbox", "sb-1", "--format", "json"},
		{"reap", "--older-than", "1m", "--dry-run"},
		{"reap", "--older-than", "1m"},
	} {
		got := w.run(t, args...)
		for _, bad := range []string{"\x1b", "\u202e", "##vso[", "\n::error"} {
			if strings.Contains(got.both(), bad) {
				t.Errorf("%q let %q through:\n%q", args, bad, got.both())
			}
		}
		if !strings.Contains(got.both(), "202e") {
			t.Errorf("%q does not show what was there:\n%s", args, got.both())
		}
	}
}

// The service tells of a prebuilt image by an id of its own, which the catalogue has.
func TestASandboxOfThePrebuiltImageIsShownByTheImagesName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.catalogue = []string{"python-3.13", "ubuntu"}
	from := func(id string) func(*wire.Sandbox) {
		return func(s *wire.Sandbox) { s.SourcesRef = &wire.SourcesRef{DiskImage: &wire.ImageRef{ID: id}} }
	}
	w.hold("sb-prebuilt", time.Hour, ours(), from("id-of-ubuntu"))
	w.hold("sb-own", time.Hour, ours(), from("img-of-the-group"))
	got := w.run(t, "ls")
	for id, image := range map[string]string{"sb-prebuilt": " ubuntu ", "sb-own": " img-of-the-group "} {
		for line := range strings.Lines(got.stdout) {
			if strings.HasPrefix(line, id+" ") && !strings.Contains(line, image) {
				t.Errorf("%s is not of%s:\n%s", id, image, got.both())
			}
		}
		if got := w.run(t, "show", "--sandbox", id); got.code != cli.ExitAllowed || !strings.Contains(got.stdout, strings.TrimSpace(image)) {
			t.Errorf("%s:\n%s", id, got.both())
		}
	}
	if got := w.run(t, "image", "catalogue", "--format", "json"); !strings.Contains(got.stdout, `"id": "id-of-ubuntu"`) {
		t.Errorf("the catalogue has no ids:\n%s", got.both())
	}
}
