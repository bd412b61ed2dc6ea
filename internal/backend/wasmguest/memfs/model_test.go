package memfs_test

import (
	"bytes"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
)

// model is the file system as a map from path to content; nil is a directory.
type model map[string][]byte

func (m model) isDir(p string) bool { content, ok := m[p]; return p == "." || ok && content == nil }
func (m model) isFile(p string) bool {
	return m[p] != nil
}

func (m model) below(p string) []string {
	var found []string
	for q := range m {
		if strings.HasPrefix(q, p+"/") {
			found = append(found, q)
		}
	}
	return found
}

func (m model) usage() memfs.Usage {
	u := memfs.Usage{Entries: len(m)}
	for _, content := range m {
		u.Bytes += int64(len(content))
	}
	return u
}

// lookup is what walking to p meets before p itself.
func (m model) lookup(p string) error {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if m.isFile(dir) {
			return memfs.ErrNotDirectory
		}
	}
	if !m.isDir(path.Dir(p)) {
		return memfs.ErrNotExist
	}
	return nil
}

const (
	modelBytes     = 60
	modelFileBytes = 40
	modelEntries   = 7
)

func (m model) put(p string, content []byte) error {
	switch {
	case m.lookup(p) != nil:
		return m.lookup(p)
	case m.isDir(p):
		return memfs.ErrIsDirectory
	case len(content) > modelFileBytes, m.usage().Bytes+int64(len(content)-len(m[p])) > modelBytes:
		return memfs.ErrNoSpace
	case !m.isFile(p) && len(m) >= modelEntries:
		return memfs.ErrNoSpace
	}
	m[p] = content
	return nil
}

func (m model) mkdir(p string) error {
	switch _, there := m[p]; {
	case m.lookup(p) != nil:
		return m.lookup(p)
	case there:
		return memfs.ErrExist
	case len(m) >= modelEntries:
		return memfs.ErrNoSpace
	}
	m[p] = nil
	return nil
}

func (m model) removeAll(p string) error {
	if err := m.lookup(p); err != nil {
		return err
	}
	if _, there := m[p]; !there {
		return memfs.ErrNotExist
	}
	for _, q := range m.below(p) {
		delete(m, q)
	}
	delete(m, p)
	return nil
}

func (m model) rename(from, to string) error {
	_, there := m[from]
	_, taken := m[to]
	switch {
	case m.lookup(from) != nil:
		return m.lookup(from)
	case !there:
		return memfs.ErrNotExist
	case m.lookup(to) != nil:
		return m.lookup(to)
	case from == to:
		return nil
	case strings.HasPrefix(to, from+"/"):
		return memfs.ErrInvalid
	case taken && m.isDir(from) && !m.isDir(to):
		return memfs.ErrNotDirectory
	case taken && !m.isDir(from) && m.isDir(to):
		return memfs.ErrIsDirectory
	case len(m.below(to)) > 0:
		return memfs.ErrNotEmpty
	}
	for _, q := range m.below(from) {
		m[to+strings.TrimPrefix(q, from)] = m[q]
		delete(m, q)
	}
	m[to] = m[from]
	delete(m, from)
	return nil
}

func same(t *rapid.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) || (got == nil) != (want == nil) {
		t.Fatalf("%s: %v, the model says %v", what, got, want)
	}
}

// TestFileSystemIsAMapOfPaths compares sequences of operations with the model,
// errors and usage included.
func TestFileSystemIsAMapOfPaths(t *testing.T) {
	t.Parallel()
	rapid.Check(t, checkModel)
}

func FuzzFileSystem(f *testing.F) {
	f.Add([]byte("any"))
	f.Fuzz(rapid.MakeFuzz(checkModel))
}

func checkModel(t *rapid.T) {
	fs := newFS(modelBytes, modelFileBytes, modelEntries)
	root, m := fs.Root(), model{}
	name := rapid.SampledFrom([]string{"a", "b", "c"})
	anyPath := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "names"), "/")
	})
	content := rapid.Custom(func(t *rapid.T) []byte {
		return bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.IntRange(0, modelFileBytes+5).Draw(t, "size"))
	})
	t.Repeat(map[string]func(*rapid.T){
		"replace": func(t *rapid.T) {
			p, data := anyPath.Draw(t, "path"), content.Draw(t, "data")
			same(t, "replace "+p, root.Replace(p, slices.Clone(data)), m.put(p, data))
		},
		"mkdir": func(t *rapid.T) {
			p := anyPath.Draw(t, "path")
			same(t, "mkdir "+p, root.Mkdir(p), m.mkdir(p))
		},
		"remove": func(t *rapid.T) {
			p := anyPath.Draw(t, "path")
			same(t, "remove "+p, root.RemoveAll(p), m.removeAll(p))
		},
		"rename": func(t *rapid.T) {
			from, to := anyPath.Draw(t, "from"), anyPath.Draw(t, "to")
			same(t, "rename "+from+" "+to, root.Rename(from, root, to), m.rename(from, to))
		},
		"patch": func(t *rapid.T) {
			p := anyPath.Draw(t, "path")
			if !m.isFile(p) {
				t.Skip("no file")
			}
			f, err := root.Open(p, memfs.Mode{Read: true, Write: true})
			if err != nil {
				t.Fatal(err)
			}
			before, _, err := root.Snapshot(p)
			if err != nil {
				t.Fatal(err)
			}
			kept := slices.Clone(before)
			patch(t, f, m, p)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, kept) {
				t.Fatalf("a snapshot changed from %q to %q", kept, before)
			}
		},
		"": func(t *rapid.T) { compare(t, fs, m) },
	})
}

// patch writes into or truncates an open file, in the model too.
func patch(t *rapid.T, f *memfs.File, m model, p string) {
	t.Helper()
	off := rapid.IntRange(0, modelFileBytes+2).Draw(t, "offset")
	if rapid.Bool().Draw(t, "truncate") {
		data := append(slices.Clone(m[p]), make([]byte, modelFileBytes+2)...)[:off]
		same(t, "truncate "+p, f.Truncate(int64(off)), m.put(p, data))
		return
	}
	text := rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "text")
	data := slices.Clone(m[p])
	if short := off + len(text) - len(data); short > 0 {
		data = append(data, make([]byte, short)...)
	}
	copy(data[off:], text)
	_, err := f.WriteAt(text, int64(off))
	same(t, "write "+p, err, m.put(p, data))
}

func compare(t *rapid.T, fs *memfs.FS, m model) {
	t.Helper()
	if got := fs.Usage(); got != m.usage() {
		t.Fatalf("usage %+v, the model says %+v", got, m.usage())
	}
	seen := model{}
	for queue := []string{"."}; len(queue) > 0; queue = queue[1:] {
		children, err := fs.Root().List(queue[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, child := range children {
			p := path.Join(queue[0], child.Name)
			if seen[p] = nil; child.Dir {
				queue = append(queue, p)
				continue
			}
			data, info, err := fs.Root().Snapshot(p)
			if err != nil || info.Size != int64(len(data)) || info.Size != child.Size {
				t.Fatalf("%s: %+v, %d bytes, %v", p, info, len(data), err)
			}
			seen[p] = append([]byte{}, data...)
		}
	}
	if !maps.EqualFunc(seen, m, func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }) {
		t.Fatalf("the tree is %q, the model says %q", seen, m)
	}
}
