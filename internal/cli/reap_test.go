package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
)

// left is a group with what a killed host leaves, and its neighbours one step away.
func left(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.hold("sb-old", 3*time.Hour, ours("name", "report"))
	w.hold("sb-at-the-line", 2*time.Hour, ours())
	w.hold("sb-just-younger", 2*time.Hour-time.Second, ours())
	w.hold("sb-foreign", 9*time.Hour, wire.Labels{"team": "other"})
	w.hold("sb-empty-marker", 9*time.Hour, wire.Labels{marker: ""})
	for id, created := range map[string]string{
		"sb-no-time": "", "sb-year-one": "0001-01-01T00:00:00Z", "sb-1970": "1970-01-01T00:00:00Z",
		"sb-no-zone": "2026-09-01T00:00:00", "sb-words": "yesterday",
	} {
		w.hold(id, 0, ours(), func(s *wire.Sandbox) { s.CreatedAt = created })
	}
	w.hold("sb-tomorrow", -24*time.Hour, ours())
	slices.SortFunc(w.sandboxes, func(a, b wire.Sandbox) int { return strings.Compare(a.ID, b.ID) })
	return w
}

// kept are those of left that never go by an age of two hours.
var kept = []string{
	"sb-1970", "sb-empty-marker", "sb-foreign", "sb-just-younger", "sb-no-time", "sb-no-zone", "sb-tomorrow", "sb-words", "sb-year-one",
}

// sorted puts the lines of removals, which end in any order, into one.
func sorted(text string) string {
	head, rest, _ := strings.Cut(text, "\n\n")
	lines, tail, _ := strings.Cut(rest, "\n\n")
	rows := strings.Split(lines, "\n")
	slices.Sort(rows)
	return head + "\n\n" + strings.Join(rows, "\n") + "\n\n" + tail
}

func TestReapDeletesWhatIsOursAndOldEnoughAndNothingElse(t *testing.T) {
	t.Parallel()
	w := left(t)
	before := w.ids()
	got := w.run(t, "reap", "--older-than", "2h", "--dry-run")
	golden.Check(t, *update, "reap-dry-run", got.both())
	if got.code != cli.ExitAllowed || !slices.Equal(before, w.ids()) || w.count(http.MethodDelete, "/sandboxes/*") != 0 {
		t.Errorf("a dry run: exit code %d, %q are left", got.code, w.ids())
	}
	got = w.run(t, "reap", "--older-than", "2h")
	golden.Check(t, *update, "reap", sorted(got.both()))
	if got.code != cli.ExitAllowed || !slices.Equal(w.ids(), kept) {
		t.Errorf("exit code %d, %q are left", got.code, w.ids())
	}
	got = w.run(t, "reap", "--older-than", "2h")
	golden.Check(t, *update, "reap-again", got.both())
	if got.code != cli.ExitAllowed {
		t.Errorf("again: exit code %d", got.code)
	}
}

func TestReapInJSONNamesEachSandboxAndWhyItStays(t *testing.T) {
	t.Parallel()
	w := left(t)
	golden.Check(t, *update, "reap-dry-run-json", w.run(t, "reap", "--older-than", "2h", "--format", "json", "--dry-run").both())
	got := w.run(t, "reap", "--older-than", "2h", "--format", "json")
	golden.Check(t, *update, "reap-json", got.both())
	valid(t, got.stdout)
}

func TestReapByLabelAndByNoAgeAtAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hold("sb-now", 0, ours("run", "42"))
	w.hold("sb-other-run", 5*time.Hour, ours("run", "43"))
	w.hold("sb-ahead", -time.Second, ours("run", "42")) // the header Date has no fractions
	got := w.run(t, "reap", "--older-than", "0s", "--label", "run=42")
	if got.code != cli.ExitAllowed || !slices.Equal(w.ids(), []string{"sb-other-run"}) {
		t.Errorf("exit code %d, %q are left\n%s", got.code, w.ids(), got.both())
	}
	w.hold("sb-week", 8*24*time.Hour, ours())
	if got := w.run(t, "reap", "--older-than", "7d"); got.code != cli.ExitAllowed || !slices.Equal(w.ids(), []string{"sb-other-run"}) {
		t.Errorf("exit code %d, %q are left\n%s", got.code, w.ids(), got.both())
	}
}

// A service that does not filter must not have its strangers deleted.
func TestReapDoesNotRestOnTheServiceHavingFiltered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hold("sb-mine", 5*time.Hour, ours("run", "42"))
	w.hold("sb-theirs", 5*time.Hour, ours("run", "43"))
	w.fail(http.MethodGet, "/sandboxes", 100, func(_ http.ResponseWriter, r *http.Request) bool {
		q := r.URL.Query()
		q.Del("labels")
		r.URL.RawQuery = q.Encode()
		return false
	})
	if got := w.run(t, "reap", "--older-than", "1h", "--label", "run=42"); got.code != cli.ExitAllowed || !slices.Equal(w.ids(), []string{"sb-theirs"}) {
		t.Errorf("exit code %d, %q are left\n%s", got.code, w.ids(), got.both())
	}
}

