package guestagent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// scenery is one of each thing that can stand at a path.
const scenery = `mkdir -p dir/below; echo content >file; echo below >dir/below/file
	ln -s file link; ln -s dir dirlink; ln -s loop loop; ln -s /etc etc; ln -s absent dangling; mkfifo fifo
	ln file hard; truncate -s 5000000 sparse; touch empty`

func TestEachThingIsWhatItIs(t *testing.T) {
	t.Parallel()
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			if r := b.sh(scenery); r.err != nil || r.code != 0 {
				t.Fatalf("%+v", r)
			}
			want := map[string]engine.Info{
				"file": {Kind: sandbox.EntryFile, Size: 8, SizeKnown: true}, "hard": {Kind: sandbox.EntryFile, Size: 8, SizeKnown: true},
				"sparse": {Kind: sandbox.EntryFile, Size: 5_000_000, SizeKnown: true}, "empty": {Kind: sandbox.EntryFile, SizeKnown: true},
				"dir": {Kind: sandbox.EntryDirectory}, "fifo": {Kind: sandbox.EntryOther},
				"link": {Kind: sandbox.EntrySymlink}, "dirlink": {Kind: sandbox.EntrySymlink}, "loop": {Kind: sandbox.EntrySymlink},
				"etc": {Kind: sandbox.EntrySymlink}, "dangling": {Kind: sandbox.EntrySymlink},
			}
			listed := b.list("")
			for name, info := range want {
				info.Name = name
				if got, err := b.Stat(t.Context(), b.ref(name)); got != info || err != nil {
					t.Errorf("stat %s: %+v, %v", name, got, err)
				}
				if listed[name] != info {
					t.Errorf("list %s: %+v", name, listed[name])
				}
			}
			if len(listed) != len(want) {
				t.Errorf("listed %v", listed)
			}
			if got := b.read("sparse"); got != strings.Repeat("\x00", 5_000_000) {
				t.Errorf("the sparse file gave %d bytes", len(got))
			}
			if b.read("empty") != "" || b.read("hard") != "content\n" {
				t.Error("an empty file or a second name")
			}
		})
	}
}

// operations are every one on a path, each told whether it went well.
func (b *box) operations(ctx context.Context) map[string]func(ref engine.FileRef) error {
	return map[string]func(ref engine.FileRef) error{
		"stat": func(ref engine.FileRef) error {
			_, err := b.Stat(ctx, ref)
			return err
		},
		"open": func(ref engine.FileRef) error {
			r, _, err := b.Open(ctx, ref)
			if err == nil {
				_, err = io.Copy(io.Discard, r)
				r.Close()
			}
			return err
		},
		"write": func(ref engine.FileRef) error { return b.Write(ctx, ref, strings.NewReader("new"), 3) },
		"mkdir": func(ref engine.FileRef) error { return b.Mkdir(ctx, ref) },
		"list": func(ref engine.FileRef) error {
			return b.List(ctx, ref, func(engine.Info) bool { return true })
		},
		"remove":       func(ref engine.FileRef) error { return b.Remove(ctx, ref, false) },
		"remove whole": func(ref engine.FileRef) error { return b.Remove(ctx, ref, true) },
	}
}

