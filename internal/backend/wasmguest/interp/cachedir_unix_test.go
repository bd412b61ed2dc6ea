//go:build unix

package interp_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/interp"
)

// spoiler does something to a cache directory.
type spoiler func(t *testing.T, dir string)

func TestOnlyAPrivateDirectoryHoldsCompiledCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil spoiler
		want  error
	}{
		"a new directory":                                    {nothing, nil},
		"one with our entries":                               {entryOf(0o600), nil},
		"readable by others":                                 {modeOf(".", 0o755), nil},
		"writable by the group":                              {modeOf(".", 0o770), interp.ErrCacheUnfit},
		"writable by all":                                    {modeOf(".", 0o777), interp.ErrCacheUnfit},
		"writable by all but sticky":                         {modeOf(".", 0o777|os.ModeSticky), interp.ErrCacheUnfit},
		"an entry writable by others":                        {entryOf(0o602), interp.ErrCacheUnfit},
		"an entry that is a link":                            {link, interp.ErrCacheUnfit},
		"a directory above is writable by others":            {modeOf("..", 0o777), interp.ErrCacheUnfit},
		"a directory above is writable by others but sticky": {modeOf("..", 0o777|os.ModeSticky), nil},
		"an entry of another user":                           {foreign, interp.ErrCacheUnfit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "above", "cache")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, dir)
			if _, err := interp.PrepareCacheDir(dir); !errors.Is(err, c.want) {
				t.Error(err)
			}
		})
	}
}

func TestCacheDirectoryIsMadePrivate(t *testing.T) {
	t.Parallel()
	dir, err := interp.PrepareCacheDir(filepath.Join(t.TempDir(), "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestLinkToACacheDirectoryIsJudgedWhereItLeads(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	open := filepath.Join(root, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink(open, link); err != nil {
		t.Fatal(err)
	}
	if dir, err := interp.PrepareCacheDir(link); err != nil || filepath.Base(dir) != "open" {
		t.Errorf("%s, %v", dir, err)
	}
	chmod(t, open, 0o777)
	if _, err := interp.PrepareCacheDir(link); !errors.Is(err, interp.ErrCacheUnfit) {
		t.Error(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
}

func nothing(t *testing.T, _ string) { t.Helper() }

// modeOf sets the mode of what stands at path from the directory.
func modeOf(path string, mode os.FileMode) spoiler {
	return func(t *testing.T, dir string) {
		t.Helper()
		chmod(t, filepath.Join(dir, path), mode)
	}
}

func entryOf(mode os.FileMode) spoiler {
	return func(t *testing.T, dir string) {
		t.Helper()
		write(t, filepath.Join(dir, "v1", "entry"), mode)
	}
}

func link(t *testing.T, dir string) {
	t.Helper()
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "entry")); err != nil {
		t.Fatal(err)
	}
}

func foreign(t *testing.T, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "entry"), 0o600)
	if err := os.Chown(filepath.Join(dir, "entry"), 65534, 65534); err != nil {
		t.Skip("only root can give files away")
	}
}
