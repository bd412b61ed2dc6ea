package unfinished

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// process is one process with a journal in the folder.
func process(t *testing.T, dir string, parent int, now time.Time) *Journal {
	t.Helper()
	return New(dir, parent, &clock{now: now})
}

// clock passes the time that is waited for, and lets something happen meanwhile.
type clock struct {
	now       time.Time
	meanwhile func()
}

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	if c.meanwhile != nil {
		c.meanwhile()
		c.meanwhile = nil
	}
	return ctx.Err()
}

// dies ends a process as a kill does: its lock goes, what it wrote stays.
func dies(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.own.Close(); err != nil {
		t.Fatal(err)
	}
	j.own = nil
}

func begin(t *testing.T, j *Journal, object, mark string) Creation {
	t.Helper()
	c := Creation{Object: object, Mark: mark}
	if err := j.Begin(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// taken is the mark of what is taken, empty for nothing.
func taken(t *testing.T, j *Journal, object string) string {
	t.Helper()
	c, found, err := j.Take(t.Context(), object, false)
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return ""
	}
	return c.Mark
}

func files(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(entries)
}

func TestWhatAKilledProcessBeganIsTakenOnce(t *testing.T) {
	t.Parallel()
	dir, now := filepath.Join(t.TempDir(), "creations"), time.Now()
	killed := process(t, dir, 1, now)
	begin(t, killed, "volume", "a")
	if err := killed.Made(begin(t, killed, "volume", "b"), "id"); err != nil {
		t.Fatal(err)
	}
	begin(t, killed, "other", "c")
	dies(t, killed)
	first, second := process(t, dir, 2, now), process(t, dir, 2, now)
	got := map[string]bool{taken(t, first, "volume"): true, taken(t, second, "volume"): true}
	if !got["a"] || !got["b"] {
		t.Errorf("took %v", got)
	}
	if mark := taken(t, second, "volume"); mark != "" {
		t.Errorf("took %q a second time", mark)
	}
	if mark := taken(t, first, "other"); mark != "c" {
		t.Errorf("took %q", mark)
	}
}

func TestWhatIsTakenSurvivesAnotherKill(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	killed := process(t, dir, 1, now)
	begin(t, killed, "volume", "a")
	dies(t, killed)
	next := process(t, dir, 2, now)
	if mark := taken(t, next, "volume"); mark != "a" {
		t.Fatalf("took %q", mark)
	}
	dies(t, next)
	if mark := taken(t, process(t, dir, 3, now), "volume"); mark != "a" {
		t.Errorf("took %q", mark)
	}
}

func TestWhatALivingProcessBeganIsNobodyElses(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	living := process(t, dir, 1, now)
	begin(t, living, "volume", "a")
	other := process(t, dir, 2, now)
	if mark := taken(t, other, "volume"); mark != "" {
		t.Errorf("took %q", mark)
	}
	dies(t, living)
	if c, found, err := other.Take(t.Context(), "volume", true); err != nil || !found || c.Mark != "a" {
		t.Errorf("ended: took %v, %v, %v", c, found, err)
	}
}

func TestAProcessThatIsAboutToEndIsWaitedForAndASiblingIsNot(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	living := process(t, dir, 1, now)
	begin(t, living, "volume", "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sibling := process(t, dir, 1, now)
	if _, found, err := sibling.Take(ctx, "volume", true); found || err != nil || ctx.Err() != nil {
		t.Errorf("took %v, %v", found, err)
	}
	patient := &clock{now: now}
	if c, found, err := New(dir, 2, patient).Take(ctx, "volume", true); found || err != nil || patient.now.Sub(now) < patience {
		t.Errorf("while it lives, and after %s: took %v, %v, %v", patient.now.Sub(now), c, found, err)
	}
	waits := &clock{now: now, meanwhile: func() { dies(t, living) }}
	if c, found, err := New(dir, 2, waits).Take(ctx, "volume", true); err != nil || !found || c.Mark != "a" {
		t.Errorf("took %v, %v, %v", c, found, err)
	}
}

func TestAnOrderlyEndForgetsWhatWasMadeAlone(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	j := process(t, dir, 1, now)
	if err := j.Made(begin(t, j, "group", "made"), "id"); err != nil {
		t.Fatal(err)
	}
	begin(t, j, "volume", "nobody knows")
	begin(t, j, "secret", "refused")
	if err := j.Drop("refused"); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	next := process(t, dir, 2, now)
	for object, want := range map[string]string{"group": "", "volume": "nobody knows", "secret": ""} {
		if mark := taken(t, next, object); mark != want {
			t.Errorf("%s: took %q, want %q", object, mark, want)
		}
	}
	if err := next.Drop("nobody knows"); err != nil {
		t.Fatal(err)
	}
	if err := next.Close(); err != nil || files(t, dir) != 0 {
		t.Errorf("%d files are left, %v", files(t, dir), err)
	}
}

func TestWhatAStateHasIsForgotten(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	killed := process(t, dir, 1, now)
	if err := killed.Made(begin(t, killed, "image of a reference", "made"), "image-id"); err != nil {
		t.Fatal(err)
	}
	begin(t, killed, "group-id", "named")
	begin(t, killed, "image of another", "kept")
	dies(t, killed)
	next := process(t, dir, 2, now)
	for _, id := range []string{"image-id", "group-id", "nothing"} {
		if err := next.Recorded(id); err != nil {
			t.Fatal(err)
		}
	}
	last := process(t, dir, 3, now)
	for object, want := range map[string]string{"image of a reference": "", "group-id": "", "image of another": "kept"} {
		if mark := taken(t, last, object); mark != want {
			t.Errorf("%s: took %q, want %q", object, mark, want)
		}
	}
}

func TestWhatIsOldDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		age  time.Duration
		want string
	}{
		"a day less than a week": {6 * 24 * time.Hour, "a"},
		"a week":                 {keep, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, now := t.TempDir(), time.Now()
			killed := process(t, dir, 1, now.Add(-c.age))
			begin(t, killed, "volume", "a")
			dies(t, killed)
			if mark := taken(t, process(t, dir, 2, now), "volume"); mark != c.want {
				t.Errorf("took %q, want %q", mark, c.want)
			}
		})
	}
}

