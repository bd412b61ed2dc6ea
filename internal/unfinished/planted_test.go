package unfinished

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// left is a folder with what a killed process left, and the file that has it.
func left(t *testing.T, now time.Time) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	killed := process(t, dir, 1, now)
	begin(t, killed, "volume", "a")
	file = killed.own.f.Name()
	dies(t, killed)
	return dir, file
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Each is one step away from a journal that is taken, and comes with a check-out or
// from a disk that fails.
func TestAJournalThatThisUserDidNotWriteHereIsNotTaken(t *testing.T) {
	t.Parallel()
	rewrite := func(change func(text []byte) []byte) func(*testing.T, string, string) {
		return func(t *testing.T, _, file string) {
			t.Helper()
			text, err := os.ReadFile(file)
			must(t, err, os.WriteFile(file, change(text), 0o600))
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, dir, file string)
		want   string
	}{
		"as it was left":            {func(*testing.T, string, string) {}, "a"},
		"another object":            {rewrite(func(b []byte) []byte { return bytes.Replace(b, []byte("volume"), []byte("others"), 1) }), ""},
		"another mark":              {rewrite(func(b []byte) []byte { return bytes.Replace(b, []byte(marked("a")), []byte(marked("b")), 1) }), ""},
		"no signature":              {rewrite(func(b []byte) []byte { return append(b[:bytes.Index(b, []byte(`,"mac"`))], "}\n"...) }), ""},
		"cut off in the line":       {rewrite(func(b []byte) []byte { return b[:len(b)/2] }), ""},
		"cut off in the line after": {rewrite(func(b []byte) []byte { return append(b, `{"record":{"obj`...) }), "a"},
		"bytes of anything before and after": {rewrite(func(b []byte) []byte {
			noise := append(bytes.Repeat([]byte{0xff, 0, '{', '['}, 20000), '\n')
			return append(append(bytes.Clone(noise), b...), noise...)
		}), "a"},
		"larger than any":  {rewrite(func(b []byte) []byte { return append(b, make([]byte, maxPage)...) }), ""},
		"a terabyte large": {func(t *testing.T, _, file string) { t.Helper(); must(t, os.Truncate(file, 1<<40)) }, ""},
		"nothing":          {func(t *testing.T, _, file string) { t.Helper(); must(t, os.Truncate(file, 0)) }, ""},
		"under another name": {func(t *testing.T, _, file string) {
			t.Helper()
			must(t, os.Rename(file, filepath.Join(filepath.Dir(file), "7-x"+suffix)))
		}, "a"},
		"a name that is no journal's": {func(t *testing.T, _, file string) { t.Helper(); must(t, os.Rename(file, file+".old")) }, ""},
		"a key that is gone":          {func(t *testing.T, dir, _ string) { t.Helper(); must(t, os.Remove(filepath.Join(dir, "keys", keyFile))) }, ""},
		"another key": {func(t *testing.T, dir, _ string) {
			t.Helper()
			must(t, os.WriteFile(filepath.Join(dir, "keys", keyFile), make([]byte, keySize), 0o600))
		}, ""},
		"a key that is too short": {func(t *testing.T, dir, _ string) {
			t.Helper()
			must(t, os.Truncate(filepath.Join(dir, "keys", keyFile), 3))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, file := left(t, time.Now())
			c.change(t, dir, file)
			next := process(t, dir, 2, time.Now())
			got, _, err := next.Take(t.Context(), "volume", false)
			want := c.want
			if want != "" {
				want = marked(want)
			}
			if got.Mark != want || (want != "" && err != nil) {
				t.Errorf("took %q, %v; want %q", got.Mark, err, want)
			}
			if other, found, _ := next.Take(t.Context(), "others", false); found {
				t.Errorf("took %v", other)
			}
		})
	}
}

func TestAJournalOfAnotherDirectoryIsNotTaken(t *testing.T) {
	t.Parallel()
	dir, file := left(t, time.Now())
	elsewhere := filepath.Join(t.TempDir(), "creations")
	text, err := os.ReadFile(file)
	must(t, err, os.Mkdir(elsewhere, 0o700), os.WriteFile(filepath.Join(elsewhere, filepath.Base(file)), text, 0o600))
	takes(t, New(elsewhere, filepath.Join(dir, "keys"), 2, time.Now), "volume", "")
	takes(t, process(t, dir, 2, time.Now()), "volume", "a")
}

// Signed as they are, these were not written by Begin on this clock.
func TestACreationOfATimeOrWithAMarkThatCannotBeIsNotTaken(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		noted, begun time.Time
		mark         string
		want         bool
	}{
		"now":                 {noted: now, begun: now, mark: marked("a"), want: true},
		"noted tomorrow":      {noted: now.Add(24 * time.Hour), begun: now, mark: marked("a")},
		"begun tomorrow":      {noted: now, begun: now.Add(24 * time.Hour), mark: marked("a")},
		"no mark":             {noted: now, begun: now},
		"a mark that is path": {noted: now, begun: now, mark: "../../../../../../../pwned"},
		"a mark too short":    {noted: now, begun: now, mark: marked("a")[1:]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killed := process(t, dir, 1, c.noted)
			must(t, killed.Begin(Creation{Object: "volume", Mark: c.mark, Begun: c.begun}))
			dies(t, killed)
			if got, found, err := process(t, dir, 2, now).Take(t.Context(), "volume", false); found != c.want || err != nil {
				t.Errorf("took %v, %v", got, err)
			}
		})
	}
}

func TestWhatIsNotOursStaysWhereItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "creations")
	must(t, os.Mkdir(folder, 0o700))
	begin(t, process(t, dir, 1, time.Now()), "other", "b") // there is a key
	for name, text := range map[string]string{"1-x" + suffix: "cut off", "1-y" + suffix: "", "README": "not ours"} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	before := files(t, dir)
	takes(t, process(t, dir, 2, time.Now()), "volume", "")
	if n := files(t, dir); n != before {
		t.Errorf("%d of %d files are left", n, before)
	}
}

func TestWithoutAFolderForAKeyNothingIsWrittenDown(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(blocked, nil, 0o600))
	for name, keys := range map[string]string{"none": "", "one that cannot be made": filepath.Join(blocked, "keys")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			j := New(filepath.Join(dir, "creations"), keys, 1, time.Now)
			if err := j.Begin(Creation{Object: "volume", Mark: marked("a")}); err == nil {
				t.Error("it was written down")
			}
			if n := files(t, dir); n != 0 || j.Close() != nil {
				t.Errorf("%d files", n)
			}
		})
	}
}

func TestAFileThatIsFullTakesNoMoreAndLosesNothing(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	killed := process(t, dir, 1, now)
	begin(t, killed, "volume", "a")
	if err := killed.Begin(Creation{Object: strings.Repeat("x", maxPage), Mark: marked("b")}); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v", err)
	}
	dies(t, killed)
	takes(t, process(t, dir, 2, now), "volume", "a")
}

func FuzzAPageOfAnythingIsPassedOver(f *testing.F) {
	f.Add([]byte(`{"record":{"object":"volume","mark":"A"},"mac":"AAAA"}` + "\n"))
	f.Add([]byte("\x00\xff{[\n\n"))
	now := time.Now()
	f.Fuzz(func(t *testing.T, text []byte) {
		dir, file := t.TempDir(), ""
		begin(t, process(t, dir, 1, now), "other", "b") // there is a key
		file = filepath.Join(dir, "creations", "1-x"+suffix)
		must(t, os.WriteFile(file, text, 0o600))
		takes(t, process(t, dir, 2, now), "volume", "")
	})
}
