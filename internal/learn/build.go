package learn

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// learnt is a rule made of requests. It admits them, what lies below their paths,
// and nothing else.
type learnt struct {
	rule  sandbox.EgressRule
	stats stats
}

// short reports whether the host alone says as much.
func short(r sandbox.EgressRule) bool {
	return slices.Equal(r.Ports, []string{"443"}) && slices.Equal(r.Methods, anything) && slices.Equal(r.Paths, anything)
}

var anything = []string{"*"}

// How long a list of one rule may be, as package egress reads it.
const maxElements = 256

// block is what is asked for of one host on one port with the same paths: methods
// times paths. Its methods and paths are sorted.
type block struct {
	port           uint16
	methods, paths []string
	stats          stats
}

// build makes the rules that admit requests, none of which any rule admits so far.
// Of one host and port every method stands in one rule, and no path of a rule lies
// below another, so that each word of the result is needed by some request.
func build(requests []*wanted) []learnt {
	byHost := make(map[string]map[uint16][]*wanted)
	var hosts []string
	for _, w := range requests {
		if byHost[w.host] == nil {
			byHost[w.host] = make(map[uint16][]*wanted)
			hosts = append(hosts, w.host)
		}
		byHost[w.host][w.request.Port] = append(byHost[w.host][w.request.Port], w)
	}
	var rules []learnt
	for _, host := range hosts {
		var blocks []block
		for port, at := range byHost[host] {
			blocks = append(blocks, blocksOf(port, at)...)
		}
		rules = append(rules, rulesOf(host, blocks)...)
	}
	return rules
}

// blocksOf are the blocks of one host and port. A connection that was let through
// needs all of it; one that was refused only where nothing is known of what is
// inside.
func blocksOf(port uint16, at []*wanted) []block {
	whole, inside := false, false
	var all stats
	for _, w := range at {
		whole = whole || w.connection() && !w.open
		inside = inside || !w.connection()
		all.add(w.stats)
	}
	if whole || !inside {
		return []block{{port, anything, anything, all}}
	}
	byMethod := make(map[string]*block)
	for _, w := range at {
		if w.connection() {
			continue
		}
		b := byMethod[w.method]
		if b == nil {
			b = &block{port: port, methods: []string{w.method}}
			byMethod[w.method] = b
		}
		b.paths = append(b.paths, w.path)
		b.stats.add(w.stats)
	}
	for _, b := range byMethod {
		b.paths = topmost(b.paths)
	}
	return merged(byMethod)
}

// topmost are the paths that lie below no other.
func topmost(paths []string) []string {
	if slices.Contains(paths, "*") {
		return anything
	}
	// With "/" the lowest byte, what lies below a path follows it directly.
	slices.SortFunc(paths, func(a, b string) int {
		return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
	})
	var top []string
	for _, p := range paths {
		if n := len(top); n > 0 && (p == top[n-1] || strings.HasPrefix(p, top[n-1]+"/")) {
			continue
		}
		top = append(top, p)
	}
	return top
}

// merged joins methods that have the same paths.
func merged(byMethod map[string]*block) []block {
	byPaths := make(map[string]*block)
	for _, b := range byMethod {
		key := strings.Join(b.paths, " ")
		if have := byPaths[key]; have != nil {
			have.methods = append(have.methods, b.methods...)
			have.stats.add(b.stats)
			continue
		}
		byPaths[key] = b
	}
	var blocks []block
	for _, b := range byPaths {
		slices.Sort(b.methods)
		blocks = append(blocks, *b)
	}
	return blocks
}

// rulesOf joins the blocks of one host that differ in their ports alone.
func rulesOf(host string, blocks []block) []learnt {
	slices.SortFunc(blocks, func(a, b block) int {
		return cmp.Or(slices.Compare(a.methods, b.methods), slices.Compare(a.paths, b.paths), cmp.Compare(a.port, b.port))
	})
	var rules []learnt
	for start := 0; start < len(blocks); {
		first, end := blocks[start], start
		var ports []string
		var all stats
		for ; end < len(blocks) && slices.Equal(first.methods, blocks[end].methods) && slices.Equal(first.paths, blocks[end].paths); end++ {
			ports = append(ports, strconv.Itoa(int(blocks[end].port)))
			all.add(blocks[end].stats)
		}
		start = end
		for ports := range slices.Chunk(ports, maxElements) {
			for paths := range slices.Chunk(first.paths, maxElements) {
				for methods := range slices.Chunk(first.methods, maxMethods) {
					rules = append(rules, learnt{sandbox.EgressRule{Host: host, Ports: ports, Methods: methods, Paths: paths}, all})
				}
			}
		}
	}
	return rules
}

// maxMethods is how many methods a rule may name, as package egress reads it.
const maxMethods = 64

// setOf compiles rules. One that cannot be read admits nothing.
func setOf(rules []sandbox.EgressRule) *egress.Set {
	parsed := make([]egress.Rule, len(rules))
	for i, r := range rules {
		if rule, findings := egress.ParseRule("", r, nil); len(findings) == 0 {
			parsed[i] = rule
		}
	}
	return egress.NewSet(parsed)
}
