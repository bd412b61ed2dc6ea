package cli

import (
	"fmt"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
)

// maxMarkdownRows is how many findings a comment shows. Code hosts cut comments of
// more than 65,536 characters.
const maxMarkdownRows = 50

// markdown is the report as a comment of a code host: one table on one screen, and
// what to do about each row folded up below it.
func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString("**sandbox check: " + r.Verdict + "**\n\n" + escapeMarkdown(r.head()+r.compared()+r.without()) + "\n")
	if len(r.Findings) > 0 {
		b.WriteString("\n| | of | code | where | what |\n|---|---|---|---|---|\n")
	}
	for n, i := range r.Findings {
		if n == maxMarkdownRows {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(show.More(len(r.Findings)-n)))
			break
		}
		where := i.Path
		if i.span.File != "" {
			where += fmt.Sprintf(" (%s:%d)", i.span.File, i.Line)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", i.word(), escapeMarkdown(i.Name), escapeMarkdown(string(i.Code)),
			escapeMarkdown(strings.TrimSpace(where)), escapeMarkdown(i.short()))
	}
	if len(r.Findings) > 0 {
		b.WriteString("\n<details><summary>what to do</summary>\n\n")
		for n, f := range fold(r.Findings) {
			if n == maxMarkdownRows {
				break
			}
			whole := f.whole()
			fmt.Fprintf(&b, "- **%s** %s. Found: %s. Required: %s. Remedy: %s\n", escapeMarkdown(whole.Summary), escapeMarkdown(whole.Subject),
				escapeMarkdown(whole.Found), escapeMarkdown(whole.Required), escapeMarkdown(sentence(whole.Remedy)))
		}
		b.WriteString("\n</details>\n")
	}
	for _, problem := range r.Problems {
		b.WriteString("\nno answer: " + escapeMarkdown(problem) + "\n")
	}
	fmt.Fprintf(&b, "\nexit %d\n", r.Exit)
	return b.String()
}

func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// escapeMarkdown makes a text stand for itself in a cell of a table: no markup, no
// link, no mention of a person or an issue, no HTML.
func escapeMarkdown(text string) string {
	text = plaintext.Value(text)
	var b strings.Builder
	for at, c := range text {
		switch {
		case strings.ContainsRune("\\`*_[]|~$", c):
			b.WriteByte('\\')
			b.WriteRune(c)
		case strings.ContainsRune("<>&", c):
			fmt.Fprintf(&b, "&#%d;", c)
		case strings.ContainsRune("@#", c), c == ':' && strings.HasPrefix(text[at:], "://"), c == '.' && strings.HasSuffix(strings.ToLower(text[:at]), "www"):
			// Code hosts look for mentions, issues and addresses in the page that was made
			// of the markdown, where backslashes and entities are gone. A zero-width space
			// is still there.
			fmt.Fprintf(&b, "&#%d;&#8203;", c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
