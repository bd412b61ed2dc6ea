package provider

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

const capabilityCheckName = "sandbox_capability_check"

func TestCapabilityCheckAnswersWhatTheFunctionDoes(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	for name, c := range map[string]struct{ policy, workload map[string]any }{
		"allowed":                  {agents(), spec(nil)},
		"a capability is missing":  {agents(), spec(map[string]any{"requires": []string{"exec", "files_out"}})},
		"a host is malformed":      {agents(), spec(map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"bad..host"}})},
		"the floor is not reached": {with(agents(), map[string]any{"minimum_isolation": "vm"}), spec(nil)},
	} {
		state, diags := s.read(t, capabilityCheckName, with(c.workload, map[string]any{"policy": c.policy}))
		if len(diags) > 0 {
			t.Fatalf("%s: %s", name, render(diags))
		}
		got := s.call(t, "check", c.policy, c.workload).must(t)
		for attribute, v := range attrsOf(t, got.value) {
			if data := attrsOf(t, state)[attribute]; !data.Equal(v) {
				t.Errorf("%s: %s is %s, the function says %s", name, attribute, data, v)
			}
		}
	}
}

// A deny is an answer: whoever asked decides what to make of it.
func TestCapabilityCheckNeverFailsBecauseOfAVerdict(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	denied := with(report(with(agents(), map[string]any{"minimum_isolation": "vm"})), map[string]any{"requires": []string{"exec", "files_out"}})
	if diags := s.validateData(t, capabilityCheckName, denied); len(diags) > 0 {
		t.Error(render(diags))
	}
	state, diags := s.read(t, capabilityCheckName, denied)
	if len(diags) > 0 {
		t.Fatal(render(diags))
	}
	if text(t, state, "verdict") != "deny" || said(t, attrsOf(t, state)["allowed"]) != "false" {
		t.Errorf("answered %s", state)
	}
}

func TestCapabilityCheckRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	for name, c := range map[string]struct {
		attrs map[string]any
		want  string
	}{
		"a word that is none":           {with(report(agents()), map[string]any{"requires": []string{"run_cod"}}), "value.unknown_word at requires[0]"},
		"a word of the policy":          {report(with(agents(), map[string]any{"minimum_isolation": "micro"})), "value.unknown_word at policy.minimum_isolation"},
		"a null in a rule":              {with(report(agents()), map[string]any{"egress_rules": map[string]any{"x": nil}}), `value.null at egress_rules["x"]`},
		"a contradiction in the policy": {report(with(agents(), map[string]any{"egress_hosts": []string{"a.example.com"}})), "egress.hosts_without_allowlist at policy.egress_hosts"},
		"a backend that is none":        {with(report(agents()), map[string]any{"backend": "wasmm"}), "backend.unknown at backend"},
		"facts that are none":           {with(report(agents()), map[string]any{"backend_facts": "{"}), "document.syntax at backend_facts"},
		"a loosened copy of a policy":   {report(with(agents(), map[string]any{"digest": string(manifest.DigestOf(nil))})), "document.attributes_lost at policy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := locators(s.validateData(t, capabilityCheckName, c.attrs)); !slices.Contains(got, c.want) {
				t.Errorf("validate: found %q, want %q", got, c.want)
			}
			if _, diags := s.read(t, capabilityCheckName, c.attrs); !slices.Contains(locators(diags), c.want) {
				t.Errorf("read: found %q, want %q", locators(diags), c.want)
			}
		})
	}
}

func TestCapabilityCheckValidatesUnknownValues(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name := range workloadAttributes() {
		if diags := s.validateData(t, capabilityCheckName, with(report(agents()), map[string]any{name: notKnown{}})); len(diags) > 0 {
			t.Errorf("%s: %s", name, render(diags))
		}
	}
	if diags := s.validateData(t, capabilityCheckName, report(notKnown{})); len(diags) > 0 {
		t.Error(render(diags))
	}
}

// What is imposed bounds the answer as it bounds the resource.
func TestCapabilityCheckAnswersUnderWhatIsImposed(t *testing.T) {
	t.Parallel()
	document, err := manifest.EncodePolicy(sandbox.Policy{MinimumIsolation: sandbox.IsolationVM})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file    []byte
		verdict string
		want    string
	}{"a floor": {document, "deny", ""}, "something else": {[]byte("{"), "", "platform_policy.unreadable"}} {
		p := offline()
		p.readFile = func(string) ([]byte, error) { return c.file, nil }
		s := newServer(t, p).configure(t, map[string]any{"policy_file": "platform.json"})
		state, diags := s.read(t, capabilityCheckName, report(agents()))
		switch {
		case c.want != "" && !slices.Contains(locators(diags), c.want):
			t.Errorf("%s: found %q", name, locators(diags))
		case c.want == "" && text(t, state, "verdict") != c.verdict:
			t.Errorf("%s: %s\n%s", name, state, render(diags))
		}
	}
}

// The data source takes the body of a sandbox_workload as it is.
func TestCapabilityCheckHasTheAttributesOfTheResource(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	data := capabilityCheckSchema().Type().TerraformType(ctx)
	for _, diagnostic := range capabilityCheckSchema().ValidateImplementation(ctx) {
		t.Error(diagnostic.Detail())
	}
	have := attributesOf(data)
	want := maps.Clone(attributesOf(workloadSchema().Type().TerraformType(ctx)))
	delete(want, "findings") // objects here, lines there
	for name, typ := range want {
		if !reflect.DeepEqual(have[name], typ) {
			t.Errorf("%s is of type %s, the resource has %s", name, have[name], typ)
		}
	}
	for name, a := range workloadSchema().Attributes {
		if twin := capabilityCheckSchema().Attributes[name]; a.IsRequired() != twin.IsRequired() {
			t.Errorf("%s is required in one of the two", name)
		}
	}
}
