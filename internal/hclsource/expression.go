package hclsource

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// native returns an expression in HCL's own syntax. In JSON an expression is a
// string with a template in it; a literal string, an object or a list stays as it
// is, since hcl answers for those in both syntaxes. Nil stays nil.
func native(e hcl.Expression) hcl.Expression {
	if e == nil {
		return nil
	}
	if _, ok := e.(hclsyntax.Expression); ok {
		return e
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String || !strings.Contains(v.AsString(), "${") {
		return e
	}
	parsed, diags := hclsyntax.ParseTemplate([]byte(v.AsString()), e.Range().Filename, e.Range().Start)
	if diags.HasErrors() {
		return e
	}
	if wrap, ok := parsed.(*hclsyntax.TemplateWrapExpr); ok {
		return wrap.Wrapped
	}
	return parsed
}

// pairs are the items of an object expression, nil for any other.
func pairs(e hcl.Expression) []hcl.KeyValuePair {
	if e == nil {
		return nil
	}
	items, diags := hcl.ExprMap(e)
	if diags.HasErrors() {
		return nil
	}
	for i := range items {
		items[i].Value = native(items[i].Value)
	}
	return items
}

// literal is the text of a key or value that is written out: a bare word, or a
// string without anything to evaluate.
func literal(e hcl.Expression) (string, bool) {
	if e == nil {
		return "", false
	}
	if key, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok && key.ForceNonLiteral {
		e = key.Wrapped
	} else if word := hcl.ExprAsKeyword(e); word != "" {
		return word, true
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

// callOf is the name and the arguments of a function call.
func callOf(e hcl.Expression) (name string, arguments []hcl.Expression, ok bool) {
	f, ok := e.(*hclsyntax.FunctionCallExpr)
	if !ok {
		return "", nil, false
	}
	for _, argument := range f.Args {
		arguments = append(arguments, argument)
	}
	return f.Name, arguments, true
}

// step is one step of a traversal: a name, or any element.
type step struct {
	name string
	any  bool
}

// traversal is an expression as steps from a root name: local.a["b"].c, with
// any-steps for indexes that are not written out and for splats. It is not ok for
// anything else.
func traversal(e hcl.Expression) (steps []step, ok bool) {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return traversalSteps(e.Traversal), true
	case *hclsyntax.RelativeTraversalExpr:
		steps, ok = traversal(e.Source)
		return append(steps, traversalSteps(e.Traversal)...), ok
	case *hclsyntax.IndexExpr:
		steps, ok = traversal(e.Collection)
		if key, isLiteral := literal(e.Key); isLiteral && ok {
			return append(steps, step{name: key}), true
		}
		return append(steps, step{any: true}), ok
	case *hclsyntax.SplatExpr:
		steps, ok = traversal(e.Source)
		return append(steps, step{any: true}), ok
	case *hclsyntax.ParenthesesExpr:
		return traversal(e.Expression)
	default:
		return nil, false
	}
}

func traversalSteps(t hcl.Traversal) []step {
	steps := make([]step, 0, len(t))
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseRoot:
			steps = append(steps, step{name: s.Name})
		case hcl.TraverseAttr:
			steps = append(steps, step{name: s.Name})
		case hcl.TraverseIndex:
			if s.Key.Type() == cty.String {
				steps = append(steps, step{name: s.Key.AsString()})
				continue
			}
			steps = append(steps, step{any: true})
		default:
			steps = append(steps, step{any: true})
		}
	}
	return steps
}