func TestWhatOthersMadeGoesOnlyWhenItIsConfirmed(t *testing.T) {
	t.Parallel()
	w := left(t)
	before := len(w.ids())
	for name, args := range map[string][]string{
		"reap-unconfirmed":        {"--all-owners"},
		"reap-confirmed-other":    {"--all-owners", "--confirm", "agent"},
		"reap-confirmed-too-much": {"--confirm", "agents"},
	} {
		got := w.run(t, append([]string{"reap", "--older-than", "2h"}, args...)...)
		golden.Check(t, *update, name, got.both())
		if got.code != cli.ExitBadInput || len(w.ids()) != before {
			t.Errorf("%s: exit code %d, %q are left", name, got.code, w.ids())
		}
	}
	if got := w.run(t, "reap", "--older-than", "2h", "--all-owners", "--dry-run"); got.code != cli.ExitAllowed || !strings.Contains(got.stdout, "4 sandboxes would be deleted") {
		t.Error(got.both())
	}
	got := w.run(t, "reap", "--older-than", "2h", "--all-owners", "--confirm", "agents")
	if got.code != cli.ExitAllowed || slices.Contains(w.ids(), "sb-foreign") || !slices.Contains(w.ids(), "sb-no-time") {
		t.Errorf("exit code %d, %q are left", got.code, w.ids())
	}
}

// A group that is gone says "not found" of each of its sandboxes too.
func TestAGroupThatIsGoneIsNotAGroupWhoseSandboxesWereReaped(t *testing.T) {
	t.Parallel()
	w := left(t)
	w.exists = false
	got := w.run(t, "reap", "--older-than", "2h")
	golden.Check(t, *update, "reap-no-group", got.both())
	if got.code != cli.ExitRefused {
		t.Errorf("exit code %d", got.code)
	}

	w = left(t)
	w.fail(http.MethodDelete, "/sandboxes/*", 1, func(rw http.ResponseWriter, _ *http.Request) bool {
		w.exists = false // with the lock of the world
		missing(rw)
		return true
	})
	got = w.run(t, "reap", "--older-than", "2h")
	golden.Check(t, *update, "reap-group-vanishes", sorted(got.both()))
	if got.code != cli.ExitUnfinished {
		t.Errorf("exit code %d", got.code)
	}
	doc := valid(t, func() string {
		w := left(t)
		w.fail(http.MethodDelete, "/sandboxes/*", 1, func(rw http.ResponseWriter, _ *http.Request) bool {
			w.exists = false
			missing(rw)
			return true
		})
		return w.run(t, "reap", "--older-than", "2h", "--format", "json").stdout
	}())
	if counts := fmt.Sprint(doc["counts"]); strings.Contains(counts, " gone:") || !strings.Contains(counts, "not_seen_gone:2") {
		t.Errorf("counts are %s", counts)
	}
}

func TestAnotherReaperAtTheSameTimeIsFine(t *testing.T) {
	t.Parallel()
	w := left(t)
	for _, id := range []string{"sb-old", "sb-at-the-line"} { // somebody was faster
		w.fail(http.MethodDelete, "/sandboxes/"+id, 1, func(rw http.ResponseWriter, _ *http.Request) bool {
			w.sandboxes = slices.DeleteFunc(w.sandboxes, func(s wire.Sandbox) bool { return s.ID == id })
			missing(rw)
			return true
		})
	}
	got := w.run(t, "reap", "--older-than", "2h")
	if got.code != cli.ExitAllowed || !slices.Equal(w.ids(), kept) || strings.Count(got.stdout, "\ngone ") != 2 {
		t.Errorf("exit code %d, %q are left\n%s", got.code, w.ids(), got.both())
	}
}

func TestWhatCouldNotBeDeletedIsToldTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		w.hold(fmt.Sprintf("sb-%d", i), 3*time.Hour, ours())
	}
	w.fail(http.MethodDelete, "/sandboxes/sb-1", 1, says(http.StatusConflict, `{"title":"SandboxLocked","status":409,"detail":"a lock holds it"}`))
	w.fail(http.MethodDelete, "/sandboxes/sb-3", 99, says(http.StatusInternalServerError, ""))
	got := w.run(t, "reap", "--older-than", "2h")
	golden.Check(t, *update, "reap-partial", sorted(got.stdout))
	golden.Check(t, *update, "reap-partial-stderr", withoutWaits(got.stderr))
	if got.code != cli.ExitUnfinished || !slices.Equal(w.ids(), []string{"sb-1", "sb-3"}) {
		t.Errorf("exit code %d, %q are left", got.code, w.ids())
	}
}

// withoutWaits leaves out why the command waited: how often it does is the client's
// business, and is tested there.
func withoutWaits(text string) string {
	var keep []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "; asking again in ") {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "")
}

func TestAReaperThatMayNotDeleteStopsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 50 {
		w.hold(fmt.Sprintf("sb-%02d", i), 3*time.Hour, ours())
	}
	w.fail(http.MethodDelete, "/sandboxes/*", 9999, says(http.StatusForbidden, ""))
	got := w.run(t, "reap", "--older-than", "2h")
	if got.code != cli.ExitRefused || len(w.ids()) != 50 || !strings.Contains(got.stdout, "not begun") || !strings.Contains(got.stderr, "SandboxGroup Data Owner") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	if !strings.Contains(got.stderr, "the service answered 403, as it does until a new role has reached it") {
		t.Errorf("nobody was told why it waits:\n%s", got.stderr)
	}
}

// One that answers "not found" and is listed afterwards is not called gone.
func TestASandboxThatIsListedAfterItWasGoneIsNotCalledGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hold("sb-1", 3*time.Hour, ours())
	w.fail(http.MethodDelete, "/sandboxes/*", 1, func(rw http.ResponseWriter, _ *http.Request) bool { missing(rw); return true })
	got := w.run(t, "reap", "--older-than", "2h")
	golden.Check(t, *update, "reap-still-listed", got.both())
	if got.code != cli.ExitUnfinished {
		t.Errorf("exit code %d", got.code)
	}
}

func TestADeletionThatDoesNotEndIsNotCalledGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hold("sb-1", 3*time.Hour, ours())
	w.deleting["sb-1"] = 1 << 30
	got := w.run(t, "reap", "--older-than", "2h", "--timeout", "1m")
	golden.Check(t, *update, "reap-stuck", got.both())
	if got.code != cli.ExitUnfinished {
		t.Errorf("exit code %d", got.code)
	}
}

func TestAgesAreCountedByTheServicesClock(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"reap-service-ahead": 5 * time.Hour, "reap-service-behind": -5 * time.Hour} {
		w := newWorld(t)
		w.ahead = ahead
		w.hold("sb-old", 3*time.Hour, ours())
		w.hold("sb-young", time.Hour, ours())
		got := w.run(t, "reap", "--older-than", "2h")
		golden.Check(t, *update, name, got.both())
		if got.code != cli.ExitAllowed || !slices.Equal(w.ids(), []string{"sb-young"}) {
			t.Errorf("%s: exit code %d, %q are left", name, got.code, w.ids())
		}
	}
	w := newWorld(t)
	w.ahead = 30 * time.Second // nobody needs to hear of that
	w.hold("sb-old", 3*time.Hour, ours())
	if got := w.run(t, "reap", "--older-than", "2h", "--dry-run"); strings.Contains(got.both(), "clock") {
		t.Error(got.both())
	}
}

// Without the service's time nothing is old.
func TestNothingIsReapedByAServiceThatDoesNotSayItsTime(t *testing.T) {
	t.Parallel()
	w := left(t)
	w.mute = true
	before := len(w.ids())
	got := w.run(t, "reap", "--older-than", "2h")
	golden.Check(t, *update, "reap-no-date", got.both())
	if got.code != cli.ExitBadInput || len(w.ids()) != before || w.count(http.MethodDelete, "/sandboxes/*") != 0 {
		t.Errorf("exit code %d, %q are left", got.code, w.ids())
	}
}

func TestAnInterruptedReaperSaysWhatIsDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 20 {
		w.hold(fmt.Sprintf("sb-%02d", i), 3*time.Hour, ours())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var deleted atomic.Int32
	w.fail(http.MethodDelete, "/sandboxes/*", 9999, func(rw http.ResponseWriter, _ *http.Request) bool {
		if deleted.Add(1) == 10 {
			cancel()
		}
		return false
	})
	got := w.as(t, invocation{ctx: ctx}, w.flags("reap", "--older-than", "2h")...)
	if got.code != cli.ExitInterrupted || !strings.Contains(got.stderr, "interrupted") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	lines := strings.Count(got.stdout, "sb-")
	if lines < 20 || !strings.Contains(got.stdout, "not begun") || !strings.Contains(got.stdout, "of 20 sandboxes: ") {
		t.Errorf("%d lines\n%s", lines, got.stdout)
	}
	for line := range strings.SplitSeq(got.stdout, "\n") {
		if id, _, ok := strings.Cut(strings.TrimPrefix(line, "gone"), "  Running"); ok && strings.HasPrefix(line, "gone") && slices.Contains(w.ids(), strings.TrimSpace(id)) {
			t.Errorf("%s is called gone", id)
		}
	}
}

func TestReapIsRefusedWithoutWhatItNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, args := range map[string][]string{
		"no age":         w.flags("reap"),
		"no such age":    w.flags("reap", "--older-than", "two hours"),
		"a negative age": w.flags("reap", "--older-than", "-2h"),
		"half a day":     w.flags("reap", "--older-than", "0.5d"),
		"a label alone":  w.flags("reap", "--older-than", "2h", "--label", "run"),
		"two labels":     w.flags("reap", "--older-than", "2h", "--label", "run=1", "--label", "run=2"),
		"a wild label":   w.flags("reap", "--older-than", "2h", "--label", "run=a,b"),
	} {
		if got := w.as(t, invocation{}, args...); got.code != cli.ExitBadInput || len(w.seen) > 0 {
			t.Errorf("%s: exit code %d\n%s", name, got.code, got.both())
		}
	}
}
