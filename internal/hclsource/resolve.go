package hclsource

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// resolve gives the expressions that a traversal may stand for. A reference to a
// resource or a data source gives none: what is written there is checked there.
func (t *tracer) resolve(steps []step, in scope, depth int) []place {
	if t.steps++; len(steps) == 0 || depth > maxTraceDepth || t.steps > maxTraceSteps {
		return nil
	}
	root, rest := steps[0].name, steps[1:]
	if b, ok := in.vars[root]; ok {
		return t.find(place{b.collection, *b.in}, append([]step{{any: true}}, rest...), depth+1)
	}
	if len(rest) == 0 {
		return nil
	}
	switch name, below := rest[0].name, rest[1:]; root {
	case "local":
		return t.find(place{in.m.locals[name], scope{m: in.m}}, below, depth+1)
	case "var":
		return t.findAll(t.given(in.m, name), below, depth+1)
	case "each":
		if name == "value" {
			return t.find(place{in.forEach, scope{m: in.m}}, append([]step{{any: true}}, below...), depth+1)
		}
	case "module":
		return t.output(in.m.calls[name], below, depth+1)
	}
	return nil
}

// given are the expressions that a variable may have: its default, and what each
// call of its module passes.
func (t *tracer) given(m *module, name string) []place {
	var places []place
	if v, ok := m.variables[name]; ok && v.fallback != nil {
		places = append(places, place{v.fallback, scope{m: m}})
	}
	for _, dir := range t.config.Dirs {
		caller := t.config.modules[dir]
		for _, call := range sortedKeys(caller.calls) {
			c := caller.calls[call]
			if c.target == m && c.arguments[name] != nil {
				places = append(places, place{c.arguments[name], scope{m: caller, forEach: c.forEach}})
			}
		}
	}
	return places
}

// output is what a module's output may be. A step that picks one of several
// instances is passed over.
func (t *tracer) output(c *call, steps []step, depth int) []place {
	if c == nil || c.target == nil || len(steps) == 0 {
		return nil
	}
	if _, ok := c.target.outputs[steps[0].name]; (!ok || steps[0].any) && len(steps) > 1 {
		steps = steps[1:]
	}
	return t.find(place{c.target.outputs[steps[0].name], scope{m: c.target}}, steps[1:], depth+1)
}

func (t *tracer) findAll(places []place, steps []step, depth int) []place {
	var all []place
	for _, p := range places {
		all = append(all, t.find(p, steps, depth)...)
	}
	return all
}

// find descends into an expression by steps.
func (t *tracer) find(p place, steps []step, depth int) []place {
	if t.steps++; p.e == nil || depth > maxTraceDepth || t.steps > maxTraceSteps {
		return nil
	}
	if len(steps) == 0 {
		return []place{p}
	}
	if items := pairs(p.e); items != nil {
		var all []place
		for _, item := range items {
			key, isLiteral := literal(item.Key)
			if steps[0].any || !isLiteral || key == steps[0].name {
				all = append(all, t.find(place{item.Value, p.in}, steps[1:], depth+1)...)
			}
		}
		return all
	}
	if f, ok := p.e.(*hclsyntax.ForExpr); ok {
		return t.find(place{f.ValExpr, p.in.with(f)}, steps[1:], depth+1)
	}
	if tuple, ok := p.e.(*hclsyntax.TupleConsExpr); ok {
		var all []place
		for _, element := range tuple.Exprs {
			all = append(all, t.find(place{element, p.in}, steps[1:], depth+1)...)
		}
		return all
	}
	if branches, ok := branchesOf(p.e); ok {
		var all []place
		for _, branch := range branches {
			all = append(all, t.find(place{branch, p.in}, steps, depth+1)...)
		}
		return all
	}
	if inner, ok := traversal(p.e); ok {
		return t.resolve(append(inner, steps...), p.in, depth+1)
	}
	return nil
}

