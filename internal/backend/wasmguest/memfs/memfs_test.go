package memfs_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newFS(bytes, fileBytes int64, entries int) *memfs.FS {
	return memfs.New(memfs.Limits{Bytes: bytes, FileBytes: fileBytes, Entries: entries}, func() time.Time { return epoch })
}

func open(t *testing.T, d memfs.Dir, path string, mode memfs.Mode) *memfs.File {
	t.Helper()
	f, err := d.Open(path, mode)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var create = memfs.Mode{Read: true, Write: true, Create: true}

func TestPathsNeverLeaveTheirDirectory(t *testing.T) {
	t.Parallel()
	fs := newFS(1000, 1000, 100)
	root := fs.Root()
	for _, dir := range []string{"base", "base/sub", "beside"} {
		if err := root.Mkdir(dir); err != nil {
			t.Fatal(err)
		}
	}
	base, err := root.Dir("base")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		"..":                           memfs.ErrOutside,
		"../beside":                    memfs.ErrOutside,
		"sub/../../beside":             memfs.ErrOutside,
		"sub/../../base/sub":           memfs.ErrOutside, // also where it would come back
		"/base":                        memfs.ErrOutside,
		"//":                           memfs.ErrOutside,
		"":                             memfs.ErrInvalid,
		"sub\x00":                      memfs.ErrInvalid,
		"none/../sub":                  memfs.ErrNotExist, // not resolved on paper
		strings.Repeat("x", 256):       memfs.ErrNameTooLong,
		strings.Repeat("./", 2049):     memfs.ErrNameTooLong,
		"sub/..":                       nil,
		"sub/../sub/.//./":             nil,
		".":                            nil,
		"..x":                          memfs.ErrNotExist, // a name, not a way up
		"sub/...":                      memfs.ErrNotExist,
		strings.Repeat("./", 2047):     nil,
		strings.Repeat("x", 255):       memfs.ErrNotExist,
		strings.Repeat("sub/../", 500): nil,
	} {
		if _, err := base.Stat(path); !errors.Is(err, want) {
			t.Errorf("Stat(%.40q): %v, want %v", path, err, want)
		}
		if _, err := base.Open(path, memfs.Mode{Read: true}); err == nil {
			t.Errorf("Open(%.40q) opened a directory or nothing", path)
		}
	}
}

func TestRemovedDirectoryHoldsNothing(t *testing.T) {
	t.Parallel()
	fs := newFS(1000, 1000, 100)
	root := fs.Root()
	if err := root.MkdirAll("a/b"); err != nil {
		t.Fatal(err)
	}
	b, err := root.Dir("a/b")
	if err != nil {
		t.Fatal(err)
	}
	if err := root.RemoveAll("a"); err != nil {
		t.Fatal(err)
	}
	if err := b.Mkdir("c"); !errors.Is(err, memfs.ErrNotExist) {
		t.Errorf("mkdir: %v", err)
	}
	if _, err := b.Open("f", create); !errors.Is(err, memfs.ErrNotExist) {
		t.Errorf("create: %v", err)
	}
	if _, err := b.Stat("../../a"); err == nil {
		t.Error("it still has a parent")
	}
	if err := root.Mkdir("a"); err != nil {
		t.Fatal(err)
	}
	if err := root.Rename("a", b, "moved"); !errors.Is(err, memfs.ErrNotExist) {
		t.Errorf("rename into it: %v", err)
	}
	if u := fs.Usage(); u != (memfs.Usage{Entries: 1}) {
		t.Errorf("usage %+v", u)
	}
}

