package acasegress

import (
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Relation says how what the service lets out stands to what was asked.
type Relation uint8

const (
	// Unclear: it cannot be told, or it is not what anybody here would have sent. It
	// is the zero value, and never taken for any other.
	Unclear Relation = iota
	// Equal: the same requests.
	Equal
	// Narrower: some of what was asked is not let out, and nothing else is.
	Narrower
	// Wider: something is or may be let out that was not asked for, whatever is not.
	Wider
)

var relations = [...]string{"unclear", "equal", "narrower", "wider"}

// String is the relation in a word.
func (r Relation) String() string {
	if int(r) < len(relations) {
		return relations[r]
	}
	return relations[Unclear]
}

// Comparison is what [Compare] found. The zero value is unclear.
type Comparison struct {
	Relation Relation
	// Opens is a request that may be let out and was not asked for, and Closes one
	// that was asked for and may not be let out; zero where there is none, or where
	// it would have taken too much work to find.
	Opens, Closes egress.Witness
	// Findings deny, one for each reason; there is none when the two are equal.
	Findings []sandbox.Finding
}

// Err is nil when the two are equal, and otherwise a refusal with the first finding.
// The zero value refuses.
func (c Comparison) Err() error {
	switch {
	case c.Relation == Equal && len(c.Findings) == 0:
		return nil
	case len(c.Findings) == 0:
		return unclear(nil, "nothing was compared", "").Refusal(nil)
	default:
		return c.Findings[0].Refusal(nil)
	}
}

// Compare holds what the service lets out against what was compiled: want is
// [Compiled.Means]. A reading that is not clear is never equal or narrower, even
// where its rules are those that were asked for; one that may let out more is wider.
func Compare(want *egress.Set, got Reading) Comparison {
	c := Comparison{Findings: append([]sandbox.Finding(nil), got.Findings()...)}
	wider, err := c.opens(want, got)
	narrower, errNarrower := c.closes(want, got)
	switch {
	case wider && err == nil:
		c.Relation = Wider
		c.Findings = append([]sandbox.Finding{differs("it lets out what was not asked for", c.Opens)}, c.Findings...)
	case err != nil || errNarrower != nil:
		f := unclear(sandbox.Path("egressPolicy"), "the policy could not be compared with the declared rules", "")
		f.Code = sandbox.CodeEgressTooComplex
		c.Findings = append(c.Findings, f)
	case len(c.Findings) > 0:
	case narrower:
		c.Relation = Narrower
		c.Findings = append(c.Findings, differs("it does not let out what was asked for, such as "+c.Closes.String(), egress.Witness{}))
	default:
		c.Relation = Equal
	}
	return c
}

func (c *Comparison) opens(want *egress.Set, got Reading) (bool, error) {
	if !got.read || got.open {
		c.Opens = outside(want)
		return true, nil
	}
	if set, ok := got.Set(); ok {
		w, within := set.Within(want)
		c.Opens = w
		return !within, nil
	}
	w, some, err := got.most.Minus(want.Region()).Witness()
	c.Opens = w
	return some, err
}

func (c *Comparison) closes(want *egress.Set, got Reading) (bool, error) {
	if set, ok := got.Set(); ok {
		w, within := want.Within(set)
		c.Closes = w
		return !within, nil
	}
	if got.open && got.Clear() {
		return false, nil // denials of an open policy are the wider one's least problem
	}
	w, some, err := want.Region().Minus(got.least).Witness()
	c.Closes = w
	return some, err
}

// outside is a request that the set does not admit, to a name that cannot exist.
func outside(want *egress.Set) egress.Witness {
	w := egress.Witness{Host: "any.host.invalid", Port: 443}
	for n := 1; ; n++ {
		if _, admitted := want.Match(w.Request()); !admitted {
			return w
		}
		w.Host = "any.host.invalid" + strconv.Itoa(n) // another top level each time
	}
}

func differs(found string, opens egress.Witness) sandbox.Finding {
	return sandbox.Finding{
		Code: sandbox.CodeServiceEgressDiffers, Path: sandbox.Path("egressPolicy"), Found: found,
		Required: "what was compiled of the declared rules", Witness: opens.String(),
		Remedy: "set the policy again from the declared rules, or make the sandbox again",
	}
}