func TestFilesOfNobodyAreNoObstacle(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	for name, text := range map[string]string{"1-x" + suffix: "cut off", "1-y" + suffix: "", "README": "not ours"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if mark := taken(t, process(t, dir, 2, now), "volume"); mark != "" {
		t.Errorf("took %q", mark)
	}
	if n := files(t, dir); n != 2 {
		t.Errorf("%d files are left, want the one that may be about to be written and the one of somebody else", n)
	}
}

// A file that cannot be opened may be a living process's. It stays, it is told of, and
// what others left is found beside it.
func TestAFileThatCannotBeOpenedStays(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	killed := process(t, dir, 1, now)
	begin(t, killed, "volume", "a")
	dies(t, killed)
	closed := filepath.Join(dir, "1-closed"+suffix)
	if err := os.Symlink(closed, closed); err != nil { // no user may open it, root neither
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "1-a"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "1-short"+suffix)
	if err := os.WriteFile(short, whole[:os.Getpagesize()], 0o600); err != nil {
		t.Fatal(err)
	}
	next := process(t, dir, 2, now)
	if c, found, err := next.Take(t.Context(), "volume", false); !found || c.Mark != "a" || err == nil || !strings.Contains(err.Error(), closed) {
		t.Errorf("took %v, %v, %v", c, found, err)
	}
	if err := next.Recorded("nothing"); err != nil {
		t.Errorf("it is told a second time: %v", err)
	}
	if _, err := os.Lstat(closed); err != nil {
		t.Errorf("the file that could not be opened: %v", err)
	}
	if _, err := os.Lstat(short); !os.IsNotExist(err) {
		t.Errorf("the file that was cut off: %v", err)
	}
}

func TestAJournalOfNothingRemembersNothing(t *testing.T) {
	t.Parallel()
	var none *Journal
	c := begin(t, none, "volume", "a")
	if none.Made(c, "id") != nil || none.Drop("a") != nil || none.Recorded("id") != nil || none.Close() != nil || taken(t, none, "volume") != "" {
		t.Error("it did something")
	}
}