func TestRemovedFileCountsUntilItIsClosed(t *testing.T) {
	t.Parallel()
	fs := newFS(100, 100, 2)
	root := fs.Root()
	f := open(t, root, "f", create)
	if _, err := f.Write(make([]byte, 80)); err != nil {
		t.Fatal(err)
	}
	if err := root.Remove("f"); err != nil {
		t.Fatal(err)
	}
	g := open(t, root, "g", create)
	if _, err := g.Write(make([]byte, 21)); !errors.Is(err, memfs.ErrNoSpace) {
		t.Errorf("writing beside a removed open file: %v", err)
	}
	if _, err := root.Open("h", create); !errors.Is(err, memfs.ErrNoSpace) {
		t.Errorf("an entry beside a removed open file: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Write(make([]byte, 100)); err != nil {
		t.Errorf("after the close: %v", err)
	}
	if err := f.Close(); !errors.Is(err, memfs.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := f.Read(nil); !errors.Is(err, memfs.ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
}

func TestWriteFarBeyondTheEndCostsItsWholeLength(t *testing.T) {
	t.Parallel()
	fs := newFS(100, 50, 5)
	f := open(t, fs.Root(), "f", create)
	for _, off := range []int64{50, 1 << 40, 1<<63 - 1} {
		if _, err := f.WriteAt([]byte("x"), off); !errors.Is(err, memfs.ErrNoSpace) {
			t.Errorf("at %d: %v", off, err)
		}
		if err := f.Truncate(off + 1); !errors.Is(err, memfs.ErrNoSpace) && !errors.Is(err, memfs.ErrInvalid) {
			t.Errorf("truncate to %d: %v", off+1, err)
		}
	}
	if _, err := f.WriteAt([]byte("x"), 49); err != nil {
		t.Error(err)
	}
	if _, err := f.WriteAt([]byte("x"), -1); !errors.Is(err, memfs.ErrInvalid) {
		t.Error(err)
	}
	content, _, err := fs.Root().Snapshot("f")
	if err != nil || string(content) != strings.Repeat("\x00", 49)+"x" {
		t.Errorf("%q, %v", content, err)
	}
	if u := fs.Usage(); u.Bytes != 50 {
		t.Errorf("usage %+v", u)
	}
}

func TestWhatWasCutOffReadsAsZero(t *testing.T) {
	t.Parallel()
	f := open(t, newFS(100, 100, 5).Root(), "f", create)
	if _, err := f.Write([]byte("secret text")); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{8, 11} {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 11)
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != "secret t\x00\x00\x00" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFileIsUsedOnlyAsItWasOpened(t *testing.T) {
	t.Parallel()
	root := newFS(100, 100, 5).Root()
	w := open(t, root, "f", memfs.Mode{Write: true, Create: true})
	if _, err := w.Read(make([]byte, 1)); !errors.Is(err, memfs.ErrClosed) {
		t.Errorf("read of a write-only file: %v", err)
	}
	r := open(t, root, "f", memfs.Mode{Read: true})
	if _, err := r.Write([]byte("x")); !errors.Is(err, memfs.ErrClosed) {
		t.Errorf("write to a read-only file: %v", err)
	}
	if err := r.Truncate(0); !errors.Is(err, memfs.ErrClosed) {
		t.Errorf("truncate of a read-only file: %v", err)
	}
	if _, err := root.Open("f", memfs.Mode{Read: true, Create: true, Exclusive: true}); !errors.Is(err, memfs.ErrExist) {
		t.Errorf("exclusive: %v", err)
	}
	a := open(t, root, "f", memfs.Mode{Write: true, Append: true})
	if _, err := w.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write([]byte("def")); err != nil {
		t.Fatal(err)
	}
	if at, err := a.Seek(-2, io.SeekEnd); err != nil || at != 4 {
		t.Errorf("%d, %v", at, err)
	}
	if _, err := a.Seek(-9, io.SeekCurrent); !errors.Is(err, memfs.ErrInvalid) {
		t.Errorf("seek before the start: %v", err)
	}
	if content, err := io.ReadAll(r); err != nil || string(content) != "abcdef" {
		t.Errorf("%q, %v", content, err)
	}
}

func TestRenameKeepsTheTreeATree(t *testing.T) {
	t.Parallel()
	root := newFS(100, 100, 20).Root()
	for _, dir := range []string{"a/b/c", "empty", "full/x"} {
		if err := root.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := root.Replace("file", []byte("1")); err != nil {
		t.Fatal(err)
	}
	a, err := root.Dir("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{"a", "a/b/c/d", memfs.ErrInvalid},
		{"a", "a/x", memfs.ErrInvalid},
		{".", "x", memfs.ErrInvalid},
		{"a", ".", memfs.ErrInvalid},
		{"a", "full", memfs.ErrNotEmpty},
		{"a", "file", memfs.ErrNotDirectory},
		{"file", "empty", memfs.ErrIsDirectory},
		{"file", "new/", memfs.ErrNotDirectory},
		{"none", "x", memfs.ErrNotExist},
		{"file", "none/x", memfs.ErrNotExist},
		{"file", "file", nil},
		{"a", "a", nil},
		{"a", "empty", nil},
		{"file", "full/x/f", nil},
	} {
		if err := root.Rename(c.from, root, c.to); !errors.Is(err, c.want) {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
	}
	if info, err := a.Stat("b"); err != nil || !info.Dir {
		t.Errorf("the moved directory lost its child: %v", err)
	}
	if err := root.Rmdir("empty/b"); !errors.Is(err, memfs.ErrNotEmpty) {
		t.Error(err)
	}
	if err := a.Rmdir("."); !errors.Is(err, memfs.ErrInvalid) {
		t.Error(err)
	}
	if err := root.RemoveAll("."); !errors.Is(err, memfs.ErrInvalid) {
		t.Error(err)
	}
}
