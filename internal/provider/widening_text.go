package provider

import (
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// guardAttributes are the attributes by which an object guards against its own
// widening.
func guardAttributes(noun string) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"on_widening": textAttribute("What becomes of a change through which the " + noun + " would permit more than the state says it did, one of " +
			anyOf(sandbox.OnWidenings()) + ". `warn` when unset. The stricter of the earlier and the planned setting counts, and loosening it is such a change itself. " +
			"Removing a denial, a floor or an assertion is one too, also where only the default is no longer spelt out: another policy or a workload may state less. " +
			"It compares with the state, so a new " + noun + ", also one under a new name without a `moved` block, has nothing to be compared with. " +
			"It is a guard rail against oversight; what must hold against a hostile change is checked from outside, against a trusted copy."),
		"accept_widening": textAttribute("The one change that `on_widening = \"refuse\"` lets through, as the refusal prints it: the SHA-256 over the earlier and the next " + noun +
			". It accepts exactly that change. It may stay afterwards, since it is compared only when something widens."),
	}
}

// refusals are the errors.
func (w widening) refusals() diag.Diagnostics {
	diags := refusals(w.baseline)
	for _, s := range w.subjects {
		if s.verdict() == sandbox.Deny {
			f := s.finding()
			diags.Append(placed(f.Path, diag.NewErrorDiagnostic(s.noun+" reaches more than before", s.detail(f))))
		}
	}
	return diags
}

// settled are the errors of an apply, where what is still undecided is refused.
func (w widening) settled() diag.Diagnostics {
	for i, s := range w.subjects {
		if s.verdict() == sandbox.Undecided {
			w.subjects[i].acceptances = nil
		}
	}
	return w.refusals()
}

// warnings are the widenings that are let through, one a subject.
func (w widening) warnings() diag.Diagnostics {
	diags := warnings(w.baseline, w.about)
	for _, s := range w.subjects {
		if s.rule == sandbox.OnWideningAllow || len(s.moved.Widenings()) == 0 || s.verdict() == sandbox.Deny {
			continue
		}
		f := s.finding()
		summary := s.noun + " reaches more than before"
		summary += " (" + clip(s.about, maxSummary-utf8.RuneCountInString(summary)-len(" ()")) + ")"
		diags.Append(placed(f.Path, diag.NewWarningDiagnostic(summary, s.detail(f))))
	}
	return diags
}

// finding is the first widening as the locator's carrier.
func (s subject) finding() sandbox.Finding {
	first := s.moved.Widenings()[0]
	return sandbox.Finding{Code: sandbox.CodePostureWidened, Path: s.at.Append(first.Path...)}
}

// detail lists every widened axis with its witness, says what did not move, and
// ends with the edit that accepts the change and the locator, each alone on a
// line that Terraform does not wrap.
func (s subject) detail(f sandbox.Finding) string {
	var b strings.Builder
	b.WriteString(sentence(s.about, ' ') + "would permit what it did not before:\n")
	for _, c := range s.moved.Widenings() {
		b.WriteString("- " + oneLine(c.String()) + "\n")
	}
	if rest := s.rest(); rest != "" {
		b.WriteString("\n" + rest + "\n")
	}
	b.WriteString("\n" + s.remedy() + "\n " + f.Locator())
	return b.String()
}

// rest says what narrowed, what is not known and what did not move.
func (s subject) rest() string {
	var sentences, narrowed, open []string
	for _, c := range s.moved.Changes {
		if c.Change == policy.Narrowed {
			narrowed = append(narrowed, c.Axis)
		}
	}
	for _, path := range s.moved.Undecided {
		open = append(open, path.String())
	}
	if len(narrowed) > 0 {
		sentences = append(sentences, "Narrowed: "+series(narrowed)+".")
	}
	if len(open) > 0 {
		sentences = append(sentences, "Not known yet: "+oneLine(series(open))+".")
	}
	if same := s.moved.Unchanged; len(same) > 0 {
		verb := " are unchanged."
		if len(same) == 1 {
			verb = " is unchanged."
		}
		sentences = append(sentences, sentence(series(same)+verb, '.'))
	}
	return strings.Join(sentences, " ")
}

// remedy says what to do about it.
func (s subject) remedy() string {
	switch {
	case s.accepted():
		return "accept_widening accepts exactly this change."
	case s.rule != sandbox.OnWideningRefuse:
		return "It is let through: on_widening is \"warn\". With \"refuse\" such a change must be accepted by its digest."
	case s.verdict() == sandbox.Undecided:
		return "Whether accept_widening accepts it is decided when everything is known."
	case len(s.acceptances) == 0 || s.acceptances[0].change == "":
		return "It can be accepted by its digest, which follows from values that are not known yet. Apply first what they come from."
	}
	return "To accept exactly this change, add:\n accept_widening = \"" + string(s.acceptances[0].change) + "\""
}

// series joins words as people do.
func series(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
