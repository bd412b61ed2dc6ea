package sandboxtest

import (
	stdpath "path"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// node is one thing in a guest's file system.
type node struct {
	kind     sandbox.EntryKind
	data     []byte
	children map[string]*node
	target   string
	// rootOnly nodes can be changed by root alone.
	rootOnly bool
	// claimed overrides the size that is answered; unsized answers none.
	claimed *int64
	unsized bool
}

func newDirectory() *node {
	return &node{kind: sandbox.EntryDirectory, children: map[string]*node{}}
}

func (n *node) info(name string) engine.Info {
	info := engine.Info{Name: name, Kind: n.kind}
	if n.kind == sandbox.EntryFile && !n.unsized {
		info.Size, info.SizeKnown = int64(len(n.data)), true
		if n.claimed != nil {
			info.Size = *n.claimed
		}
	}
	return info
}

// size is what the node and all below it hold.
func (n *node) size() int64 {
	total := int64(len(n.data))
	for _, child := range n.children {
		total += child.size()
	}
	return total
}

// maxLinks is how many links one path may cross, as in Linux.
const maxLinks = 40

// place is where a path leads: the directory, the name in it and what is there.
type place struct {
	dir  *node
	name string
	node *node
}

// find resolves an absolute path; the last component is never followed. Links
// above it are followed or refused.
func (n *node) find(path string, links engine.Links) (place, error) {
	path = stdpath.Clean(path)
	if path == "/" {
		return place{node: n}, nil
	}
	crossed := 0
	current := []*node{n} // from the root down, for ".."
	rest := strings.Split(path[1:], "/")
	for {
		name := rest[0]
		dir := current[len(current)-1]
		if dir.kind != sandbox.EntryDirectory {
			return place{}, engine.ErrNotDirectory
		}
		child := dir.children[name]
		if len(rest) == 1 {
			return place{dir: dir, name: name, node: child}, nil
		}
		rest = rest[1:]
		switch {
		case child == nil:
			return place{}, engine.ErrNotExist
		case child.kind != sandbox.EntrySymlink:
			current = append(current, child)
			continue
		case links == engine.Beneath:
			return place{}, engine.ErrThroughLink
		}
		if crossed++; crossed > maxLinks {
			return place{}, engine.ErrNotDirectory
		}
		target, err := n.follow(current, child.target, crossed)
		if err != nil {
			return place{}, err
		}
		current = target
	}
}

// follow walks a link's target from the directory that holds the link, links in it
// included, and answers the way down to the directory it names.
func (n *node) follow(from []*node, target string, crossed int) ([]*node, error) {
	current := append([]*node{}, from...)
	if strings.HasPrefix(target, "/") {
		current = []*node{n}
	}
	for name := range strings.SplitSeq(target, "/") {
		switch name {
		case "", ".":
			continue
		case "..":
			current = current[:max(1, len(current)-1)]
			continue
		}
		child := current[len(current)-1].children[name]
		switch {
		case child == nil:
			return nil, engine.ErrNotExist
		case child.kind == sandbox.EntrySymlink:
			if crossed++; crossed > maxLinks {
				return nil, engine.ErrNotDirectory
			}
			next, err := n.follow(current, child.target, crossed)
			if err != nil {
				return nil, err
			}
			current = next
		default:
			current = append(current, child)
		}
	}
	return current, nil
}
