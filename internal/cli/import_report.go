package cli

import (
	"fmt"
	"io"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/adopt"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
)

// importReport tells what was written, and what was not.
type importReport struct {
	app      *app
	adoption *adopt.Adoption
	// of is the group that was asked, nil where nobody was.
	of *reached
	// file is where the HCL is, empty where it goes to standard output.
	file string
}

// importDocument is the report as JSON.
type importDocument struct {
	*target

	File      string          `json:"file,omitempty"`
	HCL       string          `json:"hcl,omitempty"`
	Imports   []importedRow   `json:"imports"`
	Variables []string        `json:"variables"`
	Forgotten []string        `json:"forgotten"`
	Left      []leftRow       `json:"left"`
	Findings  []importFinding `json:"findings"`
}

type importedRow struct {
	Address string `json:"address"`
	ID      string `json:"id"`
	Was     string `json:"was,omitempty"`
}

type leftRow struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	What string `json:"what,omitempty"`
	Why  string `json:"why"`
}

type importFinding struct {
	About string `json:"about"`
	Text  string `json:"text"`
}

func (r *importReport) document() importDocument {
	d := importDocument{
		File: r.file, Imports: []importedRow{}, Variables: listOf(r.adoption.Variables), Forgotten: listOf(r.adoption.Forgotten),
		Left: []leftRow{}, Findings: []importFinding{},
	}
	if r.of != nil {
		of := r.of.target()
		d.target = &of
	}
	if r.file == "" {
		d.HCL = string(r.adoption.HCL)
	}
	for _, o := range r.adoption.Objects {
		d.Imports = append(d.Imports, importedRow(o))
	}
	for _, l := range r.adoption.Left {
		d.Left = append(d.Left, leftRow{l.Kind, l.Name, l.What, l.Why})
	}
	for _, f := range r.adoption.Findings {
		d.Findings = append(d.Findings, importFinding(f))
	}
	return d
}

func (r *importReport) print() error {
	if r.app.format == "json" {
		return r.app.printJSON(r.document())
	}
	to := io.Writer(r.app.out)
	if r.file == "" {
		// The HCL escapes whatever a service can put into it.
		if _, err := r.app.out.Write(r.adoption.HCL); err != nil {
			return fmt.Errorf("write the HCL: %w", err)
		}
		to = r.app.errs
	}
	_, err := io.WriteString(to, r.text())
	return err
}

// text is the report for people.
func (r *importReport) text() string {
	page := show.NewPage(0, 12)
	if r.of != nil {
		page.Line(r.of.place())
		page.Gap()
	}
	page.Line(r.sum())
	if r.file != "" {
		page.Row("written to", r.file)
	}
	for _, name := range r.adoption.Variables {
		page.Row("asks for", "var."+name)
	}
	for _, f := range r.adoption.Findings {
		page.Row("note", f.About+": "+f.Text)
	}
	for i, l := range r.adoption.Left {
		page.Row("no resource", l.Kind+" "+l.Name+"  "+l.What)
		if next := i + 1; next == len(r.adoption.Left) || r.adoption.Left[next].Kind != l.Kind || r.adoption.Left[next].Why != l.Why {
			page.Row("", l.Why)
		}
	}
	page.Gap()
	page.Line("Run terraform plan: it has to import " + show.Plural(len(r.adoption.Objects), "object") + " and to add, change and destroy none.")
	return page.String()
}

func (r *importReport) sum() string {
	text := show.Plural(len(r.adoption.Objects), "object") + " to import"
	if n := len(r.adoption.Forgotten); n > 0 {
		text += ", " + show.Plural(n, "resource") + " of others to let go of"
	}
	if n := len(r.adoption.Left); n > 0 {
		text += ", " + show.Count(int64(n)) + " without a resource here"
	}
	return text
}
