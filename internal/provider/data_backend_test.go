package provider

import (
	"context"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func TestBackendDataSaysWhatEachShippedBackendDeclares(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for _, name := range facts.Names() {
		want := declared(t, name)
		state, diags := s.read(t, "sandbox_backend", map[string]any{"name": name})
		if failed(diags) {
			t.Fatalf("%s: %s", name, render(diags))
		}
		if text(t, state, "source") != "shipped" || text(t, state, "isolation") != want.Isolation.String() {
			t.Errorf("%s: source %s, isolation %s", name, text(t, state, "source"), text(t, state, "isolation"))
		}
		attrs := attrsOf(t, state)
		for attribute, words := range map[string][]string{
			"capabilities": want.Capabilities.Strings(), "egress_modes": want.EgressModes.Strings(),
			"os_families": want.OSFamilies.Strings(), "isolation_scopes": want.IsolationScopes.Strings(),
		} {
			if got := listOf(t, attrs[attribute]); !slices.Equal(got, words) {
				t.Errorf("%s: %s is %q, want %q", name, attribute, got, words)
			}
		}
		guarantees := attrsOf(t, attrs["guarantees"])
		if len(guarantees) != len(want.Guarantees) {
			t.Errorf("%s: guarantees %v", name, guarantees)
		}
		for g, e := range want.Guarantees {
			if got := attrsOf(t, guarantees[g.String()]); said(t, got["kind"]) != e.Kind.String() || said(t, got["reference"]) != e.Reference {
				t.Errorf("%s: evidence of %s is %v", name, g, got)
			}
		}
		if got := attrsOf(t, attrs["isolation_evidence"]); said(t, got["kind"]) != want.IsolationEvidence.Kind.String() {
			t.Errorf("%s: evidence of isolation is %v", name, got)
		}
	}
}

// listOf are the elements of a list of single values.
func listOf(t *testing.T, v tftypes.Value) []string {
	t.Helper()
	var elements []tftypes.Value
	if err := v.As(&elements); err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(elements))
	for i, e := range elements {
		out[i] = said(t, e)
	}
	return out
}

func TestBackendDataReadsFactsWhole(t *testing.T) {
	t.Parallel()
	capabilities := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityAttachedIdentity)
	d := sandbox.Declarations{
		Backend: "lab", Isolation: sandbox.IsolationVM, Capabilities: &capabilities,
		IsolationEvidence: sandbox.Evidence{Kind: sandbox.EvidenceProbed},
		AttachedIdentity: sandbox.AttachedIdentity{
			Scope: sandbox.IdentityScopePerSandbox, RetentionSeconds: 60, Channels: sandbox.SetOf(sandbox.ChannelEgressHeader),
		},
		ProgramChannels: []sandbox.ProgramChannel{{
			Name: "stdin", Profiles: []string{"python"}, HostTools: true, Needs: sandbox.SetOf(sandbox.CapabilityExec),
		}},
		MethodTokens: []string{"GET"}, WriteAuthority: sandbox.WriteAuthorityRoot, ObservesEgress: true, ExclusiveAdmission: true,
	}
	document, err := manifest.EncodeDeclarations(d)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, offline())
	for name, attrs := range map[string]map[string]any{
		"facts alone":    {"facts": string(document)},
		"facts and name": {"facts": string(document), "name": "lab"},
		"facts laid out": {"facts": "\n " + string(document) + "\n"},
	} {
		state, diags := s.read(t, "sandbox_backend", attrs)
		if failed(diags) {
			t.Fatalf("%s: %s", name, render(diags))
		}
		for attribute, want := range map[string]string{
			"name": "lab", "source": "facts", "isolation": "vm", "write_authority": "root", "observes_egress": "true", "exclusive_admission": "true",
		} {
			if got := said(t, attrsOf(t, state)[attribute]); got != want {
				t.Errorf("%s: %s is %s, want %s", name, attribute, got, want)
			}
		}
		all := attrsOf(t, state)
		identity := attrsOf(t, all["attached_identity"])
		if said(t, identity["scope"]) != "per_sandbox" || said(t, identity["retention_seconds"]) != "60" || !slices.Equal(listOf(t, identity["channels"]), []string{"egress_header"}) {
			t.Errorf("%s: attached identity %v", name, identity)
		}
		var channels []tftypes.Value
		if err := all["program_channels"].As(&channels); err != nil || len(channels) != 1 || said(t, attrsOf(t, channels[0])["host_tools"]) != "true" {
			t.Errorf("%s: program channels %s", name, all["program_channels"])
		}
	}
}

