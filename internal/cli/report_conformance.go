package cli

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// conformanceReport is what became of every probe, and what the backend declares.
type conformanceReport struct {
	backend  string
	suites   [][]conformance.Result
	tally    conformance.Tally
	declared sandbox.Declarations
}

func (a *app) printConformance(r conformanceReport, form string) (err error) {
	var text string
	switch form {
	case "json":
		text, err = r.json()
	case "junit":
		text, err = r.junit()
	case "markdown":
		text = r.markdown()
	default:
		text = r.text()
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err = fmt.Fprint(a.out, text)
	return err
}

func (r conformanceReport) head() string {
	word := "conforms"
	switch {
	case r.tally.Failed > 0:
		word = "does not conform"
	case r.tally.Passed == 0:
		word = "shows nothing"
	}
	return r.backend + " " + word + ": " + counts(r.tally)
}

// suiteColumn is as wide as the longest name of a suite, and two more.
const suiteColumn = 21

func (r conformanceReport) text() string {
	page := show.NewPage(0, suiteColumn)
	page.Line(r.head())
	page.Gap()
	for _, suite := range r.suites {
		page.Row(suite[0].Suite, counts(conformance.Count(suite)))
		for _, p := range suite {
			if p.Outcome.Failed() {
				page.Columns("  "+show.Pad(word(p.Outcome), suiteColumn-2), p.Probe)
				page.Row("", p.Detail)
			}
		}
		for _, s := range skips(suite) {
			page.Columns("  "+show.Pad("skipped", suiteColumn-2), s)
		}
	}
	page.Gap()
	return page.String() + factsText(r.declared, "as it was attacked")
}

func word(o conformance.Outcome) string { return strings.ReplaceAll(string(o), "_", " ") }

// skips folds what was skipped by its reason.
func skips(suite []conformance.Result) []string {
	var reasons []string
	by := map[string][]string{}
	for _, p := range suite {
		if p.Outcome != conformance.Skip {
			continue
		}
		if by[p.Detail] == nil {
			reasons = append(reasons, p.Detail)
		}
		by[p.Detail] = append(by[p.Detail], p.Probe)
	}
	for i, reason := range reasons {
		if probes := by[reason]; len(probes) < len(suite) {
			reasons[i] = reason + ": " + strings.Join(probes, ", ")
		}
	}
	return reasons
}

func (r conformanceReport) json() (string, error) {
	type probe struct {
		Name   string `json:"name"`
		Result string `json:"result"`
		Detail string `json:"detail"`
	}
	type suite struct {
		Name   string  `json:"name"`
		Probes []probe `json:"probes"`
	}
	facts, err := manifest.EncodeDeclarations(r.declared)
	if err != nil {
		return "", err
	}
	out := struct {
		Backend string         `json:"backend"`
		Suites  []suite        `json:"suites"`
		Passed  int            `json:"passed"`
		Failed  int            `json:"failed"`
		Skipped int            `json:"skipped"`
		Facts   jsontext.Value `json:"facts"`
	}{r.backend, []suite{}, r.tally.Passed, r.tally.Failed, r.tally.Skipped, facts}
	for _, s := range r.suites {
		one := suite{Name: s[0].Suite}
		for _, p := range s {
			one.Probes = append(one.Probes, probe{p.Probe, string(p.Outcome), sandbox.Text([]byte(p.Detail))})
		}
		out.Suites = append(out.Suites, one)
	}
	text, err := json.Marshal(out, json.Deterministic(true), jsontext.WithIndent("  "))
	return string(plaintext.JSON(text)) + "\n", err
}

// junitRun is several suites of JUnit; its facts are what one more suite says.
type junitRun struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

func (r conformanceReport) junit() (string, error) {
	run := junitRun{Name: "sandboxctl conformance " + plaintext.Value(r.backend)}
	for _, s := range r.suites {
		suite := junitSuite{Name: s[0].Suite}
		for _, p := range s {
			c := junitCase{Class: plaintext.Value(r.backend + "." + p.Suite), Name: p.Probe}
			m := junitMessage{Type: string(p.Outcome), Message: plaintext.Value(p.Detail)}
			suite.Tests++
			switch {
			case p.Outcome == conformance.Skip:
				suite.Skipped++
				c.Skipped = &m
			case p.Outcome.Failed():
				suite.Failures++
				c.Failures = []junitMessage{m}
			}
			suite.Cases = append(suite.Cases, c)
		}
		run.Tests += suite.Tests
		run.Failures += suite.Failures
		run.Skipped += suite.Skipped
		run.Suites = append(run.Suites, suite)
	}
	run.Suites = append(run.Suites, junitSuite{Name: "facts", Output: &junitText{Text: "\n" + factsText(r.declared, "as it was attacked")}})
	text, err := xml.MarshalIndent(run, "", "  ")
	return xml.Header + string(text) + "\n", err
}

func (r conformanceReport) markdown() string {
	var b strings.Builder
	b.WriteString("**" + escapeMarkdown(r.head()) + "**\n\n| suite | held | failed | skipped |\n|---|---:|---:|---:|\n")
	for _, s := range r.suites {
		t := conformance.Count(s)
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", show.Code(s[0].Suite), t.Passed, t.Failed, t.Skipped)
	}
	b.WriteString("\n")
	for _, s := range r.suites {
		for _, p := range s {
			if p.Outcome.Failed() {
				fmt.Fprintf(&b, "- **%s** %s: %s\n", escapeMarkdown(word(p.Outcome)), show.Code(p.Suite+"/"+p.Probe), escapeMarkdown(p.Detail))
			}
		}
	}
	for _, s := range r.suites {
		for _, reason := range skips(s) {
			fmt.Fprintf(&b, "- skipped %s: %s\n", show.Code(s[0].Suite), escapeMarkdown(reason))
		}
	}
	b.WriteString("\n<details><summary>what the backend declares</summary>\n\n```\n" +
		strings.ReplaceAll(factsText(r.declared, "as it was attacked"), "```", "'''") + "```\n\n</details>\n")
	return b.String()
}
