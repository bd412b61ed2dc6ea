package gvisor

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
)

// laid is what stands in the tree's root: each name with its mode, and where a
// link leads.
func laid(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		says := info.Mode().String() + " " + strings.TrimPrefix(path, root)
		if to, err := os.Readlink(path); err == nil {
			says += " -> " + to
		}
		found = append(found, says)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTreeHoldsWhatTheViewHolds(t *testing.T) {
	t.Parallel()
	host := t.TempDir()
	small := filepath.Join(host, "small")
	link := filepath.Join(host, "link")
	if os.WriteFile(small, []byte("small"), 0o600) != nil || os.Symlink(host, link) != nil {
		t.Fatal("no host")
	}
	root := t.TempDir()
	tree, err := Lay(root, view.View{
		{Kind: view.Show, Path: "/usr", Source: link},
		{Kind: view.Show, Path: "/etc/one", Source: small},
		{Kind: view.Link, Path: "/bin", Source: "usr/bin"},
		{Kind: view.File, Path: "/etc/passwd", Content: []byte("sandbox"), Mode: 0o444},
		{Kind: view.Copy, Path: "/etc/deep/small", Source: small, Mode: 0o444},
		{Kind: view.Processes, Path: "/proc"},
		{Kind: view.ShowDevice, Path: "/proc/kcore", Source: "/dev/null"},
		{Kind: view.Memory, Path: "/dev", Bytes: 1, Sealed: true},
		{Kind: view.ShowDevice, Path: "/dev/null", Source: "/dev/null"},
		{Kind: view.Link, Path: "/dev/fd", Source: "/proc/self/fd"},
		{Kind: view.Memory, Path: "/dev/shm", Bytes: 10},
		{Kind: view.Memory, Path: "/tmp", Bytes: 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := filepath.EvalSymlinks(host)
	if err != nil {
		t.Fatal(err)
	}
	if want := []View{{resolved, "/usr"}, {filepath.Join(resolved, "small"), "/etc/one"}}; !slices.Equal(tree.Views, want) {
		t.Errorf("shown is %v, want %v", tree.Views, want)
	}
	if want := []Scratch{{"/dev/shm", 10, 0o700}, {"/tmp", 20, 0o700}}; !slices.Equal(tree.Scratch, want) || tree.Socket {
		t.Errorf("in memory is %v, want %v; socket %v", tree.Scratch, want, tree.Socket)
	}
	want := []string{
		"Lrwxrwxrwx /bin -> usr/bin", "drwxr-xr-x /dev", "drwxr-xr-x /dev/shm", "drwxr-xr-x /etc", "drwxr-xr-x /etc/deep",
		"-r--r--r-- /etc/deep/small", "-r--r--r-- /etc/one", "-r--r--r-- /etc/passwd", "drwxr-xr-x /run", "drwxr-xr-x /tmp", "drwxr-xr-x /usr",
	}
	if got := laid(t, root); !slices.Equal(got, want) {
		t.Errorf("the root holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTreeSaysWhetherItHoldsASocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	tree, err := Lay(t.TempDir(), view.View{{Kind: view.ShowSocket, Path: "/run/proxy", Source: path}})
	if err != nil || !tree.Socket || len(tree.Views) != 1 {
		t.Errorf("%+v, %v", tree, err)
	}
	for socket, want := range map[bool]string{true: "--host-uds=open", false: "--host-uds=none"} {
		if !slices.Contains(Settings("/notes", socket), want) {
			t.Errorf("with a socket %v runsc is not told %s", socket, want)
		}
	}
}

func TestTreeRefusesWhatGVisorHasNoPlaceFor(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]view.Entry{
		"nothing":                   {},
		"no kind":                   {Path: "/x"},
		"no place":                  {Kind: view.File},
		"the root":                  {Kind: view.Show, Path: "/", Source: "/usr"},
		"a place that leads up":     {Kind: view.File, Path: "/../x"},
		"a device":                  {Kind: view.ShowDevice, Path: "/dev/kvm", Source: "/dev/kvm"},
		"a device in a known place": {Kind: view.ShowDevice, Path: "/dev/null", Source: "/dev/kvm"},
		"a device over /proc":       {Kind: view.ShowDevice, Path: "/proc/kcore", Source: "/dev/mem"},
		"processes elsewhere":       {Kind: view.Processes, Path: "/x"},
		"a sealed file system":      {Kind: view.Memory, Path: "/x", Bytes: 1, Sealed: true},
		"what is not there":         {Kind: view.Show, Path: "/x", Source: "/nowhere"},
		"a copy of nothing":         {Kind: view.Copy, Path: "/x", Source: "/nowhere", Mode: 0o444},
	} {
		if tree, err := Lay(t.TempDir(), view.View{e}); err == nil {
			t.Errorf("%s: %+v", name, tree)
		}
	}
}
