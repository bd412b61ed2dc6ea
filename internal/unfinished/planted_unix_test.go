//go:build unix

package unfinished

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Each is one step away from a journal that is taken.
func TestAFileThatOthersCouldHaveWrittenOrThatIsNoneIsNotTaken(t *testing.T) {
	t.Parallel()
	mode := func(mode fs.FileMode, of ...string) func(*testing.T, string, string) {
		return func(t *testing.T, dir, file string) {
			t.Helper()
			if len(of) > 0 {
				file = filepath.Join(append([]string{dir}, of...)...)
			}
			must(t, os.Chmod(file, mode))
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, dir, file string)
		want   string
	}{
		"readable by this user alone":             {mode(0o600), "a"},
		"readable by all":                         {mode(0o644), ""},
		"writable by the group":                   {mode(0o620), ""},
		"a folder for all":                        {mode(0o777, "creations"), "a"}, // and then for nobody else
		"a key that all can read":                 {mode(0o644, "keys", keyFile), ""},
		"a key's folder that others can write to": {mode(0o770, "keys"), ""},
		"a link to it": {func(t *testing.T, dir, file string) {
			t.Helper()
			away := filepath.Join(dir, "away")
			must(t, os.Rename(file, away), os.Symlink(away, file))
		}, ""},
		"a pipe": {func(t *testing.T, _, file string) { t.Helper(); must(t, os.Remove(file), syscall.Mkfifo(file, 0o600)) }, ""},
		"a folder that is a link": {func(t *testing.T, dir, file string) {
			t.Helper()
			away := filepath.Join(dir, "away")
			must(t, os.Rename(filepath.Dir(file), away), os.Symlink(away, filepath.Dir(file)))
		}, ""},
		"a key that is a link": {func(t *testing.T, dir, _ string) {
			t.Helper()
			key, away := filepath.Join(dir, "keys", keyFile), filepath.Join(dir, "away")
			must(t, os.Rename(key, away), os.Symlink(away, key))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, file := left(t, time.Now())
			c.change(t, dir, file)
			got, _, err := process(t, dir, 2, time.Now()).Take(t.Context(), "volume", false)
			want := c.want
			if want != "" {
				want = marked(want)
			}
			if got.Mark != want || (want != "" && err != nil) {
				t.Errorf("took %q, %v; want %q", got.Mark, err, want)
			}
		})
	}
}

func TestAFolderThatWasForAllIsForThisUserAloneAfterwards(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "creations")
	must(t, os.Mkdir(folder, 0o700), os.Chmod(folder, 0o777)) // as a check-out may leave it
	begin(t, process(t, dir, 1, time.Now()), "volume", "a")
	for _, name := range []string{"creations", "keys", filepath.Join("keys", keyFile)} {
		info, err := os.Lstat(filepath.Join(dir, name))
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", name, info.Mode())
		}
	}
}

func TestNothingIsWrittenThroughALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	away := filepath.Join(dir, "away")
	must(t, os.Mkdir(away, 0o700), os.Symlink(away, filepath.Join(dir, "creations")))
	if err := process(t, dir, 1, time.Now()).Begin(Creation{Object: "volume", Mark: marked("a")}); err == nil {
		t.Error("it was written down")
	}
	if entries, err := os.ReadDir(away); err != nil || len(entries) != 0 {
		t.Errorf("found %v, %v", entries, err)
	}
}
