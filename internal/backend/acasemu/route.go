package acasemu

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// routes is the contract's table of operations, as a tree of path segments.
type routes struct{ root *node }

type node struct {
	literal map[string]*node // by the segment in lower case: the service's routes have none
	any     *node
	name    string // of the segment that any stands for
	forms   []form
}

// form is one spelling of an operation that ends at a node.
type form struct {
	op       wire.Op
	method   string
	versions []wire.Version
}

func newRoutes(ops []wire.Op) *routes {
	r := &routes{root: &node{}}
	for _, op := range ops {
		for _, f := range op.Operation().Forms {
			n := r.root
			for segment := range strings.SplitSeq(strings.TrimPrefix(f.Path, "/"), "/") {
				n = n.child(segment)
			}
			n.forms = append(n.forms, form{op, f.Method, f.Versions})
		}
	}
	return r
}

func (n *node) child(segment string) *node {
	if name, ok := strings.CutPrefix(segment, "{"); ok {
		if n.any == nil {
			n.any, n.name = &node{}, strings.TrimSuffix(name, "}")
		}
		return n.any
	}
	if n.literal == nil {
		n.literal = map[string]*node{}
	}
	key := strings.ToLower(segment)
	if n.literal[key] == nil {
		n.literal[key] = &node{}
	}
	return n.literal[key]
}

// planeOf tells which service a path is for.
func planeOf(path string) wire.Plane {
	if strings.Contains(strings.ToLower(path), "/providers/microsoft.app/") {
		return wire.ARM
	}
	return wire.Data
}

// find is the place that an escaped path leads to, and what stands for the names in
// it. A literal segment is preferred to a name.
func (r *routes) find(escaped string) (*node, wire.Segments) {
	path, ok := strings.CutPrefix(escaped, "/")
	if !ok || strings.Count(path, "/") > 16 {
		return nil, nil
	}
	segments := wire.Segments{}
	at := walk(r.root, strings.Split(path, "/"), segments)
	if at == nil || len(at.forms) == 0 {
		return nil, nil
	}
	return at, segments
}

func walk(n *node, path []string, segments wire.Segments) *node {
	if len(path) == 0 {
		return n
	}
	if next := n.literal[strings.ToLower(path[0])]; next != nil {
		if end := walk(next, path[1:], segments); end != nil && len(end.forms) > 0 {
			return end
		}
	}
	if n.any == nil {
		return nil
	}
	value, err := url.PathUnescape(path[0])
	if err != nil || !plain(value) {
		return nil
	}
	end := walk(n.any, path[1:], segments)
	if end != nil {
		segments[n.name] = value
	}
	return end
}

// operation is what a method means at a node in a version. Where it means nothing,
// the methods that do are told.
func (n *node) operation(method string, v wire.Version) (op wire.Op, allowed []string, ok bool) {
	for _, f := range n.forms {
		if !slices.Contains(f.versions, v) {
			continue
		}
		if f.method == method {
			return f.op, nil, true
		}
		allowed = append(allowed, f.method)
	}
	slices.Sort(allowed)
	return 0, slices.Compact(allowed), false
}

// likely is the operation that a request is taken for before its version is known:
// faults and the log name it.
func (n *node) likely(method string, v wire.Version) wire.Op {
	if op, _, ok := n.operation(method, v); ok {
		return op
	}
	for _, f := range n.forms {
		if f.method == method {
			return f.op
		}
	}
	return 0
}

// readOnly reports a method that changes nothing.
func readOnly(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// plain reports a segment that can be a name. Locations have spaces.
func plain(segment string) bool {
	return segment != "" && segment != "." && segment != ".." && len(segment) <= 260 && utf8.ValidString(segment) &&
		!strings.ContainsFunc(segment, func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) })
}
