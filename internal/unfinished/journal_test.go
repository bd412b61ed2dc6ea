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
	return New(filepath.Join(dir, "creations"), filepath.Join(dir, "keys"), parent, func() time.Time { return now })
}

// dies ends a process as a kill does: its lock goes, what it wrote stays.
func dies(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.own.f.Close(); err != nil {
		t.Fatal(err)
	}
	j.own = nil
}

// marked is a mark that is told from others by a name.
func marked(name string) string {
	letters := strings.ToUpper(strings.ReplaceAll(name, " ", "")) + strings.Repeat("A", 26)
	return letters[:26]
}

func begin(t *testing.T, j *Journal, object, mark string) Creation {
	t.Helper()
	c := Creation{Object: object, Mark: marked(mark)}
	if err := j.Begin(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// takes wants the creation with this mark to be what is there, or nothing for no mark.
func takes(t *testing.T, j *Journal, object, mark string) {
	t.Helper()
	want := mark
	if want != "" {
		want = marked(mark)
	}
	if got := taken(t, j, object); got != want {
		t.Errorf("%s: took %q, want %q", object, got, want)
	}
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
	entries, err := os.ReadDir(filepath.Join(dir, "creations"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(entries)
}

func TestWhatAKilledProcessBeganIsTakenOnce(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	killed := process(t, dir, 1, now)
	begin(t, killed, "volume", "a")
	if err := killed.Made(begin(t, killed, "volume", "b"), "id"); err != nil {
		t.Fatal(err)
	}
	begin(t, killed, "other", "c")
	dies(t, killed)
	first, second := process(t, dir, 2, now), process(t, dir, 2, now)
	got := map[string]bool{taken(t, first, "volume"): true, taken(t, second, "volume"): true}
	if !got[marked("a")] || !got[marked("b")] {
		t.Errorf("took %v", got)
	}
	takes(t, second, "volume", "")
	takes(t, first, "other", "c")
}

func TestWhatIsTakenSurvivesAnotherKill(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	killed := process(t, dir, 1, now)
	begin(t, killed, "volume", "a")
	dies(t, killed)
	next := process(t, dir, 2, now)
	takes(t, next, "volume", "a")
	dies(t, next)
	takes(t, process(t, dir, 3, now), "volume", "a")
}

func TestWhatALivingProcessBeganIsNobodyElses(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	living := process(t, dir, 1, now)
	begin(t, living, "volume", "a")
	other := process(t, dir, 2, now)
	takes(t, other, "volume", "")
	dies(t, living)
	if c, found, err := other.Take(t.Context(), "volume", true); err != nil || !found || c.Mark != marked("a") {
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
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := living.own.f.Close(); err != nil {
			t.Error(err)
		}
	}()
	if c, found, err := process(t, dir, 2, now).Take(ctx, "volume", true); err != nil || !found || c.Mark != marked("a") {
		t.Errorf("took %v, %v, %v", c, found, err)
	}
	<-ended
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
	if err := j.Drop(marked("refused")); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	next := process(t, dir, 2, now)
	for object, want := range map[string]string{"group": "", "volume": "nobody knows", "secret": ""} {
		takes(t, next, object, want)
	}
	if err := next.Drop(marked("nobody knows")); err != nil {
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
		takes(t, last, object, want)
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
			takes(t, process(t, dir, 2, now), "volume", c.want)
		})
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
