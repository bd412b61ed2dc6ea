// Package facts says what the shipped backends declare of themselves, as data,
// so that a plan can decide without a backend, an engine or a network. It never
// probes anything; facts that were probed on a machine reach a plan through the
// backend_facts attribute, and each backend's own tests hold its declarations to
// what stands here.
//
// Read [Lookup] first, then shipped.go, which has one function a backend. A
// claim whose ground is not written down there is not made.
package facts

import (
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Names lists the shipped backends, sorted.
func Names() []string {
	names := make([]string, len(shipped))
	for i := range shipped {
		names[i] = shipped[i].name
	}
	return names
}

// All returns what each shipped backend declares, in the order of [Names] and a
// fresh copy each time.
func All() []sandbox.Declarations {
	all := make([]sandbox.Declarations, len(shipped))
	for i := range shipped {
		all[i] = shipped[i].declare()
	}
	return all
}

// Lookup returns what the named backend declares, and a fresh copy each time. An
// unknown name is a [sandbox.Refusal] with [sandbox.CodeBackendUnknown] and no
// path; it names the nearest shipped backend.
func Lookup(name string) (sandbox.Declarations, error) {
	for i := range shipped {
		if shipped[i].name == name {
			return shipped[i].declare(), nil
		}
	}
	remedy := "name a shipped backend, or give its probed facts in backend_facts"
	if near, ok := Nearest(name, Names()); ok {
		remedy = "write " + strconv.Quote(near) + ", or give the facts of another backend in backend_facts"
	}
	return sandbox.Declarations{}, sandbox.Finding{
		Code:     sandbox.CodeBackendUnknown,
		Found:    "backend " + sandbox.Echo(name),
		Required: "one of " + strings.Join(Names(), ", "),
		Remedy:   remedy,
	}.Refusal(nil)
}

// Summary describes the named backend in one sentence, for docs; it is empty for
// a backend that is not shipped.
func Summary(name string) string {
	for i := range shipped {
		if shipped[i].name == name {
			return shipped[i].summary
		}
	}
	return ""
}

// Nearest returns the word that is closest to what was written, and whether it
// is close enough to have been meant: at most one edit for every three letters.
// Case and the choice between hyphen and underscore do not count as edits.
func Nearest(written string, words []string) (string, bool) {
	const longest = 64
	if written == "" || len(written) > longest {
		return "", false
	}
	fold := strings.NewReplacer("-", "_", " ", "_")
	folded := fold.Replace(strings.ToLower(strings.TrimSpace(written)))
	best, least := "", len(folded)/3+1
	for _, word := range words {
		if d := distance(folded, fold.Replace(word)); d < least {
			best, least = word, d
		}
	}
	return best, best != ""
}

// distance counts insertions, deletions, replacements and swaps of neighbours
// between two short words.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Ideal returns declarations that no check of the decision fails, for a workload
// whose backend is not known yet: what is refused under them is refused on every
// backend. They are never anything's real declarations.
func Ideal(spec sandbox.Spec) sandbox.Declarations {
	everything := sandbox.SetOf(sandbox.Capabilities()...)
	unlimited := sandbox.TransferLimits{
		MaxBytesPerFile: sandbox.MaxDocumentInteger,
		MaxTotalBytes:   sandbox.MaxDocumentInteger,
		MaxFiles:        sandbox.MaxDocumentInteger,
	}
	shown := sandbox.Evidence{Kind: sandbox.EvidenceProbed}
	guarantees := make(map[sandbox.Guarantee]sandbox.Evidence)
	for _, g := range sandbox.Guarantees() {
		guarantees[g] = shown
	}
	rungs := sandbox.Isolations()
	return sandbox.Declarations{
		Backend:           "any",
		Isolation:         rungs[len(rungs)-1],
		IsolationEvidence: shown,
		Capabilities:      &everything,
		FilesIn:           &unlimited,
		FilesOut:          &unlimited,
		EgressModes:       sandbox.SetOf(sandbox.EgressModes()...),
		Guarantees:        guarantees,
		ImageSources:      sandbox.SetOf(sandbox.ImageSources()...),
		OSFamilies:        sandbox.SetOf(sandbox.OSFamilies()...),
		IsolationScopes:   sandbox.SetOf(sandbox.IsolationScopes()...),
		ProgramChannels: []sandbox.ProgramChannel{
			{Name: "any", Profiles: []string{spec.ProgramProfile}, HostTools: true},
		},
		WriteAuthority: sandbox.WriteAuthorityGuest,
	}
}