func TestBackendDataSaysWhatSilenceIsReadAs(t *testing.T) {
	t.Parallel()
	document, err := manifest.EncodeDeclarations(sandbox.Declarations{Backend: "quiet", Isolation: sandbox.IsolationContainer})
	if err != nil {
		t.Fatal(err)
	}
	state, diags := newServer(t, offline()).read(t, "sandbox_backend", map[string]any{"facts": string(document)})
	if failed(diags) {
		t.Fatal(render(diags))
	}
	all := attrsOf(t, state)
	for attribute, want := range map[string][]string{
		"capabilities": sandbox.DefaultCapabilities().Strings(), "egress_modes": {}, "os_families": {}, "isolation_scopes": {"conversation"}, "program_channels": {},
	} {
		if got := listOf(t, all[attribute]); !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", attribute, got, want)
		}
	}
	for _, attribute := range []string{"isolation_evidence", "attached_identity", "method_tokens"} {
		if !all[attribute].IsNull() {
			t.Errorf("%s is %s", attribute, all[attribute])
		}
	}
	limits := sandbox.DefaultTransferLimits()
	if got := said(t, attrsOf(t, all["files_in_limits"])["max_bytes_per_file"]); got != numberText(limits.MaxBytesPerFile) {
		t.Errorf("files_in_limits.max_bytes_per_file is %s", got)
	}
	if said(t, all["write_authority"]) != "guest" {
		t.Errorf("write_authority is %s", all["write_authority"])
	}
}

func numberText(n int64) string {
	text, _ := asText(numberValue(n))
	return text
}

func TestBackendDataRefuses(t *testing.T) {
	t.Parallel()
	document, err := manifest.EncodeDeclarations(declared(t, "docker"))
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, offline())
	for name, c := range map[string]struct {
		attrs map[string]any
		want  string
	}{
		"neither name nor facts":   {nil, "value.missing at name"},
		"a name that is none":      {map[string]any{"name": "wasmm"}, "backend.unknown at name"},
		"facts of another backend": {map[string]any{"name": "wasm", "facts": string(document)}, "backend.declarations_invalid at facts"},
		"facts that are none":      {map[string]any{"facts": "{"}, "document.syntax at facts"},
		"another document":         {map[string]any{"facts": `{"api_version":"sandbox/v1","document":"policy","policy":{}}`}, "document.type at facts.document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := locators(s.validateData(t, "sandbox_backend", c.attrs)); !slices.Contains(got, c.want) {
				t.Errorf("validate: found %q, want %q", got, c.want)
			}
			state, diags := s.read(t, "sandbox_backend", c.attrs)
			if got := locators(diags); !slices.Contains(got, c.want) {
				t.Errorf("read: found %q, want %q", got, c.want)
			}
			if source := text(t, state, "source"); source != "null" {
				t.Errorf("source %s beside errors", source)
			}
		})
	}
	for _, attrs := range []map[string]any{{"name": notKnown{}}, {"facts": notKnown{}}, {"name": "wasmm", "facts": notKnown{}}} {
		if diags := s.validateData(t, "sandbox_backend", attrs); len(diags) > 0 {
			t.Errorf("%v: %s", attrs, render(diags))
		}
	}
}

func TestBackendDataFillsInEveryAttribute(t *testing.T) {
	t.Parallel()
	typ := attributesOf(backendSchema().Type().TerraformType(context.Background()))
	for name := range backendSchema().Attributes {
		if _, ok := typ.backend(facts.Ideal(sandbox.Spec{}), sourceShipped)[name]; !ok && name != "facts" {
			t.Errorf("%s is never filled in", name)
		}
	}
}
