package show

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	labelColumn = 12
	// maxRules is how many rules of one policy or workload a screen shows.
	maxRules = 12
)

// Text is the posture on one screen. Everything in it went through package
// plaintext.
func (p Posture) Text() string {
	page := NewPage(0, labelColumn)
	page.Row("manifest", string(p.Digest))
	if p.Generation > 0 {
		page.Row("generation", strconv.FormatInt(p.Generation, 10))
	}
	page.Row("in force", strings.Join(p.Policies, ", "))
	if p.Group != nil {
		page.Row("group", p.Group.ID)
	}
	page.Gap()
	p.demandRows(page)
	p.egressRows(page)
	p.limitRows(page)
	page.Gap()
	page.Line(p.tally())
	for _, w := range p.Workloads {
		page.Gap()
		w.rows(page, p.Backends[w.Backend])
	}
	return page.String()
}

func (p Posture) demandRows(page *Page) {
	by := "the default, since no policy states one"
	if len(p.Floor.SetBy) > 0 {
		by = "set by " + strings.Join(p.Floor.SetBy, ", ")
	}
	page.Row("floor", p.Floor.Isolation+" or stronger, "+by)
	evidence := p.Floor.Evidence
	if evidence == sandbox.EvidenceDocumented.String() {
		evidence += " or probed"
	}
	page.Row("evidence", evidence+"; emulated never counts")
	sharing := "one sandbox a conversation"
	if p.Floor.Scope == sandbox.ScopeCall.String() {
		sharing = "one sandbox a call"
	}
	if p.Floor.Cleanup != "" {
		sharing += "; cleaned up by " + p.Floor.Cleanup + " or stricter"
	}
	page.Row("sharing", sharing)
	denied := []string{"capabilities " + orNone(p.Denied.Capabilities), "identities " + orNone(p.Denied.Identities)}
	if p.Denied.AttachedIdentity == sandbox.IdentityScopeNone.String() {
		denied = append(denied, "any attached identity")
	} else {
		denied = append(denied, "attached identities shared wider than "+p.Denied.AttachedIdentity)
	}
	page.Row("denied", strings.Join(denied, "; "))
}

func orNone(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

func (p Posture) egressRows(page *Page) {
	if len(p.Egress) == 0 {
		page.Row("egress", "closed: no policy opens the network")
	}
	for i, bound := range p.Egress {
		label := "egress"
		if i > 0 {
			label = "and"
		}
		text := "at most " + bound.Mode + ", by " + bound.Policy
		if bound.Match == sandbox.EgressMatchAtLeast.String() {
			text += "; a backend may confine more than asked"
		}
		page.Row(label, text)
		page.List("", bound.Rules, maxRules)
	}
	page.Row("never", strings.Join(p.NeverReaches, ", "))
	missing := "what a backend leaves open around a mode is a warning"
	if p.MissingGuarantees == sandbox.MissingGuaranteesRefuse.String() {
		missing = "what a backend leaves open around a mode refuses the workload"
	}
	if len(p.Guarantees) > 0 {
		missing = strings.Join(p.Guarantees, ", ") + " of every backend; " + missing
	}
	page.Row("guarantees", missing)
	for _, backend := range slices.Sorted(maps.Keys(p.Relied)) {
		page.Row("relied on", backend+": "+strings.Join(p.Relied[backend], ", "))
	}
}

func (p Posture) limitRows(page *Page) {
	switch {
	case p.FilesIn == nil && p.FilesOut == nil:
		page.Row("limits", "as each backend's own")
	default:
		page.Row("limits", "in:  "+limitsOrBackend(p.FilesIn))
		page.Row("", "out: "+limitsOrBackend(p.FilesOut))
	}
	var images []string
	for _, registries := range p.Images.Registries {
		if len(registries) == 0 {
			images = append(images, "from no registry")
			continue
		}
		images = append(images, "from "+strings.Join(registries, ", "))
	}
	if p.Images.RequireDigest {
		images = append(images, "pinned by digest")
	}
	if p.Images.User != sandbox.ImageUserAny.String() {
		images = append(images, "user "+p.Images.User)
	}
	if p.Images.Prebuilt == sandbox.PrebuiltDeny.String() {
		images = append(images, "no prebuilt ones")
	}
	if len(images) == 0 {
		images = append(images, "any")
	}
	page.Row("images", strings.Join(images, "; "))
}

func limitsOrBackend(l *sandbox.TransferLimits) string {
	if l == nil {
		return "as each backend's own"
	}
	return Limits(*l)
}

// tally counts the answers.
func (p Posture) tally() string {
	counts := map[sandbox.Verdict]int{}
	for _, w := range p.Workloads {
		counts[w.Decision.Verdict]++
	}
	var parts []string
	for _, v := range []sandbox.Verdict{sandbox.Allow, sandbox.Deny, sandbox.Undecided} {
		if counts[v] > 0 {
			parts = append(parts, strconv.Itoa(counts[v])+" "+Verdict(v))
		}
	}
	return Plural(len(p.Workloads), "workload") + ": " + strings.Join(parts, ", ")
}

func (w Workload) rows(page *Page, b BackendInPosture) {
	backend := w.Backend + ", which nobody has declared"
	if b.Isolation != "" {
		backend = w.Backend + ": " + b.Isolation + ", " + b.Evidence + " (" + b.Facts + ")"
	}
	page.Line(Verdict(w.Decision.Verdict) + "  " + w.Name)
	inner := NewPage(2, labelColumn-2)
	inner.Row("kind", w.Kind)
	inner.Row("backend", backend)
	inner.Row("floor", w.Floor)
	inner.Row("image", w.Image)
	inner.Row("requires", orNone(w.Requires))
	inner.Row("egress", w.Mode)
	inner.List("", w.Rules, maxRules)
	inner.List("outputs", w.Outputs, maxRules)
	if w.FilesIn != nil {
		inner.Row("files in", Limits(*w.FilesIn))
	}
	if w.FilesOut != nil {
		inner.Row("files out", Limits(*w.FilesOut))
	}
	for _, f := range w.Decision.Findings {
		label := "refused"
		switch f.Verdict {
		case sandbox.Allow:
			label = "warning"
		case sandbox.Undecided:
			label = "waits"
		default:
		}
		inner.Row(label, f.Locator()+": "+f.Found)
	}
	page.b.WriteString(inner.String())
}
