package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hclsource"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// report is the answer of a check.
type report struct {
	Target    string     `json:"target"`
	Exit      int        `json:"exit"`
	Verdict   string     `json:"verdict"`
	Policies  int        `json:"policies"`
	Workloads []judged   `json:"workloads"`
	Facts     []factsRow `json:"facts"`
	Findings  []item     `json:"findings"`
	// Baseline is what was compared with, where something was.
	Baseline string `json:"baseline,omitempty"`
	// Problems say why there is no answer.
	Problems []string `json:"problems"`

	// notCompared: there is a baseline, and what it is for was refused.
	notCompared bool
	// candidates are what can be compared with a baseline.
	candidates []candidate
	// standalone are the workloads of a plan that no manifest holds.
	standalone []string
	// place finds where something is written, where sources are known.
	place func(i item) (hclsource.Place, bool)
}

// judged is one workload and its answer.
type judged struct {
	Name    string          `json:"name"`
	Backend string          `json:"backend"`
	Verdict sandbox.Verdict `json:"verdict"`
}

// factsRow says by what a backend was judged.
type factsRow struct {
	Backend string `json:"backend"`
	Source  string `json:"source"`
}

// item is one finding as it is printed.
type item struct {
	Name    string          `json:"name"`
	Verdict sandbox.Verdict `json:"verdict"`
	// Widened: it is allowed, and was not possible before.
	Widened bool         `json:"widened,omitzero"`
	Code    sandbox.Code `json:"code"`
	Summary string       `json:"summary"`
	Subject string       `json:"subject,omitempty"`
	// Address is the block that it is about, where that is known and not the subject.
	Address string `json:"address,omitempty"`
	Path    string `json:"path"`
	// File and Line are where it stands in a configuration, where that is known.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitzero"`
	// within is where the block at Address names the one that it is about, such as
	// workloads["report"] of a manifest.
	within string
	// span is the columns and the end, as far as they are known.
	span     hclsource.Place
	Found    string `json:"found"`
	Required string `json:"required"`
	Witness  string `json:"witness,omitempty"`
	Remedy   string `json:"remedy"`

	// because is what lay underneath, for people.
	because string
}

// itemOf makes an item of a finding; who it is about is its subject.
func itemOf(f sandbox.Finding) item {
	return item{
		Name: f.Subject, Verdict: f.Verdict, Code: f.Code, Summary: f.Code.Summary(), Subject: f.Subject,
		Path: f.Path.String(), Found: f.Found, Required: f.Required, Witness: f.Witness, Remedy: f.Remedy,
	}
}

// about names an item: in tables by name, in full by subject, unless the finding
// has a subject of its own.
func (i item) about(name, subject string) item {
	i.Name = name
	if i.Subject == "" {
		i.Subject = subject
	}
	return i
}

// add takes a workload's decision into the report.
func (r *report) add(name, subject, backend string, d sandbox.Decision) {
	r.Workloads = append(r.Workloads, judged{name, backend, d.Verdict})
	for _, f := range d.Findings {
		r.Findings = append(r.Findings, itemOf(f).about(name, subject))
	}
}

// settle puts the findings in order, what refuses first, and works out the verdict
// and the exit code. A refusal outranks everything, and what leaves the answer
// open outranks an allow.
func (r *report) settle() {
	slices.SortStableFunc(r.Findings, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.Verdict, b.Verdict), -compareBool(a.Widened, b.Widened))
	})
	r.Exit, r.Verdict = ExitAllowed, "allowed"
	open := len(r.Problems) > 0
	for _, i := range r.Findings {
		if i.Verdict == sandbox.Deny {
			r.Exit, r.Verdict = ExitRefused, "refused"
			return
		}
	}
	for _, w := range r.Workloads {
		switch w.Verdict {
		case sandbox.Allow:
		case sandbox.Undecided:
			open = true
		default: // denied without a reason: still denied
			r.Exit, r.Verdict = ExitRefused, "refused"
			return
		}
	}
	if open {
		r.Exit, r.Verdict = ExitBadInput, "undecided"
		return
	}
	if slices.ContainsFunc(r.Findings, func(i item) bool { return i.Widened }) {
		r.Exit, r.Verdict = ExitWidened, "widened"
	}
}

// print writes the report in the asked format and returns the error that carries
// its exit code.
func (a *app) print(r *report) error {
	r.settle()
	var err error
	switch a.format {
	case "json":
		err = a.printJSON(r)
	case "sarif":
		err = a.printSARIF(r)
	case "junit":
		err = a.printJUnit(r)
	case "markdown":
		_, err = fmt.Fprint(a.out, r.markdown())
	default:
		_, err = fmt.Fprint(a.out, r.text())
	}
	if err != nil {
		return err
	}
	if r.Exit == ExitAllowed {
		return nil
	}
	return &exit{code: r.Exit}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// printJSON writes a value as indented JSON that is safe to print.
func (a *app) printJSON(v any) error {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err = a.out.Write(append(plaintext.JSON(text), '\n'))
	return err
}

// text is the report as a table, and then each finding in full. Findings that
// differ in nothing but whom they are about are told in full once, and warnings
// take one row for all.
func (r *report) text() string {
	var b strings.Builder
	b.WriteString(plaintext.Value(r.head()+r.compared()) + "\n")
	folded := fold(r.Findings)
	r.table(&b, folded)
	for _, f := range folded {
		b.WriteByte('\n')
		b.WriteString(block(f.whole(), f.word()))
	}
	if len(r.Findings) > 0 && len(r.Problems) == 0 {
		b.WriteString("\n" + plaintext.Value(r.tally()+r.without()) + "\n")
	}
	for _, problem := range r.Problems {
		page := show.NewPage(0, 0)
		page.Gap()
		page.Row("", "no answer: "+problem)
		b.WriteString(page.String())
	}
	return b.String()
}

// several is one finding about one or more.
type several struct {
	item
	names, subjects []string
}

func fold(items []item) []*several {
	var all []*several
	same := map[item]*several{}
	for _, i := range items {
		key := i
		key.Name, key.Subject, key.within = "", "", ""
		s, ok := same[key]
		if !ok {
			s = &several{item: i}
			same[key] = s
			all = append(all, s)
		}
		s.names = append(s.names, i.Name)
		s.subjects = append(s.subjects, i.Subject)
	}
	return all
}

// maxTogether is how many of those that a finding is about are named.
const maxTogether = 6

func together(names []string) string {
	if len(names) <= maxTogether {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:maxTogether], ", ") + show.More(len(names)-maxTogether)
}

