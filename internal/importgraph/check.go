package importgraph

import (
	"fmt"
	"slices"
	"strings"
)

// Violation is one broken rule and the imports that break it.
type Violation struct {
	Chain []string // import paths, from the package that is held to the rule to what it may not have
	Rule  string   // the rule, as a sentence
}

// String shows the rule, then the chain, one package a line.
func (v Violation) String() string {
	var b strings.Builder
	b.WriteString(v.Rule)
	for i, path := range v.Chain {
		b.WriteString("\n    ")
		if i > 0 {
			b.WriteString("-> ")
		}
		b.WriteString(path)
	}
	return b.String()
}

// CheckArrows holds every package of the module to its arrow, tests included.
func (g *Graph) CheckArrows(arrows []Arrow) []Violation {
	var broken []Violation
	for _, path := range g.Own() {
		p := g.Packages[path]
		a, ok := arrowOf(arrows, g.tree(path))
		if !ok {
			broken = append(broken, Violation{
				Chain: []string{path},
				Rule:  "This package has no arrow: give its tree a row in Arrows.",
			})
			continue
		}
		for _, to := range p.Imports {
			if rule := g.builtMayImport(arrows, a, to); rule != "" {
				broken = append(broken, Violation{Chain: []string{path, to}, Rule: rule})
			}
		}
		for _, to := range slices.Concat(p.TestImports, p.XTestImports) {
			if rule := g.testsMayImport(a, to); rule != "" {
				broken = append(broken, Violation{Chain: []string{path + " (its tests)", to}, Rule: rule})
			}
		}
	}
	return broken
}

// builtMayImport is the broken rule, or "" if there is none.
func (g *Graph) builtMayImport(arrows []Arrow, a Arrow, to string) string {
	switch {
	case g.owns(to):
		target, ok := arrowOf(arrows, g.tree(to))
		if ok && (target.Tree == a.Tree || slices.Contains(a.Own, target.Tree)) {
			return ""
		}
		return fmt.Sprintf("%s may import of this module: %s.", a.Tree, listed(a.Own))
	case within(to, "testing") && !a.Testing:
		return fmt.Sprintf("Only tests of %s may import package testing.", a.Tree)
	case g.standard(to):
		if a.Std == nil || slices.Contains(a.Std, to) {
			return ""
		}
		return fmt.Sprintf("%s may import of the standard library: %s.", a.Tree, listed(a.Std))
	case withinAny(to, a.Libraries):
		return ""
	default:
		return fmt.Sprintf("%s may import of other modules: %s.", a.Tree, listed(a.Libraries))
	}
}

// testsMayImport is the broken rule, or "". Tests look across the module, since
// the point of many is to compare two parts; only the provider is left to trees
// whose arrow names it.
func (g *Graph) testsMayImport(a Arrow, to string) string {
	switch {
	case g.owns(to):
		if !within(g.tree(to), "internal/provider") || a.Tree == "internal/provider" || slices.Contains(a.Own, "internal/provider") {
			return ""
		}
		return "Of tests, only those of trees with an arrow to internal/provider, and its own, import it."
	case g.standard(to), withinAny(to, a.Libraries), withinAny(to, a.TestLibraries), withinAny(to, TestLibraries):
		return ""
	default:
		return fmt.Sprintf("Tests of %s may import of other modules: %s.", a.Tree, listed(join(a.Libraries, a.TestLibraries, TestLibraries)))
	}
}

// CheckBans follows the imports of every package that a ban is about.
func (g *Graph) CheckBans(bans []Ban) []Violation {
	var broken []Violation
	for _, ban := range bans {
		for _, path := range g.Own() {
			tree := g.tree(path)
			if !matchesAny(tree, ban.From) || matchesAny(tree, ban.Except) {
				continue
			}
			if chain := g.Chain(path, func(to string) bool { return g.banned(ban, to) }); chain != nil {
				broken = append(broken, Violation{Chain: chain, Rule: sentence(ban.Why)})
			}
		}
	}
	return broken
}

func (g *Graph) banned(ban Ban, to string) bool {
	narrowed := ban.OnlyOwn != nil || ban.OnlyLibraries != nil
	switch {
	case g.owns(to):
		tree := g.tree(to)
		return matchesAny(tree, ban.Never) || narrowed && !matchesAny(tree, ban.OnlyOwn)
	case withinAny(to, ban.NeverLibraries):
		return true
	case g.standard(to):
		return false
	default:
		return narrowed && !withinAny(to, ban.OnlyLibraries)
	}
}

func arrowOf(arrows []Arrow, tree string) (Arrow, bool) {
	var best Arrow
	found := false
	for _, a := range arrows {
		if (tree == a.Tree || a.Tree != "." && within(tree, a.Tree)) && len(a.Tree) >= len(best.Tree) {
			best, found = a, true
		}
	}
	return best, found
}

func matchesAny(tree string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if root, ok := strings.CutSuffix(pattern, "/..."); ok {
			return within(tree, root)
		}
		return tree == pattern
	})
}

func withinAny(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return within(path, root) })
}

func listed(paths []string) string {
	if len(paths) == 0 {
		return "nothing"
	}
	return strings.Join(paths, ", ")
}

func sentence(s string) string {
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
