package view

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

var sizes = Sizes{WorkBytes: 1 << 20, TmpBytes: 2 << 20, SharedBytes: 3 << 20}

func TestAViewIsAnAllowlist(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr"); err != nil {
		t.Skip("this system has no /usr")
	}
	base, err := Host()
	if err != nil {
		t.Fatal(err)
	}
	v, err := Make(base, "/work", sizes)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range v {
		if e.Kind == 0 || e.Path == "/" || !strings.HasPrefix(e.Path, "/") {
			t.Errorf("%+v", e)
		}
		top := "/" + strings.SplitN(e.Path[1:], "/", 2)[0]
		if !slices.Contains([]string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/proc", "/dev", "/tmp", "/work"}, top) {
			t.Errorf("%s is shown", e.Path)
		}
		if e.Kind == Memory && e.Bytes <= 0 {
			t.Errorf("%s has no bound", e.Path)
		}
	}
	for _, s := range v.Sources() {
		for _, hidden := range []string{"/etc/passwd", "/etc/shadow", "/etc/ssh", "/etc/hostname", "/root", "/home", "/var", "/run", "/etc"} {
			if s == hidden || Within(s, hidden) && hidden != "/etc" {
				t.Errorf("%s of the host is shown", s)
			}
		}
	}
}

func TestTheWorkDirectoryCoversNothing(t *testing.T) {
	t.Parallel()
	base := View{{Kind: Show, Path: "/usr", Source: "/usr"}, {Kind: Show, Path: "/opt/tools", Source: "/opt/tools"}}
	for dir, ok := range map[string]bool{
		"/work": true, "/a/b/c": true, "/tmp/a": true, "/opt/work": true, "/run/work": true, "/usrx": true,
		"/": false, "": false, "work": false, "/work/": false, "/work/../x": false, "/usr": false, "/usr/x": false, "/opt": false,
		"/opt/tools": false, "/opt/tools/x": false, "/proc": false, "/proc/x": false, "/dev": false, "/dev/shm": false, "/dev/shm/x": false,
		"/etc": false, "/etc/passwd": false, "/tmp": false, "/run": false, "/run/agent": false, "/run/agent/x": false,
	} {
		_, err := Make(base, dir, sizes)
		if (err == nil) != ok || err != nil && !errors.Is(err, sandbox.CodePathInvalid) {
			t.Errorf("%q: %v", dir, err)
		}
	}
}

func TestARootFileSystemIsShownWithoutWhatIsMadeNew(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"usr/bin", "etc/ssl", "proc", "dev", "tmp/x", "home/app", "run/y", "sys"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"etc/passwd", "etc/hosts", "etc/app.conf", "entry"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("usr/bin", filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}
	v, err := RootFS(sandbox.Path("RootFS"), root)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range v {
		paths = append(paths, e.Path)
		if e.Kind == Show && e.Source != filepath.Join(root, e.Path) || e.Path == "/bin" && (e.Kind != Link || e.Source != "usr/bin") {
			t.Errorf("%+v", e)
		}
	}
	slices.Sort(paths)
	if !slices.Equal(paths, []string{"/bin", "/entry", "/etc/app.conf", "/etc/ssl", "/home", "/usr"}) {
		t.Errorf("%v", paths)
	}
}

func TestARootFileSystemLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	host := t.TempDir() // a home, say
	if err := os.WriteFile(filepath.Join(host, "secret"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(etc string) error{
		"a link":     func(etc string) error { return os.Symlink(host, etc) },
		"a file":     func(etc string) error { return os.WriteFile(etc, nil, 0o600) },
		"a broken":   func(etc string) error { return os.Symlink("nowhere", etc) },
		"ok: none":   func(string) error { return nil },
		"ok: normal": func(etc string) error { return os.Mkdir(etc, 0o700) },
	} {
		root := t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(root, "usr"), 0o700), put(filepath.Join(root, "etc"))); err != nil {
			t.Fatal(err)
		}
		v, err := RootFS(sandbox.Path("RootFS"), root)
		if ok := strings.HasPrefix(name, "ok"); ok != (err == nil) || !ok && !errors.Is(err, sandbox.CodeOptionsInvalid) {
			t.Errorf("%s in place of /etc: %v, %+v", name, err, v)
		}
	}
}

func TestWhatIsShownBesideStandsApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"usr", "a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	base := View{{Kind: Show, Path: filepath.Join(dir, "a", "b"), Source: "/usr"}}
	for path, ok := range map[string]bool{
		filepath.Join(dir, "c"): !Within(dir, "/tmp"), filepath.Join(dir, "a"): false, filepath.Join(dir, "a", "b"): false, dir: false, "/etc": false, "/proc": false, "/dev": false, "/tmp": false,
	} {
		v, err := base.Add(sandbox.Path("Show", 0), path)
		if (err == nil) != ok || ok && v[len(v)-1].Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestWhatHoldsASocketIsNotShown(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "v") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	deep := filepath.Join(dir, "a")
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := CheckSource(sandbox.Path("Show", 0), dir); err != nil {
		t.Errorf("without a socket: %v", err)
	}
	l, err := net.Listen("unix", filepath.Join(deep, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	link := filepath.Join(dir, "link")
	if err := os.Symlink(deep, link); err != nil {
		t.Fatal(err)
	}
	_, err = View{}.Add(sandbox.Path("Show", 0), link)
	if refusal := sandbox.RefusalOf(err); refusal == nil || !strings.Contains(refusal.Found, "socket") {
		t.Errorf("a link to a socket's directory: %v", err)
	}
	for name, source := range map[string]string{
		"with a socket": dir, "that is one": filepath.Join(deep, "s"), "that is not there": filepath.Join(dir, "none"),
		"relative": "a", "not clean": dir + "/../x", "everything": "/",
	} {
		if err := CheckSource(sandbox.Path("Show", 0), source); !errors.Is(err, sandbox.CodeOptionsInvalid) {
			t.Errorf("a source %s: %v", name, err)
		}
	}
}
