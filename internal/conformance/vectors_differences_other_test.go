package conformance_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// stricter covers what we refuse with one of the codes and the reference lets
// through, for now or for good.
func stricter(codes ...sandbox.Code) func(*vector, answer) bool {
	return func(_ *vector, a answer) bool {
		return a.theirs == "ok" && a.refusal != nil && slices.Contains(codes, a.refusal.Code)
	}
}

// older covers what an older release does.
func older(covers func(*vector, answer) bool) func(*vector, answer) bool {
	return func(v *vector, a answer) bool { return v.Oracle != newest && covers(v, a) }
}

// ofType covers records or words of the reference's that we have none of.
func ofType(names ...string) func(*vector, answer) bool {
	return func(v *vector, a answer) bool {
		var in typeIn
		return strings.HasPrefix(a.ours, "no such") && v.in(&in) == nil && slices.Contains(names, in.Type)
	}
}

// either covers what one of several does.
func either(covers ...func(*vector, answer) bool) func(*vector, answer) bool {
	return func(v *vector, a answer) bool {
		return slices.ContainsFunc(covers, func(c func(*vector, answer) bool) bool { return c(v, a) })
	}
}

// dynamic covers what Go's types rule out: a value of another type, a field that
// does not exist, one that is missing.
func dynamic(_ *vector, a answer) bool {
	return a.theirs == "TypeError" || strings.HasPrefix(a.ours, "not typed")
}

// nullField covers a null in place of a word: Go's zero value is the default.
func nullField(names ...string) func(*vector, answer) bool {
	return func(v *vector, a answer) bool {
		var in typeIn
		return a.theirs == "ValueError" && v.in(&in) == nil && slices.ContainsFunc(names, func(name string) bool {
			return string(in.Fields[name]) == "null"
		})
	}
}

// zeroField covers a zero in place of nothing: Go's zero value states nothing.
func zeroField(names ...string) func(*vector, answer) bool {
	return func(v *vector, a answer) bool {
		var in typeIn
		return a.theirs == "ValueError" && a.ours == "ok" && v.in(&in) == nil && slices.ContainsFunc(names, func(name string) bool {
			return string(in.Fields[name]) == "0"
		})
	}
}

// withField covers a record that states a field which ours does not have.
func withField(name string) func(*vector, answer) bool {
	return func(v *vector, a answer) bool {
		var in typeIn
		return a.ours == "ok" && v.in(&in) == nil && in.Fields[name] != nil
	}
}

// misshapenBackends covers a router over backends that only Python can have.
func misshapenBackends(v *vector, _ answer) bool {
	var in selectionIn
	return v.in(&in) == nil && slices.ContainsFunc(in.Backends, func(b backendIn) bool {
		return b.misshapen() || b.Purge.Foreign != "" || b.Purge.BareInt
	})
}

// unknownSelection covers what is wrong with how backends are selected.
func unknownSelection(v *vector, a answer) bool {
	var in selectionIn
	if v.in(&in) != nil || in.Selection == "" || !strings.Contains(a.theirs, `"Error":"ValueError"`) {
		return false
	}
	return in.Selection != "fixed" && (in.Selection != "per_spec" || in.Selected != nil)
}

// unknownRungOfOne covers a rung that is none on a backend.
func unknownRungOfOne(_ *vector, a answer) bool {
	return strings.Contains(a.ours, `"Error":"ValueError"`) && strings.Contains(a.theirs, `"Error":"SandboxBackendNotPermitted"`)
}

// withoutBackends covers a router that has none.
func withoutBackends(v *vector, _ answer) bool {
	var in selectionIn
	return v.in(&in) == nil && len(in.Backends) == 0
}

// silentDisposal covers a release whose disposal told only a count.
func silentDisposal(v *vector, a answer) bool {
	return firstEra(v.Oracle) && strings.Replace(a.ours, `"Undisposed":"unknown"`, `"Undisposed":""`, 1) == a.theirs
}

// misshapenDeclarations covers what only Python can declare.
func misshapenDeclarations(v *vector, a answer) bool {
	var in declarationsIn
	return v.in(&in) == nil && (in.misshapen() || in.Of == "os_families" || in.Superseded != "" && strings.Contains(a.theirs, `"construct/error"`))
}

// exceptProbe covers declarations whose probes differ in one alone.
func exceptProbe(name string) func(*vector, answer) bool {
	return func(_ *vector, a answer) bool {
		var ours, theirs probes
		if json.Unmarshal([]byte(a.ours), &ours) != nil || json.Unmarshal([]byte(a.theirs), &theirs) != nil {
			return false
		}
		delete(ours, name)
		delete(theirs, name)
		return maps.Equal(ours, theirs)
	}
}

func isShipped(v *vector, _ answer) bool {
	var in struct{ Shipped string }
	return v.in(&in) == nil && in.Shipped != ""
}
