package hclsource

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Place is where something is written: a file relative to the root, and a range
// counted from 1 whose end is where the next character would stand.
type Place struct {
	File                             string
	Line, Column, EndLine, EndColumn int
}

// Locate finds where an attribute of a block is written, as deep as its path is
// written out there: an element of a list, an item of a map. address is the
// block's, as Terraform writes it, and path that of a finding; where the path
// leads nowhere, the place is the block's first line. It is not ok where no such
// block is written.
func (c *Config) Locate(address, path string) (Place, bool) {
	b := c.block(address)
	if b == nil {
		return Place{}, false
	}
	at := b.at
	steps, ok := pathSteps(path)
	if !ok || len(steps) == 0 {
		return c.placeOf(at), true
	}
	e, written := b.attributes[steps[0].name]
	if !written {
		return c.placeOf(at), true
	}
	for at = e.Range(); len(steps) > 1; at = e.Range() {
		steps = steps[1:]
		inner := elementOf(e, steps[0])
		if inner == nil {
			break
		}
		e = inner
	}
	return c.placeOf(at), true
}

// Referred is the block that an attribute of another is, such as the workload that a
// manifest takes up: what is written at the path names it and nothing else.
func (c *Config) Referred(address, path string) (string, bool) {
	b := c.block(address)
	steps, ok := pathSteps(path)
	if b == nil || !ok || len(steps) == 0 {
		return "", false
	}
	e := b.attributes[steps[0].name]
	for _, step := range steps[1:] {
		e = elementOf(e, step)
	}
	to, ok := traversal(e)
	if !ok || len(to) < 2 {
		return "", false
	}
	at := strings.LastIndex(address, b.address())
	referred := address[:max(at, 0)] + to[0].name + "." + to[1].name
	return referred, c.block(referred) != nil
}

// Named finds the one block of a kind that is called name, or whose attribute name
// says so. It is not ok where there is none, or more than one.
func (c *Config) Named(kind, name string) (address string, ok bool) {
	for _, b := range c.modules[c.Root].blocks {
		said, _ := literal(b.attributes["name"])
		if b.mode != "resource" || b.kind != kind || name == "" || b.name != name && said != name {
			continue
		}
		if ok {
			return "", false
		}
		address, ok = b.address(), true
	}
	return address, ok
}

// block finds a resource by its address, through local modules.
func (c *Config) block(address string) *block {
	steps, ok := pathSteps(address)
	m := c.modules[c.Root]
	for ok && m != nil && len(steps) >= 2 {
		if steps[0].name != "module" {
			for _, b := range m.blocks {
				if b.mode == "resource" && b.kind == steps[0].name && b.name == steps[1].name {
					return b
				}
			}
			return nil
		}
		call := m.calls[steps[1].name]
		if call == nil {
			return nil
		}
		m, steps = call.target, steps[2:]
		if len(steps) > 0 && steps[0].key {
			steps = steps[1:] // one of several instances, which are written once
		}
	}
	return nil
}

// pathStep is one step of an address or a path as it is written.
type pathStep struct {
	name string
	// key: it stands in brackets; index is its number, or -1.
	key   bool
	index int
}

func pathSteps(text string) ([]pathStep, bool) {
	if text == "" {
		return nil, true
	}
	t, diags := hclsyntax.ParseTraversalAbs([]byte(text), "path", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, false
	}
	var steps []pathStep
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseRoot:
			steps = append(steps, pathStep{name: s.Name, index: -1})
		case hcl.TraverseAttr:
			steps = append(steps, pathStep{name: s.Name, index: -1})
		case hcl.TraverseIndex:
			step := pathStep{key: true, index: -1}
			if i := s.Key; i.Type().FriendlyName() == "string" {
				step.name = i.AsString()
			} else if n, accuracy := i.AsBigFloat().Int64(); accuracy == 0 {
				step.index = int(n)
			}
			steps = append(steps, step)
		default:
			return nil, false
		}
	}
	return steps, true
}

// elementOf is the part of an expression that a step leads to, nil where that is
// not written there.
func elementOf(e hcl.Expression, s pathStep) hcl.Expression {
	if s.index >= 0 {
		if tuple, ok := e.(*hclsyntax.TupleConsExpr); ok && s.index < len(tuple.Exprs) {
			return tuple.Exprs[s.index]
		}
		return nil
	}
	for _, item := range pairs(e) {
		if key, ok := literal(item.Key); ok && key == s.name {
			return item.Value
		}
	}
	return nil
}

func (c *Config) placeOf(r hcl.Range) Place {
	return Place{
		File: c.relative(r.Filename), Line: r.Start.Line, Column: r.Start.Column, EndLine: r.End.Line, EndColumn: r.End.Column,
	}
}
