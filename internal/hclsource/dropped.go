package hclsource

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Dropped is one name that Terraform would drop without a word.
type Dropped struct {
	// Address is the block that the object reaches.
	Address string
	Finding sandbox.Finding
	// File and Line are where the name is written, relative to the root.
	File string
	Line int
}

// Dropped lists the names inside objects that nothing would ever read, in the
// order of the blocks that the objects reach. It follows literals through locals,
// variables and their types, module arguments and outputs, merge, conditions, for
// expressions and for_each; what it cannot follow it leaves to the provider,
// which refuses objects that lack a part or do not have their digest.
func (c *Config) Dropped() []Dropped {
	t := &tracer{config: c, seen: map[visit]bool{}}
	all := newShapes()
	for _, dir := range c.Dirs {
		m := c.modules[dir]
		for _, b := range m.blocks {
			s := all.of(b.kind)
			if s == nil {
				continue
			}
			t.address = b.address()
			in := scope{m: m, forEach: b.attributes["for_each"]}
			for _, name := range sortedKeys(b.attributes) {
				t.check(b.attributes[name], s.names[name], in, sandbox.Path(name))
			}
		}
	}
	return t.found
}

// DroppedFrom is [Config.Dropped] for the written-out attributes of one block, as a
// plan's JSON has them: with what Terraform has dropped from the values of the plan.
func DroppedFrom(kind string, attributes map[string]any) []sandbox.Finding {
	s := newShapes().of(kind)
	if s == nil {
		return nil
	}
	var found []sandbox.Finding
	for _, name := range sortedKeys(attributes) {
		found = append(found, droppedValue(attributes[name], s.names[name], sandbox.Path(name))...)
	}
	return found
}

// droppedValue holds a value to a shape, which is never deeper than the shapes are.
func droppedValue(v any, s *shape, path sandbox.FieldPath) (found []sandbox.Finding) {
	object, ok := v.(map[string]any)
	if !ok || s == nil {
		return nil
	}
	for _, name := range sortedKeys(object) {
		switch inner, known := s.names[name]; {
		case s.names == nil:
			found = append(found, droppedValue(object[name], s.element, path.Append(sandbox.MapKey(name)))...)
		case !known:
			found = append(found, unknownName(name, s, path))
		default:
			found = append(found, droppedValue(object[name], inner, path.Append(sandbox.Attr(name)))...)
		}
	}
	return found
}

func (b *block) address() string {
	address := b.kind + "." + b.name
	if b.mode != "resource" {
		return b.mode + "." + address
	}
	return address
}

// scope is where an expression stands: what its names mean.
type scope struct {
	m *module
	// forEach is what each.value ranges over, nil outside such a block.
	forEach hcl.Expression
	// vars are the variables of for expressions around it.
	vars map[string]binding
}

// binding is a variable of a for expression: any element of a collection.
type binding struct {
	collection hcl.Expression
	in         *scope
}

// place is an expression where it stands.
type place struct {
	e  hcl.Expression
	in scope
}

type visit struct {
	at, forEach hcl.Range
	shape       *shape
}

// tracer follows expressions. Its budget ends what no configuration that people
// write would need; what is left then is the provider's to judge.
type tracer struct {
	config  *Config
	address string
	found   []Dropped
	seen    map[visit]bool
	steps   int
}

const (
	maxTraceSteps = 200_000
	maxTraceDepth = 60
)

// check holds an expression to a shape.
func (t *tracer) check(e hcl.Expression, s *shape, in scope, path sandbox.FieldPath) {
	t.checkDeep(e, s, in, path, 0)
}

func (t *tracer) checkDeep(e hcl.Expression, s *shape, in scope, path sandbox.FieldPath, depth int) {
	if t.steps++; e == nil || s == nil || depth > maxTraceDepth || t.steps > maxTraceSteps {
		return
	}
	v := visit{at: e.Range(), shape: s}
	if in.forEach != nil {
		v.forEach = in.forEach.Range()
	}
	if t.seen[v] {
		return
	}
	t.seen[v] = true
	if items := pairs(e); items != nil {
		t.checkItems(items, s, in, path, depth)
		return
	}
	if f, ok := e.(*hclsyntax.ForExpr); ok {
		t.checkFor(f, s, in, path, depth)
		return
	}
	if branches, ok := branchesOf(e); ok {
		for _, branch := range branches {
			t.checkDeep(branch, s, in, path, depth+1)
		}
		return
	}
	steps, ok := traversal(e)
	if !ok {
		return
	}
	t.checkType(steps, s, in, path)
	for _, p := range t.resolve(steps, in, depth+1) {
		t.checkDeep(p.e, s, p.in, path, depth+1)
	}
}

