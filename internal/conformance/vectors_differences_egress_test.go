package conformance_test

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// entriesWhere covers a spec of which some entry is of a kind, where we answer
// one thing and the reference another.
func entriesWhere(is func(*entryIn) bool, agrees func(answer) bool) func(*vector, answer) bool {
	return func(v *vector, a answer) bool {
		var in allowIn
		return v.in(&in) == nil && agrees(a) && slices.ContainsFunc(in.Entries, func(e entryIn) bool { return is(&e) })
	}
}

// weAccept and weRefuse are the two ways to differ about an entry.
func weAccept(a answer) bool {
	return a.refusal == nil && strings.Contains(a.theirs, `"Refused":"ValueError"`)
}

func weRefuse(codes ...sandbox.Code) func(answer) bool {
	return func(a answer) bool {
		return a.refusal != nil && slices.Contains(codes, a.refusal.Code) && strings.Contains(a.theirs, `"Kept":"the same"`)
	}
}

// weNeedNot: accepted by both, and the reference derives a capability.
func weNeedNot(c sandbox.Capability) func(answer) bool {
	return func(a answer) bool {
		name := `"` + c.String() + `"`
		return a.refusal == nil && strings.Contains(a.theirs, name) && !strings.Contains(a.ours, name)
	}
}

func hasAuthority(e *entryIn) bool   { return e.Authority != nil }
func hasTrailingDot(e *entryIn) bool { return strings.HasSuffix(e.Host, ".") }
func hasAnyPath(e *entryIn) bool     { return slices.Equal(e.Paths, []string{"*"}) }
func hasRootPath(e *entryIn) bool {
	return slices.Contains(e.Paths, "/") || slices.Contains(e.Paths, "/*")
}
func hasAnyMethod(e *entryIn) bool { return slices.Equal(e.Methods, []string{"*"}) }

func isUnicode(e *entryIn) bool {
	return utf8.ValidString(e.Host) && strings.ContainsFunc(e.Host, func(r rune) bool { return r > 127 })
}

func isAddress(e *entryIn) bool {
	rule, findings := e.parse()
	return len(findings) == 0 && rule.Host().IsAddress()
}

// hasTwoReadings: a path that servers and proxies read differently.
func hasTwoReadings(e *entryIn) bool {
	return slices.ContainsFunc(e.Paths, func(p string) bool {
		return strings.Contains(p, "//") || strings.ContainsAny(p, ";%")
	})
}

// sameHostTwice covers entries that are each sound, two of them of one host.
func sameHostTwice(v *vector, a answer) bool {
	var in allowIn
	if v.in(&in) != nil || !weAccept(a) {
		return false
	}
	seen := map[string]bool{}
	for _, e := range in.Entries {
		rule, findings := e.parse()
		if len(findings) > 0 {
			return false
		}
		host := rule.Host().String()
		if seen[host] {
			return true
		}
		seen[host] = true
	}
	return false
}

func anyHost(*entryIn) bool { return true }

// hasOp covers an operation that we have nothing like.
func hasOp(ops ...string) func(*vector, answer) bool {
	return func(v *vector, _ answer) bool { return slices.Contains(ops, v.op) }
}
