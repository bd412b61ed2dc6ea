package translate_test

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/translate"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// fuzz reads anything: what comes out is a policy that compiles, that has a
// document, and that is HCL of one block, or an error that is a refusal.
func fuzz(f *testing.F, source translate.Source) {
	f.Helper()
	for name, of := range samples {
		if of == source {
			f.Add(sample(f, name))
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		tr, err := translate.Read(source, input)
		if err != nil {
			if len(sandbox.RefusalsOf(err)) == 0 {
				t.Fatalf("not a refusal: %v", err)
			}
			return
		}
		if _, findings := policy.CompilePolicy(policy.Layer{Policy: tr.Policy}); len(findings) > 0 {
			t.Fatalf("the policy has findings: %v", findings)
		}
		b, err := manifest.EncodePolicy(tr.Policy)
		if err != nil {
			t.Fatalf("no document: %v", err)
		}
		if _, err := manifest.ParsePolicy(b); err != nil {
			t.Fatalf("the document is refused: %v", err)
		}
		if tr.Policy.Egress.Mode == sandbox.EgressUnrestricted {
			t.Fatal("unrestricted")
		}
		for _, l := range tr.Losses {
			if l.Why == "" || l.Line < 1 {
				t.Fatalf("a loss without a reason or a place: %+v", l)
			}
		}
		out := tr.HCL(translate.Label(tr.Policy.Name))
		file, diags := hclsyntax.ParseConfig(out, "out.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatalf("%v\n%s", diags, out)
		}
		if body, ok := file.Body.(*hclsyntax.Body); !ok || len(body.Blocks) != 1 || len(body.Attributes) != 0 {
			t.Fatalf("not one block:\n%s", out)
		}
	})
}

func FuzzReadACA(f *testing.F)           { fuzz(f, translate.ACA) }
func FuzzReadDocker(f *testing.F)        { fuzz(f, translate.Docker) }
func FuzzReadNetworkPolicy(f *testing.F) { fuzz(f, translate.NetworkPolicy) }
func FuzzReadOpenShell(f *testing.F)     { fuzz(f, translate.OpenShell) }
