package provider

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// maxSummary bounds a diagnostic's summary, in characters.
const maxSummary = 60

// refusals turns the findings that deny into errors, all of them and in their
// order. Findings that wait for a value and warnings are left out.
func refusals(findings []sandbox.Finding) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, f := range findings {
		if f.Verdict == sandbox.Deny {
			diags.Append(refusal(f))
		}
	}
	return diags
}

// refusal is one finding as an error at the place to edit.
func refusal(f sandbox.Finding) diag.Diagnostic {
	return placed(f.Path, diag.NewErrorDiagnostic(f.Code.Summary(), detail(f)))
}

// warnings turns the findings that let through into warnings. Terraform folds
// warnings of equal summary into one, so each summary ends with what the finding
// is about: its own subject, or else the object's.
func warnings(findings []sandbox.Finding, about string) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, f := range findings {
		if f.Verdict != sandbox.Allow {
			continue
		}
		suffix := " (" + about + ")"
		if f.Subject != "" {
			suffix = " (" + clip(f.Subject, maxSummary/2) + ")"
		}
		summary := clip(f.Code.Summary(), maxSummary-utf8.RuneCountInString(suffix)) + suffix
		diags.Append(placed(f.Path, diag.NewWarningDiagnostic(summary, detail(f))))
	}
	return diags
}

func placed(at sandbox.FieldPath, d diag.Diagnostic) diag.Diagnostic {
	p, ok := terraformPath(at)
	if !ok {
		return d
	}
	return diag.WithPath(p, d)
}

// terraformPath is the deepest part of a path that Terraform resolves to a line
// of source: a root attribute, or an element of a root map or list. Anything
// below falls back to the header of the resource, which is a worse place
// (hashicorp/terraform#33491), so the whole path stands in the detail instead.
func terraformPath(at sandbox.FieldPath) (path.Path, bool) {
	if len(at) == 0 {
		return path.Empty(), false
	}
	root, ok := at[0].Attr()
	if !ok {
		return path.Empty(), false
	}
	p := path.Root(root)
	if len(at) == 1 {
		return p, true
	}
	if key, ok := at[1].MapKey(); ok {
		return p.AtMapKey(key), true
	}
	if i, ok := at[1].Index(); ok {
		return p.AtListIndex(i), true
	}
	return p, true
}

// detail says what was found, what is required, what would become possible, and
// the edit to make. Its last line is the finding's locator, alone and after one
// space: Terraform wraps no line that begins with a space, so programs can read
// it whole.
func detail(f sandbox.Finding) string {
	var b strings.Builder
	if f.Subject != "" {
		b.WriteString(sentence(f.Subject, ':'))
		b.WriteByte('\n')
	}
	for _, line := range []struct{ label, text string }{
		{"Found: ", f.Found},
		{"Required: ", f.Required},
		{"Would become reachable: ", f.Witness},
	} {
		if line.text != "" {
			b.WriteString(line.label + oneLine(line.text) + "\n")
		}
	}
	if f.Remedy != "" {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(sentence(oneLine(f.Remedy), '.'))
		b.WriteByte('\n')
	}
	b.WriteString("\n " + f.Locator())
	return b.String()
}

// sentence begins text with a capital letter and ends it with the mark, unless
// it ends with one already. Text that begins with a quotation is left as it is.
func sentence(text string, mark rune) string {
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if strings.HasSuffix(text, string(mark)) {
		return text
	}
	return text + string(mark)
}

// oneLine keeps a value from starting a line of its own, which could pass for a
// locator.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}

// clip shortens text to at most n characters, at a word where there is one.
func clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	cut := string([]rune(text)[:max(n-1, 0)])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return cut + "…"
}

// under puts findings about a part of an object at that part.
func under(at sandbox.FieldPath, findings []sandbox.Finding) []sandbox.Finding {
	moved := make([]sandbox.Finding, len(findings))
	for i, f := range findings {
		f.Path = at.Append(f.Path...)
		moved[i] = f
	}
	return moved
}
