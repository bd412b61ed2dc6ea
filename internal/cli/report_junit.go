package cli

import (
	"encoding/xml"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// junitSuites is the JUnit form that CI systems read: one case a workload, and one
// for each finding and problem that is about none.
type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Name    string     `xml:"name,attr"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr,omitempty"`
	Cases    []junitCase `xml:"testcase"`
	Output   *junitText  `xml:"system-out"`
}

// junitCase fails where something is refused or widened, is in error where there
// is no answer, and says its warnings in its output.
type junitCase struct {
	Class    string         `xml:"classname,attr"`
	Name     string         `xml:"name,attr"`
	File     string         `xml:"file,attr,omitempty"`
	Line     int            `xml:"line,attr,omitempty"`
	Failures []junitMessage `xml:"failure"`
	Errors   []junitMessage `xml:"error"`
	Skipped  *junitMessage  `xml:"skipped"`
	Output   *junitText     `xml:"system-out"`
}

// junitText keeps its lines.
type junitText struct {
	Text string `xml:",cdata"`
}

type junitMessage struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

func (a *app) printJUnit(r *report) error {
	text, err := xml.MarshalIndent(r.junit(), "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err = fmt.Fprintf(a.out, "%s%s\n", xml.Header, text)
	return err
}

func (r *report) junit() junitSuites {
	suite := junitSuite{Name: plaintext.Value(r.head())}
	cases := map[string]int{}
	caseOf := func(class, name string) *junitCase {
		key := class + "\x00" + name
		n, ok := cases[key]
		if !ok {
			n = len(suite.Cases)
			cases[key] = n
			suite.Cases = append(suite.Cases, junitCase{Class: plaintext.Value(class), Name: plaintext.Value(name)})
		}
		return &suite.Cases[n]
	}
	backends := map[string]string{}
	for _, w := range r.Workloads {
		backends[w.Name] = "workload." + w.Backend
		c := caseOf(backends[w.Name], w.Name)
		if w.Verdict != sandbox.Allow && !r.explains(w.Name) {
			c.Failures = append(c.Failures, junitMessage{Type: verdictWord(w.Verdict), Message: verdictWord(w.Verdict)})
		}
	}
	for _, i := range r.Findings {
		class, ok := backends[i.Name]
		if !ok {
			class = "policy"
		}
		caseOf(class, i.Name).take(i)
	}
	for _, problem := range r.Problems {
		c := caseOf("check", "answer")
		c.Errors = append(c.Errors, junitMessage{Type: "no answer", Message: plaintext.Value(problem)})
	}
	for _, c := range suite.Cases {
		suite.Tests++
		suite.Failures += min(len(c.Failures), 1)
		if len(c.Failures) == 0 {
			suite.Errors += min(len(c.Errors), 1)
		}
	}
	return junitSuites{Name: "sandboxctl check", Suite: suite}
}

// explains reports whether some finding is about a workload.
func (r *report) explains(name string) bool {
	for _, i := range r.Findings {
		if i.Name == name && i.Verdict != sandbox.Allow {
			return true
		}
	}
	return false
}

func (c *junitCase) take(i item) {
	if i.span.File != "" && c.File == "" {
		c.File, c.Line = plaintext.Value(i.span.File), i.Line
	}
	m := junitMessage{Type: string(i.Code), Message: plaintext.Value(i.Summary + ": " + i.short()), Text: "\n" + block(i, i.word())}
	switch {
	case i.Verdict == sandbox.Deny, i.Widened:
		c.Failures = append(c.Failures, m)
	case i.Verdict == sandbox.Undecided:
		c.Errors = append(c.Errors, m)
	default:
		if c.Output == nil {
			c.Output = &junitText{}
		}
		c.Output.Text += "\n" + block(i, i.word())
	}
}
