package provider

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

func functionsOf(t *testing.T) map[string]*tfprotov6.Function {
	t.Helper()
	resp, err := newServer(t, offline()).GetFunctions(context.Background(), &tfprotov6.GetFunctionsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Functions
}

func TestEveryFunctionIsOneThatTheFrameworkAccepts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, factory := range offline().Functions(ctx) {
		var meta function.MetadataResponse
		factory().Metadata(ctx, function.MetadataRequest{}, &meta)
		var resp function.DefinitionResponse
		factory().Definition(ctx, function.DefinitionRequest{}, &resp)
		var diags function.DefinitionValidateResponse
		resp.Definition.ValidateImplementation(ctx, function.DefinitionValidateRequest{FuncName: meta.Name}, &diags)
		if diags.Diagnostics.HasError() {
			t.Errorf("%s: %v", meta.Name, diags.Diagnostics)
		}
	}
}

func TestEveryFunctionAndParameterIsDescribed(t *testing.T) {
	t.Parallel()
	for name, f := range functionsOf(t) {
		if len(f.Summary) < 20 || strings.HasSuffix(f.Summary, ".") || len(f.Description) < 80 || !strings.HasSuffix(f.Description, ".") {
			t.Errorf("%s is described as %q, %q", name, f.Summary, f.Description)
		}
		parameters := f.Parameters
		if f.VariadicParameter != nil {
			parameters = append(parameters, f.VariadicParameter)
		}
		for _, p := range parameters {
			if len(p.Description) < 20 || !strings.HasSuffix(p.Description, ".") {
				t.Errorf("parameter %s of %s is described as %q", p.Name, name, p.Description)
			}
		}
	}
}

// Every attribute of a result is named in the description, since Terraform has no
// other place for it.
func TestEveryResultIsDescribed(t *testing.T) {
	t.Parallel()
	for name, results := range map[string][]string{
		"policy": {"digest", "document"}, "check": sortedKeys(assessed()), "manifest": sortedKeys(manifestResult()),
		"egress_contains": sortedKeys(containsResult()), "posture_diff": sortedKeys(postureDiffResult()),
	} {
		for _, result := range results {
			if !strings.Contains(functionsOf(t)[name].Description, "* `"+result+"`:") {
				t.Errorf("%s does not describe %s", name, result)
			}
		}
	}
	for part := range findingObject().AttrTypes {
		if !strings.Contains(functionsOf(t)["check"].Description, "`"+part+"`") {
			t.Errorf("check does not describe %s of a finding", part)
		}
	}
	for part := range postureChange() {
		if !strings.Contains(functionsOf(t)["posture_diff"].Description, "`"+part+"`") {
			t.Errorf("posture_diff does not describe %s of a change", part)
		}
	}
}

// TestFunctionsAreTheReviewedOnes makes each change of a signature a line in a
// diff. Run it with -update and read what changed.
func TestFunctionsAreTheReviewedOnes(t *testing.T) {
	t.Parallel()
	lines := map[string]string{}
	for name, f := range functionsOf(t) {
		var parts []string
		for _, p := range f.Parameters {
			parts = append(parts, signature(p))
		}
		if v := f.VariadicParameter; v != nil {
			parts = append(parts, signature(v)+"...")
		}
		lines[name] = "(" + strings.Join(parts, ", ") + ") " + f.Return.Type.String()
	}
	got, err := json.MarshalIndent(lines, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	golden := filepath.Join("testdata", "functions.golden.json")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the functions are not those in %s; run with -update and review the diff", golden)
	}
}

func signature(p *tfprotov6.FunctionParameter) string {
	text := p.Name + " " + strings.TrimPrefix(p.Type.String(), "tftypes.")
	if p.AllowNullValue {
		text += " or null"
	}
	if p.AllowUnknownValues {
		text += " or unknown"
	}
	return text
}

func TestFunctionErrorsReadLikeRefusals(t *testing.T) {
	t.Parallel()
	got := newServer(t, offline()).call(t, "normalize_host", "https://example.com")
	const want = "Egress host is not a host\n" +
		`Found: host "https://example.com": ":" at character 6 ends a scheme, which a host does not have` + "\n" +
		"Required: one DNS name, *.suffix, IP address or CIDR range\n" +
		"\n" +
		`Write "example.com".` + "\n" +
		"\n" +
		" egress.host_invalid at host\n" +
		"\n" +
		"1 finding"
	if got.err == nil || got.err.Text != want {
		t.Errorf("the error reads\n%v", got.err)
	}
}
