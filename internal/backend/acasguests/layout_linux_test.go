package acasguests

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
)

type entry struct {
	tar.Header
	content []byte
}

func layer(t *testing.T, entries ...entry) v1.Layer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		e.Size = int64(len(e.content))
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func regular(name, content string, mode int64, uid int) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Uid: uid, Gid: uid}, []byte(content)}
}

func linked(name, to string) entry {
	return entry{tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777}, nil}
}

// written is a layout with an image of those layers, under a name.
func written(t *testing.T, name string, config v1.Config, layers ...v1.Layer) string {
	t.Helper()
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		t.Fatal(err)
	}
	if image, err = mutate.Config(image, config); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	err = path.AppendImage(image, layout.WithAnnotations(map[string]string{named: name}),
		layout.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func busybox(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("/usr/bin/busybox")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("this machine lacks a static busybox")
	}
	return string(content)
}

func TestAnImageOfALayoutIsAllThatItsGuestHas(t *testing.T) {
	t.Parallel()
	needRoot(t)
	g, _ := newGuests(t, nil)
	const name = "registry.example.test/team/app:1"
	dir := written(t, name, v1.Config{User: "app", Env: []string{"PATH=/bin", "OF=image"}, WorkingDir: "/srv"},
		layer(t,
			regular("bin/busybox", busybox(t), 0o755, 0), linked("bin/sh", "busybox"), regular("etc/passwd", "app:x:700:701::/home/app:/bin/sh\n", 0o644, 0),
			regular("gone", "x", 0o644, 0), regular("dir/gone", "x", 0o644, 0), regular("srv/mine", "mine", 0o600, 700), linked("lib", "usr/lib"),
			regular("usr/lib/a", "a", 0o644, 0)),
		layer(t,
			regular(".wh.gone", "", 0o644, 0), regular("dir/.wh..wh..opq", "", 0o644, 0), regular("dir/new", "new", 0o644, 0),
			regular("usr/lib/b", "b", 0o644, 0), entry{tar.Header{Typeflag: tar.TypeBlock, Name: "disk", Devmajor: 8}, nil}),
	)
	r := boot(t, g, acasemu.Boot{ID: "a", Image: acasemu.Image{Reference: name, Layout: dir}, Env: []string{"OF=sandbox"}})
	r.prints("b=/bin/busybox; $b id -u; $b id -g; echo $OF $HOME; pwd; cat=\"$b cat\"; $cat mine; echo; $b ls / /dir", ""+
		"700\n701\nsandbox /home/app\n/srv\nmine\n/:\nbin\ndev\ndir\netc\nlib\nproc\nrun\nsrv\nusr\n\n/dir:\nnew")
	r.prints("/bin/busybox cat /usr/lib/b", "b")

	if _, err := g.Save(t.Context(), "a", "of the image"); err != nil {
		t.Fatal(err)
	}
	again := boot(t, g, acasemu.Boot{ID: "b", Image: acasemu.Image{Saved: "of the image"}})
	again.prints("/bin/busybox id -u; echo $OF; /bin/busybox cat /srv/mine", "700\nimage\nmine")

	// What cannot be unpacked whole is not started, and neither is what is not there.
	passwd := regular("etc/passwd", "app:x:700:701::/home/app:/bin/sh\n", 0o644, 0)
	for what, in := range map[string]string{
		"a name that leads out": written(t, name, v1.Config{}, layer(t, passwd), layer(t, regular("../../escape", "x", 0o644, 0))),
		"no image":              t.TempDir(),
	} {
		if err := g.Start(t.Context(), acasemu.Boot{ID: "c", Image: acasemu.Image{Reference: name, Layout: in}}); err == nil {
			t.Errorf("%s: it is started", what)
		}
	}
}

func TestAnImageForAnotherProcessorIsNotStarted(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*v1.Platform{
		"none": nil, "this": {OS: "linux", Architecture: runtime.GOARCH}, "another": {OS: "linux", Architecture: "s390x"}, "another system": {OS: "windows", Architecture: runtime.GOARCH},
	} {
		if got, want := fits(p), name == "none" || name == "this"; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
