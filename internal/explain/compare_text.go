package explain

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
)

const (
	// maxDestinations is how many destinations a screen lists for one change.
	maxDestinations = 6
	// maxEqual is how many subjects that are equal it names.
	maxEqual   = 8
	wordColumn = 16
)

// Text is the difference on one screen.
func (d Difference) Text() string {
	page := show.NewPage(0, wordColumn)
	page.Row("before", string(d.BeforeDigest))
	page.Row("after", string(d.AfterDigest))
	page.Row(d.Change, d.summary())
	text := page.String()
	for _, s := range d.Subjects {
		if !s.plain() {
			text += "\n" + s.text()
		}
	}
	if plain := d.plain(); len(plain) > 0 {
		page := show.NewPage(0, wordColumn)
		page.Gap()
		page.Row(policy.Equal.String(), some(plain, maxEqual))
		text += page.String()
	}
	return text
}

// summary counts the subjects by direction.
func (d Difference) summary() string {
	var widened, narrowed int
	for _, s := range d.Subjects {
		switch {
		case s.widens:
			widened++
		case s.narrows:
			narrowed++
		}
	}
	all := show.Plural(len(d.Subjects), "subject")
	count := func(n int) string {
		if n == 1 {
			return "1 of " + all + " permits"
		}
		return show.Count(int64(n)) + " of " + all + " permit"
	}
	switch {
	case widened > 0:
		return count(widened) + " something that was not permitted"
	case narrowed > 0:
		return count(narrowed) + " less, and none more"
	default:
		return "what was permitted is, and nothing else"
	}
}

// plain reports whether there is nothing to say of a subject.
func (s Subject) plain() bool { return len(s.Changes) == 0 && s.Presence == "" }

func (d Difference) plain() []string {
	var names []string
	for _, s := range d.Subjects {
		if s.plain() {
			names = append(names, s.Subject)
		}
	}
	return names
}

func some(texts []string, most int) string {
	if len(texts) <= most {
		return strings.Join(texts, ", ")
	}
	return strings.Join(texts[:most], ", ") + show.More(len(texts)-most)
}

func (s Subject) text() string {
	head := show.NewPage(0, wordColumn)
	name := s.Subject
	if s.Presence != "" {
		name += ", " + s.Presence
	}
	head.Row(s.Change, name)
	page := show.NewPage(2, wordColumn-2)
	for _, a := range s.Changes {
		page.Row(a.Change, a.text)
		if strings.Contains(a.at, "[") { // the axis does not say it
			page.Row("", "at "+a.at)
		}
		page.List("    now also", a.NowReaches, maxDestinations)
		page.List("    no longer", a.NoLongerReaches, maxDestinations)
	}
	page.Row(policy.Equal.String(), strings.Join(s.Unchanged, ", "))
	return head.String() + page.String()
}

// Markdown is the difference as a table, for a comment on a change.
func (d Difference) Markdown() string {
	var b strings.Builder
	b.WriteString("**" + d.Change + "**: " + d.summary() + "\n\n")
	b.WriteString("before " + show.Code(string(d.BeforeDigest)) + ", after " + show.Code(string(d.AfterDigest)) + "\n")
	if len(d.plain()) < len(d.Subjects) {
		b.WriteString("\n| | subject | at | change |\n|---|---|---|---|\n")
	}
	for _, s := range d.Subjects {
		s.markdown(&b)
	}
	if plain := d.plain(); len(plain) > 0 {
		names := make([]string, len(plain))
		for i, name := range plain {
			names[i] = show.Code(name)
		}
		b.WriteString("\nequal: " + some(names, maxEqual) + "\n")
	}
	return b.String()
}

func (s Subject) markdown(b *strings.Builder) {
	subject := show.Code(s.Subject)
	if s.Presence != "" {
		subject += ", " + s.Presence
	}
	row := func(change, at, text string) {
		b.WriteString("| " + change + " | " + subject + " | " + at + " | " + text + " |\n")
	}
	if len(s.Changes) == 0 && s.Presence != "" {
		row(s.Change, "", "")
	}
	for _, a := range s.Changes {
		at := a.at
		if at == "" {
			at = a.Axis
		}
		row(a.Change, show.Code(at), a.markdown())
	}
}

func (a Axis) markdown() string {
	var parts []string
	switch {
	case len(a.NowReaches)+len(a.NoLongerReaches) > 0: // the lists say all
	case a.Witness != "":
		parts = append(parts, show.Code(a.Witness))
	default:
		parts = append(parts, show.Code(a.Before)+" before, "+show.Code(a.After)+" now")
	}
	for _, list := range []struct {
		words string
		of    []string
	}{{"now also", a.NowReaches}, {"no longer", a.NoLongerReaches}} {
		if len(list.of) == 0 {
			continue
		}
		codes := make([]string, len(list.of))
		for i, destination := range list.of {
			codes[i] = show.Code(destination)
		}
		parts = append(parts, list.words+" "+some(codes, maxDestinations))
	}
	return strings.Join(parts, "<br>")
}
