package hcltext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hcltext"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
)

// hostile are texts that mean something to HCL, to a terminal or to a CI runner.
var hostile = []string{
	"", "plain", `quote " and \`, "${file(\"/etc/passwd\")}", "%{ if true }x%{ endif }", "$${x}", "a\nb\r\tc", "\x00\x1b[31m",
	"\u202ereversed\u2066", "zero\u200bwidth\ufeff", "filler\u115f", "variation\ufe0f", "\u2800", "tag\U000e0041", "##vso[task.x]", "####", "::set-output",
	"*/ # // /*", "ünïcode", "日本", `\u0041`, "for", "null",
}

func check(t *testing.T, text string) {
	t.Helper()
	f := hclwrite.NewEmptyFile()
	body := f.Body()
	body.AppendUnstructuredTokens(hcltext.Comment(text))
	body.SetAttributeRaw("text", hcltext.String(text))
	body.SetAttributeRaw("list", hcltext.List(hcltext.Strings([]string{text, text})))
	body.SetAttributeRaw("map", hcltext.Texts(map[string]string{text: text, "for": "first"}))
	src := hclwrite.Format(f.Bytes())
	for i, r := range string(src) {
		if r != '\n' && !plaintext.Shown(r) {
			t.Errorf("%q: %q at %d is written as it is", text, r, i)
		}
	}
	if strings.Contains(string(src), "##vso[") {
		t.Errorf("%q commands a runner:\n%s", text, src)
	}
	parsed, diags := hclsyntax.ParseConfig(src, "x.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%q: %s\n%s", text, diags, src)
	}
	attributes, diags := parsed.Body.JustAttributes()
	if diags.HasErrors() || len(attributes) != 3 {
		t.Fatalf("%q: %d attributes, %s\n%s", text, len(attributes), diags, src)
	}
	want := cty.StringVal(text)
	wants := map[string]cty.Value{
		"text": want, "list": cty.TupleVal([]cty.Value{want, want}),
		"map": cty.ObjectVal(map[string]cty.Value{"for": cty.StringVal("first"), want.AsString(): want}),
	}
	for name, attribute := range attributes {
		if got, diags := attribute.Expr.Value(nil); diags.HasErrors() || !got.RawEquals(wants[name]) {
			t.Errorf("%s of %q reads back as %#v %s\n%s", name, text, got, diags, src)
		}
	}
}

func TestHostileTextIsWrittenAsOneStringThatShowsAllOfIt(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		check(t, text)
	}
}

func FuzzText(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if utf8.ValidString(text) {
			check(t, text)
		}
	})
}