// checkType holds the type of a variable to a shape. A name in the type that the
// shape does not have is a typo; a name that a caller passes and the type does
// not have is dropped on the way.
func (t *tracer) checkType(steps []step, s *shape, in scope, path sandbox.FieldPath) {
	if len(steps) < 2 || steps[0].name != "var" {
		return
	}
	v, ok := in.m.variables[steps[1].name]
	if !ok || v.constraint == nil {
		return
	}
	constraint := typeAt(v.constraint, steps[2:])
	if constraint == nil {
		return
	}
	t.checkConstraint(constraint, s, path, 0)
	for _, p := range t.given(in.m, steps[1].name) {
		for _, found := range t.find(p, steps[2:], 0) {
			t.checkPassage(found, constraint, s, path, 0)
		}
	}
}

// typeAt descends into a type by steps; nil where the type does not say.
func typeAt(constraint hcl.Expression, steps []step) hcl.Expression {
	for _, s := range steps {
		kind, inner := typeOf(constraint)
		switch kind {
		case "map", "list", "set":
			constraint = inner
		case "object":
			constraint = nil
			for _, item := range pairs(inner) {
				if key, ok := literal(item.Key); ok && key == s.name {
					constraint = item.Value
				}
			}
		default:
			return nil
		}
		if constraint == nil {
			return nil
		}
	}
	return constraint
}

// typeOf is the kind of a type and what it is of; optional is looked through.
func typeOf(constraint hcl.Expression) (kind string, inner hcl.Expression) {
	name, arguments, ok := callOf(constraint)
	if !ok || len(arguments) == 0 {
		return "", nil
	}
	if name == "optional" {
		return typeOf(arguments[0])
	}
	return name, arguments[0]
}

func (t *tracer) checkConstraint(constraint hcl.Expression, s *shape, path sandbox.FieldPath, depth int) {
	if s == nil || depth > maxTraceDepth {
		return
	}
	switch kind, inner := typeOf(constraint); kind {
	case "map":
		t.checkConstraint(inner, s.element, path.Append(sandbox.MapKey("…")), depth+1)
	case "object":
		if s.names == nil {
			for _, item := range pairs(inner) {
				key, _ := literal(item.Key)
				t.checkConstraint(item.Value, s.element, path.Append(sandbox.MapKey(key)), depth+1)
			}
			return
		}
		for _, item := range pairs(inner) {
			key, ok := literal(item.Key)
			nested, known := s.names[key]
			if ok && !known {
				t.report(item.Key.Range(), unknownName(key, s, path))
				continue
			}
			t.checkConstraint(item.Value, nested, path.Append(sandbox.Attr(key)), depth+1)
		}
	}
}

// checkPassage finds names of a literal that a type drops though they mean
// something.
func (t *tracer) checkPassage(p place, constraint hcl.Expression, s *shape, path sandbox.FieldPath, depth int) {
	if t.steps++; s == nil || depth > maxTraceDepth || t.steps > maxTraceSteps {
		return
	}
	kind, inner := typeOf(constraint)
	if branches, ok := branchesOf(p.e); ok {
		for _, branch := range branches {
			t.checkPassage(place{branch, p.in}, constraint, s, path, depth+1)
		}
		return
	}
	if steps, ok := traversal(p.e); ok {
		for _, found := range t.resolve(steps, p.in, depth+1) {
			t.checkPassage(found, constraint, s, path, depth+1)
		}
		return
	}
	types := map[string]hcl.Expression{}
	for _, item := range pairs(inner) {
		if key, ok := literal(item.Key); ok {
			types[key] = item.Value
		}
	}
	for _, item := range pairs(p.e) {
		key, ok := literal(item.Key)
		switch {
		case !ok:
		case kind == "map":
			t.checkPassage(place{item.Value, p.in}, inner, s.element, path.Append(sandbox.MapKey(key)), depth+1)
		case kind != "object" || s.names == nil:
		case types[key] != nil:
			t.checkPassage(place{item.Value, p.in}, types[key], s.names[key], path.Append(sandbox.Attr(key)), depth+1)
		default:
			if _, known := s.names[key]; known {
				t.report(item.Key.Range(), sandbox.Finding{
					Code: sandbox.CodeAttributesLost, Path: path.Append(sandbox.Attr(key)),
					Found:    sandbox.Echo(key) + ", which the type of a variable on the way does not have, so that Terraform drops it",
					Required: "a variable that lets every name through", Remedy: `type the variable "any"`,
				})
			}
		}
	}
}
