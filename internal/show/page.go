package show

import (
	"strings"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
)

// Page is text in labelled rows, wrapped to one width with a hanging indent, so
// that labels stand in a column of their own. Every text that is put on it goes
// through package plaintext; none can begin a line.
type Page struct {
	b      strings.Builder
	indent int
	labels int
}

// width is where rows wrap, in characters. It holds for every terminal that
// people read plans in.
const width = 100

// NewPage makes a page whose rows start at indent and whose labels take a column
// of the given width.
func NewPage(indent, labels int) *Page { return &Page{indent: indent, labels: labels} }

// Row writes one labelled row, wrapped between words. No text is no row.
func (p *Page) Row(label, text string) {
	if text == "" {
		return
	}
	p.Label(label)
	p.wrap(plaintext.Value(text))
}

// Label writes the label of a row whose text is written by [Page.Text].
func (p *Page) Label(label string) {
	p.b.WriteString(strings.Repeat(" ", p.indent))
	p.b.WriteString(Pad(plaintext.Value(label), p.labels))
	if utf8.RuneCountInString(label) >= p.labels && p.labels > 0 && !strings.HasSuffix(label, " ") {
		p.b.WriteByte(' ')
	}
}

// Columns writes a row whose label is as wide as it is, for tables: what follows
// hangs behind it.
func (p *Page) Columns(label, text string) {
	labels := p.labels
	p.labels = utf8.RuneCountInString(label)
	p.Row(label, text)
	p.labels = labels
}

// List writes one item a row behind one label, at most limit of them, and says
// how many were left out. No item is no row.
func (p *Page) List(label string, items []string, limit int) {
	for i, item := range items {
		switch {
		case i == limit:
			p.Row("", strings.TrimSpace(More(len(items)-limit)))
			return
		case i > 0:
			label = ""
		}
		p.Row(label, item)
	}
}

// Line writes a line without a label, unwrapped.
func (p *Page) Line(text string) {
	p.b.WriteString(strings.TrimRight(strings.Repeat(" ", p.indent)+plaintext.Value(text), " "))
	p.b.WriteByte('\n')
}

// Gap leaves a line empty.
func (p *Page) Gap() { p.b.WriteByte('\n') }

// String is the page as text that ends with a line break.
func (p *Page) String() string { return p.b.String() }

func (p *Page) wrap(text string) {
	room := max(width-p.indent-p.labels, 20)
	hang := "\n" + strings.Repeat(" ", p.indent+p.labels)
	column := 0
	for i, word := range strings.Split(text, " ") {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+length > room:
			p.b.WriteString(hang)
			column = 0
		default:
			p.b.WriteByte(' ')
			column++
		}
		p.b.WriteString(word)
		column += length
	}
	p.b.WriteByte('\n')
}

// Pad fills text with spaces to a width in characters; what is longer is left.
func Pad(text string, to int) string {
	return text + strings.Repeat(" ", max(to-utf8.RuneCountInString(text), 0))
}

// Clip shortens text to at most n characters.
func Clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