func (s *several) whole() item {
	i := s.item
	i.Subject = together(s.subjects)
	return i
}

// head reads "12 workloads, 1 policy, backend acas (shipped facts)".
func (r *report) head() string {
	parts := []string{show.Plural(len(r.Workloads), "workload")}
	if r.Policies > 0 {
		parts = append(parts, show.Plural(r.Policies, "policy"))
	}
	for _, f := range r.Facts {
		parts = append(parts, "backend "+f.Backend+" ("+f.Source+")")
	}
	return strings.Join(parts, ", ")
}

// compared names the baseline, where there is one, to put after the head: without a
// widening nothing else would say that something was compared.
func (r *report) compared() string {
	if r.Baseline == "" {
		return ""
	}
	return ", compared with " + r.Baseline
}

func (r *report) tally() string {
	counts := map[sandbox.Verdict]int{}
	for _, w := range r.Workloads {
		counts[w.Verdict]++
	}
	var parts []string
	for _, v := range []sandbox.Verdict{sandbox.Deny, sandbox.Undecided, sandbox.Allow} {
		if counts[v] > 0 {
			parts = append(parts, show.Count(int64(counts[v]))+" "+show.Verdict(v))
		}
	}
	if r.Verdict == "refused" && counts[sandbox.Deny] == 0 && len(parts) > 0 {
		return "refused, whatever its workloads: " + strings.Join(parts, ", ")
	}
	if len(parts) == 0 {
		return r.Verdict // a policy is, and there is no workload
	}
	return strings.Join(parts, ", ")
}

// Columns of the table that grow no further: what is longer pushes the rest.
const (
	maxNameColumn = 24
	maxPathColumn = 36
	maxShort      = 72
)

func (r *report) table(b *strings.Builder, findings []*several) {
	var rows [][5]string
	row := func(i item, name string) {
		rows = append(rows, [5]string{
			i.word(), plaintext.Value(name), string(i.Code), plaintext.Value(i.Path), i.short(),
		})
	}
	for _, f := range findings {
		if f.Verdict == sandbox.Allow && !f.Widened {
			row(f.item, together(f.names))
			continue
		}
		for _, name := range f.names {
			row(f.item, name)
		}
	}
	if len(rows) == 0 && len(r.Problems) == 0 {
		b.WriteString("allowed\n")
	}
	limits := [4]int{9, maxNameColumn, 34, maxPathColumn}
	var widths [4]int
	for _, row := range rows {
		for c := range widths {
			widths[c] = min(max(widths[c], utf8.RuneCountInString(row[c])), limits[c])
		}
	}
	for _, row := range rows {
		line := ""
		for c, width := range widths {
			line += show.Pad(row[c], width) + "  "
		}
		b.WriteString(strings.TrimRight(plaintext.Value(line+row[4]), " ") + "\n")
	}
}

// short says in one line what matters most about a finding.
func (i item) short() string {
	text := i.Found
	if i.Witness != "" {
		text = i.Witness + " would become reachable"
	}
	return show.Clip(text, maxShort)
}

// word is what a finding comes to: refused, undecided, widened or a warning.
func (i item) word() string {
	if i.Widened {
		return "widened"
	}
	return verdictWord(i.Verdict)
}

func verdictWord(v sandbox.Verdict) string {
	if v == sandbox.Allow {
		return "warning"
	}
	return show.Verdict(v)
}

// block is one finding in full: what, found, required, remedy, and last the line
// that programs read, alone and after one space.
func block(i item, word string) string {
	page := show.NewPage(0, 0)
	head := word + ": " + i.Summary
	if i.Subject != "" {
		head = word + "  " + i.Subject + ": " + i.Summary
	}
	page.Line(head)
	inner := show.NewPage(2, 10)
	inner.Row("found", i.Found)
	inner.Row("required", i.Required)
	inner.Row("reaches", i.Witness)
	inner.Row("remedy", i.Remedy)
	inner.Row("because", i.because)
	if i.File != "" {
		inner.Row("written", fmt.Sprintf("%s line %d", i.File, i.Line))
	}
	locator := string(i.Code)
	if i.Path != "" {
		locator += " at " + i.Path
	}
	return page.String() + inner.String() + " " + plaintext.Value(locator) + "\n"
}

// sortFacts orders the rows by backend, each once.
func sortFacts(rows []factsRow) []factsRow {
	slices.SortFunc(rows, func(a, b factsRow) int { return strings.Compare(a.Backend+"\x00"+a.Source, b.Backend+"\x00"+b.Source) })
	return slices.Compact(rows)
}