func TestEachOperationAnswersEachThing(t *testing.T) {
	t.Parallel()
	var (
		notExist, through  = engine.ErrNotExist, engine.ErrThroughLink
		notRegular, notDir = engine.ErrNotRegular, engine.ErrNotDirectory
		isDir              = engine.ErrIsDirectory
	)
	// What each operation says of each path; where nothing is said it goes well.
	says := map[string]map[string]error{
		"stat": {"absent": notExist, "absent/x": notExist, "file/x": notDir, "dirlink/below": through, "loop/x": through, "etc/passwd": through, "fifo/x": notDir},
		"open": {
			"absent": notExist, "absent/x": notExist, "file/x": notDir, "dirlink/below": through, "loop/x": through, "etc/passwd": through, "fifo/x": notDir,
			"dir": notRegular, "fifo": notRegular, "link": through, "dangling": through, "loop": through, "dirlink": through,
		},
		"write": {
			"absent/x": notExist, "file/x": notDir, "dirlink/below": through, "loop/x": through, "etc/passwd": through, "fifo/x": notDir,
			"dir": notRegular, "fifo": notRegular, "link": through, "dangling": through, "loop": through, "dirlink": through,
		},
		"mkdir": {
			"absent/x": notExist, "file/x": notDir, "dirlink/below": through, "loop/x": through, "etc/passwd": through, "fifo/x": notDir,
			"file": notDir, "fifo": notDir, "link": through, "dangling": through, "loop": through, "dirlink": through,
		},
		"list": {
			"absent": notExist, "absent/x": notExist, "file/x": notDir, "dirlink/below": through, "loop/x": through, "etc/passwd": through, "fifo/x": notDir,
			"file": notDir, "fifo": notDir, "link": through, "dangling": through, "loop": through, "dirlink": through,
		},
		"remove": {
			"absent": notExist, "absent/x": notExist, "file/x": notDir, "dirlink/below": through, "loop/x": through, "etc/passwd": through, "fifo/x": notDir,
			"dir": isDir,
		},
		"remove whole": {
			"absent": notExist, "absent/x": notExist, "file/x": notDir, "dirlink/below": through, "loop/x": through, "etc/passwd": through, "fifo/x": notDir,
		},
	}
	paths := []string{
		"absent", "absent/x", "file", "file/x", "dir", "dir/below", "dirlink", "dirlink/below", "link", "dangling", "loop", "loop/x", "fifo", "fifo/x", "etc", "etc/passwd",
	}
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			changed := true
			for op, do := range b.operations(t.Context()) {
				for _, path := range paths {
					if changed {
						if r := b.sh("rm -rf ./*; " + scenery); r.err != nil || r.code != 0 {
							t.Fatalf("%+v", r)
						}
					}
					want := says[op][path]
					if path == "etc" {
						want = says[op]["dirlink"]
					}
					if path == "dir/below" && op != "stat" && op != "list" {
						want = says[op]["dir"]
					}
					if err := do(b.ref(path)); !errors.Is(err, want) || err != nil && want == nil {
						t.Errorf("%s %s: %v, not %v", op, path, err, want)
					}
					changed = want == nil && op != "stat" && op != "open" && op != "list"
					for name := range b.list("") {
						if strings.HasPrefix(name, ".sandbox") {
							t.Errorf("%s %s left %s", op, path, name)
						}
					}
				}
			}
		})
	}
}

func TestReferencesThatNoCallerMakesAreRefusedHere(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	good := b.ref("file")
	b.write("file", "x")
	for name, change := range map[string]func(*engine.FileRef){
		"relative":       func(r *engine.FileRef) { r.Path = "file" },
		"empty":          func(r *engine.FileRef) { r.Path = "" },
		"dots":           func(r *engine.FileRef) { r.Path = b.dir + "/../x" },
		"slash at end":   func(r *engine.FileRef) { r.Path += "/" },
		"NUL":            func(r *engine.FileRef) { r.Path += "\x00" },
		"above its root": func(r *engine.FileRef) { r.Path = "/etc/passwd" },
		"beside it":      func(r *engine.FileRef) { r.Path = r.Root + "x" },
		"as root":        func(r *engine.FileRef) { r.Access.As = sandbox.PrincipalRoot },
		"following":      func(r *engine.FileRef) { r.Access.Links = engine.Follow },
		"no access":      func(r *engine.FileRef) { r.Access = engine.Access{} },
	} {
		for op, do := range b.operations(t.Context()) {
			ref := good
			change(&ref)
			if err := do(ref); err == nil {
				t.Errorf("%s, %s: it went well", op, name)
			}
		}
	}
	if b.read("file") != "x" {
		t.Error("the file changed")
	}
}

func TestWholeTreeIsARootLikeAnyOther(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	at := func(path string) engine.FileRef {
		return engine.FileRef{Root: "/", Path: path, Access: guestagent.Access()}
	}
	for path, want := range map[string]sandbox.EntryKind{"/": sandbox.EntryDirectory, b.dir: sandbox.EntryDirectory, "/dev/null": sandbox.EntryOther, "/proc/self": sandbox.EntrySymlink} {
		if i, err := b.Stat(t.Context(), at(path)); err != nil || i.Kind != want {
			t.Errorf("%s: %+v, %v", path, i, err)
		}
	}
	if _, err := b.Stat(t.Context(), at("/proc/self/root/etc")); !errors.Is(err, engine.ErrThroughLink) {
		t.Errorf("through a link of /proc: %v", err)
	}
	for op, want := range map[string]error{"stat": nil, "open": engine.ErrNotRegular, "write": engine.ErrNotRegular, "mkdir": nil, "list": nil, "remove": engine.ErrPermission, "remove whole": engine.ErrPermission} {
		if err := b.operations(t.Context())[op](at("/")); !errors.Is(err, want) || err != nil && want == nil {
			t.Errorf("%s /: %v, not %v", op, err, want)
		}
	}
	if _, _, err := b.Open(t.Context(), at("/dev/zero")); !errors.Is(err, engine.ErrNotRegular) {
		t.Errorf("open a device: %v", err)
	}
}

