package show

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
)

// Code writes a value that others wrote as a code span of markdown, in which
// nothing is a link, a mention, markup or the end of a table's cell. It went
// through package plaintext. No text is no span.
func Code(text string) string {
	text = plaintext.Value(text)
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	pad := ""
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || strings.TrimSpace(text) != text || strings.TrimSpace(text) == "" {
		pad = " "
	}
	return fence + pad + strings.ReplaceAll(text, "|", `\|`) + pad + fence
}
