package cli

import (
	"maps"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// factbook is what backends are judged by: files that were given, else what is
// shipped.
type factbook struct {
	given map[string]sandbox.Declarations
	files map[string]string
}

const shippedFacts = "shipped facts"

// readFactbook reads backend documents, at most one a backend.
func (a *app) readFactbook(files []string) (factbook, error) {
	book := factbook{given: map[string]sandbox.Declarations{}, files: map[string]string{}}
	for _, file := range files {
		b, err := a.readFile(file, manifest.MaxDocument)
		if err != nil {
			return book, err
		}
		d, err := manifest.ParseDeclarations(b)
		if err != nil {
			return book, inInput("--facts "+file, &exit{ExitBadInput, err})
		}
		if other, twice := book.files[d.Backend]; twice {
			return book, badInput("--facts: %s and %s are both about backend %s; give one of them",
				sandbox.Echo(other), sandbox.Echo(file), sandbox.Echo(d.Backend))
		}
		book.given[d.Backend], book.files[d.Backend] = d, file
	}
	return book, nil
}

// lookup returns what a backend declares and where that stands. text, when not
// empty, is facts that came with the workload; files that were given replace
// them.
func (f factbook) lookup(backend, text string) (d sandbox.Declarations, source string, err error) {
	if d, ok := f.given[backend]; ok {
		return d, "facts of " + f.files[backend], nil
	}
	if text != "" {
		d, err := manifest.ParseDeclarations([]byte(text))
		if err == nil && d.Backend != backend {
			err = sandbox.Finding{
				Code: sandbox.CodeBackendNotPermitted, Path: sandbox.Path("backend_facts"),
				Found: "facts of backend " + sandbox.Echo(d.Backend), Required: "facts of backend " + sandbox.Echo(backend),
				Remedy: "give the facts of the backend that the workload names",
			}.Refusal(nil)
		}
		return d, "facts of its own", err
	}
	d, err = facts.Lookup(backend)
	return d, shippedFacts, err
}

// advise says of a backend that was judged by shipped facts, and not by those that
// the plan had, how to give them.
func (f factbook) advise(found sandbox.Finding) sandbox.Finding {
	if backend, ok := policy.IsReliedOn(found); ok && f.files[backend] == "" {
		found.Remedy = "give the facts that the plan had: --facts FILE"
	}
	return found
}

// own takes up the facts that came with a workload; files that were given outrank
// them.
func (f factbook) own(backend, text string) error {
	if text == "" {
		return nil
	}
	d, source, err := f.lookup(backend, text)
	if err != nil {
		return err
	}
	f.given[backend], f.files[backend] = d, source
	return nil
}

// known is every backend's declarations.
func (f factbook) known() []sandbox.Declarations {
	known, _ := f.all(nil)
	return known
}

// all returns every backend's declarations, and a row for each of those that are
// asked for and known.
func (f factbook) all(asked map[string]bool) (known []sandbox.Declarations, rows []factsRow) {
	names := slices.Concat(facts.Names(), slices.Collect(maps.Keys(f.given)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		d, source, err := f.lookup(name, "")
		if err != nil {
			continue
		}
		known = append(known, d)
		if asked[name] {
			rows = append(rows, factsRow{name, source})
		}
	}
	return known, rows
}