func TestNamesAreBytes(t *testing.T) {
	t.Parallel()
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			names := []string{"\xff\xfe", "new\nline", " ", "-rf", "ü", "\x01\x7f", strings.Repeat("n", 255), "*", "a\\b", "..."}
			for _, name := range names {
				b.write(name, name)
				if got := b.read(name); got != name {
					t.Errorf("%q: %q", name, got)
				}
			}
			found := b.list("")
			for _, name := range names {
				if found[name].Size != int64(len(name)) {
					t.Errorf("%q was not listed", name)
				}
				if err := b.Remove(t.Context(), b.ref(name), false); err != nil {
					t.Errorf("%q: %v", name, err)
				}
			}
			long := strings.Repeat("n", 256)
			for op, do := range b.operations(t.Context()) {
				if err := do(b.ref(long)); err == nil || op == "stat" && !errors.Is(err, engine.ErrNotExist) {
					t.Errorf("%s of a name too long: %v", op, err)
				}
			}
		})
	}
}

func TestWriteChangesNothingUnlessAllOfItArrived(t *testing.T) {
	t.Parallel()
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			b.write("file", "before")
			failed := errors.New("failed")
			big := int64(3 << 20)
			for name, c := range map[string]struct {
				content io.Reader
				size    int64
				want    error
			}{
				"empty for more":    {strings.NewReader(""), 5, engine.ErrSize},
				"short":             {strings.NewReader("1234"), 5, engine.ErrSize},
				"long":              {strings.NewReader("123456"), 5, engine.ErrSize},
				"long for none":     {strings.NewReader("1"), 0, engine.ErrSize},
				"negative":          {strings.NewReader(""), -1, engine.ErrSize},
				"short of much":     {zeros(big - 1), big, engine.ErrSize},
				"long of much":      {zeros(big + 1), big, engine.ErrSize},
				"fails at once":     {failingReader{failed}, 5, failed},
				"fails in the end":  {io.MultiReader(zeros(big), failingReader{failed}), big, failed},
				"fails on the way":  {io.MultiReader(zeros(big/2), failingReader{failed}), big, failed},
				"nothing, for more": {nil, 1, engine.ErrSize},
			} {
				if err := b.Write(t.Context(), b.ref("file"), c.content, c.size); !errors.Is(err, c.want) {
					t.Errorf("%s: %v, not %v", name, err, c.want)
				}
				if got := b.read("file"); got != "before" {
					t.Errorf("%s: the file is %q", name, got)
				}
			}
			if n := len(b.list("")); n != 1 {
				t.Errorf("%d files", n)
			}
			for name, content := range map[string]string{"nothing": "", "one": "1", "a chunk": strings.Repeat("c", 256<<10), "a chunk and one": strings.Repeat("c", 256<<10+1)} {
				b.write("file", content)
				if b.read("file") != content {
					t.Errorf("%s: another content", name)
				}
			}
			if err := b.Write(t.Context(), b.ref("file"), nil, 0); err != nil || b.read("file") != "" {
				t.Errorf("nothing, as nil: %v", err)
			}
		})
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func TestReplacedFileKeepsItsPermissions(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	b.write("new", "#!/bin/sh\necho 1")
	b.sh("cp new tool; chmod 700 tool")
	b.write("tool", "#!/bin/sh\necho 2")
	if r := b.sh("stat -c %a new tool; ./tool"); r.stdout != "644\n700\n2\n" {
		t.Errorf("%+v", r)
	}
}

func TestFullStorageIsNamedAndLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	b := start(t, asSelf(), guestagent.Options{})
	small := filepath.Join(b.dir, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", small, "tmpfs", 0, "size=1m,nr_inodes=6"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(small, unix.MNT_DETACH) })
	b.write("small/file", "before")
	if err := b.Write(t.Context(), b.ref("small/file"), zeros(8<<20), 8<<20); !errors.Is(err, engine.ErrNoSpace) {
		t.Errorf("%v", err)
	}
	if b.read("small/file") != "before" || len(b.list("small")) != 1 {
		t.Errorf("%v", b.list("small"))
	}
	for i := range 10 {
		err := b.Mkdir(t.Context(), b.ref(fmt.Sprintf("small/%d", i)))
		if err == nil {
			continue
		}
		if !errors.Is(err, engine.ErrNoSpace) {
			t.Errorf("%v", err)
		}
		break
	}
	if err := b.Write(t.Context(), b.ref("small/other"), strings.NewReader("x"), 1); !errors.Is(err, engine.ErrNoSpace) {
		t.Errorf("without an inode: %v", err)
	}
	if err := unix.Mount("", small, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for op, do := range b.operations(t.Context()) {
		want := engine.ErrPermission
		switch op {
		case "stat", "open":
			want = nil
		case "list":
			want = engine.ErrNotDirectory
		case "mkdir":
			continue
		}
		if err := do(b.ref("small/file")); !errors.Is(err, want) {
			t.Errorf("%s on a read-only file system: %v", op, err)
		}
	}
}

func TestGuestsOwnRightsAreTheAgents(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root has rights to leave behind")
	}
	b := start(t, asNobody(), guestagent.Options{})
	secret := filepath.Join(b.dir, "secret")
	if err := os.Mkdir(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "canary"), []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for op, do := range b.operations(t.Context()) {
		if err := do(b.ref("secret/file")); !errors.Is(err, engine.ErrPermission) {
			t.Errorf("%s: %v", op, err)
		}
	}
	if _, _, err := b.Open(t.Context(), b.ref("canary")); !errors.Is(err, engine.ErrPermission) {
		t.Errorf("a file of root's: %v", err)
	}
}

func TestHugeDirectoryIsListedInParts(t *testing.T) {
	t.Parallel()
	b := start(t, asSelf(), guestagent.Options{})
	const n = 50_000
	for i := range n {
		if err := os.Symlink("x", filepath.Join(b.dir, fmt.Sprintf("a-rather-long-name-for-an-entry-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(b.list("")); got != n {
		t.Errorf("%d entries", got)
	}
	seen := 0
	if err := b.List(t.Context(), b.ref(""), func(engine.Info) bool {
		seen++
		return seen < 10
	}); err != nil || seen != 10 {
		t.Errorf("%d entries, %v", seen, err)
	}
	if err := b.Remove(t.Context(), b.ref(""), true); err != nil {
		t.Error(err)
	}
}

func TestDeepTreeIsRemovedWhole(t *testing.T) {
	t.Parallel()
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			// Far deeper than a path can name, with a closed directory on the way.
			if r := b.sh(`mkdir -p tree/closed/inner tree/sealed/inner; touch tree/sealed/file; chmod 0 tree/closed; chmod 500 tree/sealed`); r.code != 0 {
				t.Fatalf("%+v", r)
			}
			code, err := b.Exec(t.Context(), engine.ExecRequest{
				Args: []string{filepath.Join(b.bin, "probe")}, Dir: b.dir + "/tree", Env: []string{probeVariable + "=deep"},
			})
			if code != 0 || err != nil {
				t.Fatalf("exit %d, %v", code, err)
			}
			if err := b.Remove(t.Context(), b.ref("tree"), true); err != nil {
				t.Error(err)
			}
			if left := b.list(""); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestLeasedFileHoldsUpNobody(t *testing.T) {
	t.Parallel()
	b := start(t, asSelf(), guestagent.Options{})
	name := filepath.Join(b.dir, "file")
	if err := os.WriteFile(name, []byte("content"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skip("no leases here:", err)
	}
	if _, _, err := b.Open(t.Context(), b.ref("file")); !errors.Is(err, guestagent.ErrBusy) {
		t.Errorf("open: %v", err)
	}
	if r := b.run(t.Context(), nil, "./file"); r.err == nil {
		t.Errorf("run: %+v", r)
	}
	b.write("file", "replaced")
	if b.read("file") != "replaced" {
		t.Error("it was not replaced")
	}
}
