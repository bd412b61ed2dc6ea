package cli

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/planjson"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// checkManifest judges a manifest as a router would.
func checkManifest(b []byte, accept string, book factbook) (*report, error) {
	m, err := openManifest(b, accept)
	if err != nil {
		return nil, err
	}
	r := &report{Policies: len(m.Layers()), candidates: []candidate{candidateOf(m, b, "manifest", "")}}
	decisions, facts := decide(m, book)
	r.Facts = facts
	for _, d := range decisions {
		r.add(d.Workload, router.Subject(d.Workload), d.Backend, d.Decision)
	}
	return r, nil
}

// openManifest reads a manifest, after its digest where one is demanded.
func openManifest(b []byte, accept string) (manifest.Manifest, error) {
	if err := noPlan(b); err != nil {
		return manifest.Manifest{}, err
	}
	if accept != "" {
		want, err := manifest.ParseDigest(accept)
		if err != nil {
			return manifest.Manifest{}, inInput("--accept", err)
		}
		if have := manifest.DigestOf(b); have != want {
			return manifest.Manifest{}, sandbox.Finding{
				Code: sandbox.CodeDigestMismatch, Found: string(have), Required: string(want),
				Remedy: "get the manifest whose digest was pinned, or pin this one's after reading it",
			}.Refusal(nil)
		}
	}
	m, err := manifest.Parse(b)
	if err != nil {
		return m, &exit{ExitBadInput, err}
	}
	return m, nil
}

// noPlan refuses a plan where a document is wanted: read as one, it would be
// refused for each of its nulls.
func noPlan(b []byte) error {
	if !planjson.Looks(b[:min(len(b), headBytes)]) {
		return nil
	}
	return badInput("this is a plan, not a document; sandboxctl check judges plans, " +
		"and terraform output -raw prints a document")
}

// decide judges every workload of a manifest by the facts that are known.
func decide(m manifest.Manifest, book factbook) ([]router.WorkloadDecision, []factsRow) {
	backends := map[string]bool{}
	for _, spec := range m.Workloads {
		backends[spec.Backend] = true
	}
	declarations, rows := book.all(backends)
	decisions := router.Check(m, declarations)
	for _, d := range decisions {
		for i, f := range d.Findings {
			d.Findings[i] = book.advise(f)
		}
	}
	return decisions, rows
}
