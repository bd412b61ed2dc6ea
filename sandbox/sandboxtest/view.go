package sandboxtest

import (
	"fmt"
	stdpath "path"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// View is a guest's file system as seen from inside or behind it: it follows
// links, asks nobody and is not recorded. Paths are absolute. Tests plant attacks
// with it and look at what became of them; scripted programs work with it.
type View struct{ m *memory }

// View answers the file system of the sandbox of that id, nil when there is none.
func (e *Engine) View(id string) *View {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.sandboxes[id]; m != nil {
		return &View{m: m}
	}
	return nil
}

func (g *guest) view() *View { return &View{m: g.m} }

// AsGuest runs f as a program of the guest would: not at all while the guest is
// frozen. It reports whether f ran.
func (v *View) AsGuest(f func(*View)) bool {
	v.m.mu.Lock()
	frozen := v.m.frozen > 0
	v.m.mu.Unlock()
	if !frozen {
		f(v)
	}
	return !frozen
}

// plant puts a node at a path, making its parents and replacing what is there.
func (v *View) plant(path string, n *node) error {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	if path == "/" {
		return fmt.Errorf("plant %s: %w", path, engine.ErrPermission)
	}
	if err := v.parents(stdpath.Dir(path)); err != nil {
		return fmt.Errorf("plant %s: %w", path, err)
	}
	p, err := v.m.root.find(path, engine.Follow)
	if err != nil {
		return fmt.Errorf("plant %s: %w", path, err)
	}
	p.dir.children[p.name] = n
	return nil
}

func (v *View) parents(dir string) error {
	made := "/"
	for name := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if name == "" {
			return nil
		}
		made = stdpath.Join(made, name)
		p, err := v.m.root.find(made, engine.Follow)
		if err != nil {
			return err
		}
		if p.node == nil {
			p.dir.children[p.name] = newDirectory()
		}
	}
	return nil
}

// WriteFile puts a file there. A link at the path is followed, as a program's
// open would.
func (v *View) WriteFile(path string, data []byte) error {
	if target, ok := v.target(path); ok {
		path = target
	}
	return v.plant(path, &node{kind: sandbox.EntryFile, data: slices.Clone(data)})
}

// Append makes the file at path longer in place: streams that are open see it.
func (v *View) Append(path string, data []byte) error {
	return v.change(path, func(n *node) { n.data = append(slices.Clone(n.data), data...) })
}

// Truncate cuts the file at path in place.
func (v *View) Truncate(path string, size int) error {
	return v.change(path, func(n *node) { n.data = slices.Clone(n.data[:size]) })
}

// ClaimSize makes the engine answer another size than the file has.
func (v *View) ClaimSize(path string, size int64) error {
	return v.change(path, func(n *node) { n.claimed = &size })
}

// ForgetSize makes the engine answer no size for the file.
func (v *View) ForgetSize(path string) error {
	return v.change(path, func(n *node) { n.unsized = true })
}

// Protect lets only root change the directory's entries.
func (v *View) Protect(path string) error {
	return v.change(path, func(n *node) { n.rootOnly = true })
}

// Mkdir makes a directory and its parents, replacing what is there.
func (v *View) Mkdir(path string) error { return v.plant(path, newDirectory()) }

// Symlink puts a link there.
func (v *View) Symlink(path, target string) error {
	return v.plant(path, &node{kind: sandbox.EntrySymlink, target: target})
}

// Mkfifo puts a named pipe there, which nobody ever writes to.
func (v *View) Mkfifo(path string) error { return v.plant(path, &node{kind: sandbox.EntryOther}) }

// Remove takes away what is there, with all in it.
func (v *View) Remove(path string) error {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	p, err := v.m.root.find(path, engine.Follow)
	if err != nil || p.node == nil || p.dir == nil {
		return err
	}
	delete(p.dir.children, p.name)
	return nil
}

// ReadFile answers the file's bytes, links followed.
func (v *View) ReadFile(path string) ([]byte, error) {
	if target, ok := v.target(path); ok {
		path = target
	}
	var data []byte
	err := v.change(path, func(n *node) { data = slices.Clone(n.data) })
	return data, err
}

// Exists reports whether anything stands there, a link to nowhere included.
func (v *View) Exists(path string) bool {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	p, err := v.m.root.find(path, engine.Follow)
	return err == nil && p.node != nil
}

// Files counts what stands below the directory, directories left out.
func (v *View) Files(dir string) int {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	p, err := v.m.root.find(dir, engine.Follow)
	if err != nil || p.node == nil {
		return 0
	}
	return countFiles(p.node)
}

func countFiles(n *node) int {
	if n.kind != sandbox.EntryDirectory {
		return 1
	}
	total := 0
	for _, child := range n.children {
		total += countFiles(child)
	}
	return total
}

func (v *View) change(path string, f func(*node)) error {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	p, err := v.m.root.find(path, engine.Follow)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if p.node == nil {
		return fmt.Errorf("%s: %w", path, engine.ErrNotExist)
	}
	f(p.node)
	return nil
}

// target is where the link at path leads.
func (v *View) target(path string) (string, bool) {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	for range maxLinks {
		p, err := v.m.root.find(path, engine.Follow)
		if err != nil || p.node == nil || p.node.kind != sandbox.EntrySymlink {
			return path, err == nil
		}
		path = stdpath.Join(stdpath.Dir(path), p.node.target)
		if strings.HasPrefix(p.node.target, "/") {
			path = stdpath.Clean(p.node.target)
		}
	}
	return path, false
}
