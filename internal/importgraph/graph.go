// Package importgraph holds the arrows between this module's packages: who may
// import whom, and which libraries may appear where. The arrows are data, in
// rules.go; its tests load the module as the go command sees it on every system
// it is built for and print the offending chain when an arrow breaks. It is
// linked into nothing.
//
// To add a package, give its tree a row in [Arrows]. To add a library, name it
// in the row of the tree that needs it, or in [TestLibraries]. Read [Arrow] and
// [Ban] first.
package importgraph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Package is one node: what a package imports, by import path.
type Package struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	TestImports  []string // of _test.go files in the package
	XTestImports []string // of _test.go files beside it
}

// Graph is every package that the module's packages reach, by import path.
type Graph struct {
	Module   string // the module's path
	Packages map[string]*Package
}

// Target is a system that the module is built for.
type Target struct{ OS, Arch string }

// Load asks the go command in dir for the packages of the module there and
// everything they import when built for target, without cgo. Packages that have
// no file for target are left out.
func Load(ctx context.Context, dir string, target Target) (*Graph, error) {
	module, err := goCommand(ctx, dir, target, "list", "-m")
	if err != nil {
		return nil, err
	}
	listing, err := goCommand(ctx, dir, target, "list", "-e", "-deps",
		"-json=ImportPath,Standard,Imports,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, err
	}
	g := &Graph{Module: strings.TrimSpace(string(module)), Packages: map[string]*Package{}}
	for dec := json.NewDecoder(bytes.NewReader(listing)); ; {
		var p Package
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return g, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the package list for %s/%s: %w", target.OS, target.Arch, err)
		}
		g.Packages[p.ImportPath] = &p
	}
}

func goCommand(ctx context.Context, dir string, target Target, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+target.OS, "GOARCH="+target.Arch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s for %s/%s: %w: %s", args[0], target.OS, target.Arch, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

// Own lists the module's own packages, sorted.
func (g *Graph) Own() []string {
	var own []string
	for path := range g.Packages {
		if g.owns(path) {
			own = append(own, path)
		}
	}
	slices.Sort(own)
	return own
}

func (g *Graph) owns(path string) bool { return within(path, g.Module) }

// tree is the place of one of the module's own packages below its root: "." for
// the root, "sandbox/egress" for that package.
func (g *Graph) tree(path string) string {
	if path == g.Module {
		return "."
	}
	return strings.TrimPrefix(path, g.Module+"/")
}

func (g *Graph) standard(path string) bool {
	p, ok := g.Packages[path]
	if !ok {
		// A library that only tests import is not in the listing. Every module
		// path has a dot in its first element; no standard package does.
		first, _, _ := strings.Cut(path, "/")
		return !strings.Contains(first, ".")
	}
	return p.Standard
}

// Chain is the shortest way of imports from one package to the first that match
// accepts, both included; nil if there is none. The start is not matched.
func (g *Graph) Chain(from string, match func(path string) bool) []string {
	cameFrom := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		p, ok := g.Packages[at]
		if !ok {
			continue
		}
		for _, next := range p.Imports {
			if _, seen := cameFrom[next]; seen {
				continue
			}
			cameFrom[next] = at
			if match(next) {
				return walkBack(cameFrom, next)
			}
			queue = append(queue, next)
		}
	}
	return nil
}

func walkBack(cameFrom map[string]string, end string) []string {
	var chain []string
	for at := end; at != ""; at = cameFrom[at] {
		chain = append(chain, at)
	}
	slices.Reverse(chain)
	return chain
}

// within reports whether path is root or lies below it.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}