func (t *tracer) checkItems(items []hcl.KeyValuePair, s *shape, in scope, path sandbox.FieldPath, depth int) {
	for _, item := range items {
		key, isLiteral := literal(item.Key)
		if s.names == nil {
			if !isLiteral {
				key = "…"
			}
			t.checkDeep(item.Value, s.element, in, path.Append(sandbox.MapKey(key)), depth+1)
			continue
		}
		if !isLiteral {
			t.report(item.Key.Range(), sandbox.Finding{
				Code: sandbox.CodeUnknownName, Path: path, Found: "a name that is computed",
				Required: "names of " + s.noun + ", written out", Remedy: "write the name itself",
			})
			continue
		}
		inner, known := s.names[key]
		if !known {
			t.report(item.Key.Range(), unknownName(key, s, path))
			continue
		}
		t.checkDeep(item.Value, inner, in, path.Append(sandbox.Attr(key)), depth+1)
	}
}

// checkFor follows a for expression. One that copies a collection item by item
// has the collection's names.
func (t *tracer) checkFor(f *hclsyntax.ForExpr, s *shape, in scope, path sandbox.FieldPath, depth int) {
	if s.names != nil {
		if key, ok := traversal(f.KeyExpr); ok && len(key) == 1 && key[0].name == f.KeyVar {
			t.checkDeep(f.CollExpr, s, in, path, depth+1)
		}
		return
	}
	t.checkDeep(f.ValExpr, s.element, in.with(f), path.Append(sandbox.MapKey("…")), depth+1)
}

func (in scope) with(f *hclsyntax.ForExpr) scope {
	outer := in
	inner := scope{m: in.m, forEach: in.forEach, vars: make(map[string]binding, len(in.vars)+1)}
	maps.Copy(inner.vars, in.vars)
	inner.vars[f.ValVar] = binding{f.CollExpr, &outer}
	return inner
}

// passing are the functions whose result has the names of their arguments.
var passing = []string{
	"merge", "try", "coalesce", "tomap", "toset", "tolist", "concat", "values", "one", "sensitive", "nonsensitive", "element",
	"flatten", "lookup",
}

// branchesOf are the expressions whose values an expression may have.
func branchesOf(e hcl.Expression) (branches []hcl.Expression, ok bool) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return []hcl.Expression{e.Expression}, true
	case *hclsyntax.ConditionalExpr:
		return []hcl.Expression{e.TrueResult, e.FalseResult}, true
	case *hclsyntax.FunctionCallExpr:
		name, arguments, _ := callOf(e)
		if slices.Contains(passing, name) {
			return arguments, true
		}
		return nil, true
	default:
		return nil, false
	}
}

func unknownName(name string, s *shape, path sandbox.FieldPath) sandbox.Finding {
	names := sortedKeys(s.names)
	remedy := "remove it, or check how it is spelt"
	if near, ok := facts.Nearest(name, names); ok {
		remedy = "write " + strconv.Quote(near)
	}
	return sandbox.Finding{
		Code: sandbox.CodeUnknownName, Path: path.Append(sandbox.Attr(name)), Found: sandbox.Echo(name) + ", which Terraform drops",
		Required: "a name of " + s.noun + ": " + strings.Join(names, ", "), Remedy: remedy,
	}
}

func (t *tracer) report(at hcl.Range, f sandbox.Finding) {
	file := t.config.relative(at.Filename)
	for _, d := range t.found {
		if d.File == file && d.Line == at.Start.Line && d.Finding.Code == f.Code && d.Finding.Found == f.Found {
			return
		}
	}
	t.found = append(t.found, Dropped{Address: t.address, Finding: f, File: file, Line: at.Start.Line})
}
