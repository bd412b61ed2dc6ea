package output

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAHostThatDiesAtAnyStepOfACommitIsTakenBack stops a commit after each of its
// moves in turn, and within a replacement, lets go of the owner file as a death does,
// and begins another landing.
func TestAHostThatDiesAtAnyStepOfACommitIsTakenBack(t *testing.T) {
	t.Parallel()
	names := []string{"a", "old", "new/deep/b", "c"}
	for moved := range len(names) + 1 {
		for _, within := range []string{"", "kept", "spared"} {
			t.Run(fmt.Sprintf("%d moved %s", moved, within), func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				write(t, filepath.Join(root, "old"), "before")
				sink, err := NewDirSink(root, DirOptions{Flat: true, Existing: ExistingReplace})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = sink.Close() }()
				d := stageAll(t, sink, names)
				die(t, d, names[:moved], within)

				next, err := sink.Begin(t.Context(), Origin{})
				if err != nil {
					t.Fatal(err)
				}
				if err := next.Abort(); err != nil {
					t.Fatal(err)
				}
				wantOnly(t, root, "old", "before")
			})
		}
	}
}

func stageAll(t *testing.T, sink *DirSink, names []string) *dirDelivery {
	t.Helper()
	begun, err := sink.Begin(t.Context(), Origin{})
	if err != nil {
		t.Fatal(err)
	}
	d, ok := begun.(*dirDelivery)
	if !ok {
		t.Fatalf("it began a %T", begun)
	}
	for _, name := range names {
		if _, err := d.Stage(t.Context(), Artifact{Name: name, Size: 5}, strings.NewReader("after")); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// die commits so far, and then only lets go as the end of a process does.
func die(t *testing.T, d *dirDelivery, moved []string, within string) {
	t.Helper()
	j := &journal{Area: d.area, Base: d.base, Names: d.names, Dirs: d.missingDirs()}
	err := j.keep(d.staging, false)
	for _, dir := range j.Dirs {
		err = errors.Join(err, d.sink.root.Mkdir(dir, directoryMode))
	}
	for i, name := range moved {
		err = errors.Join(err, d.move(d.staging.place(d.base, i, name), name))
	}
	next := d.staging.place(d.base, 1, "old")
	if within != "" && len(moved) <= 1 {
		err = errors.Join(err, d.sink.root.Link(next.lands, next.backup))
	}
	if within == "spared" && len(moved) <= 1 {
		err = errors.Join(err, d.sink.root.Link(next.staged, next.spare))
	}
	if err := errors.Join(err, d.staging.owner.Close()); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantOnly(t *testing.T, root, name, content string) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v stand, %v", entries, err)
	}
	if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != content {
		t.Errorf("%s holds %q, %v, want %q", name, got, err, content)
	}
}

func TestWhatCameAfterADeathIsNotTakenBack(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	sink, err := NewDirSink(root, DirOptions{Flat: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	d := stageAll(t, sink, []string{"a", "b"})
	die(t, d, []string{"a"}, "")
	// Somebody replaces what had landed before anybody takes it back.
	write(t, filepath.Join(root, "other"), "theirs")
	if err := os.Rename(filepath.Join(root, "other"), filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	next, err := sink.Begin(t.Context(), Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Abort(); err != nil {
		t.Fatal(err)
	}
	wantOnly(t, root, "a", "theirs")
}

func TestAJournalThatIsNotWholeTakesNothingBack(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	sink, err := NewDirSink(root, DirOptions{Flat: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	write(t, filepath.Join(root, "a"), "before")
	d := stageAll(t, sink, []string{"b"})
	write(t, filepath.Join(root, d.staging.in(journalName)), `{"base":".","nam`)
	if err := d.staging.owner.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := sink.Begin(t.Context(), Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Abort(); err != nil {
		t.Fatal(err)
	}
	wantOnly(t, root, "a", "before")
}

func TestAClaimThatASweepTookIsMadeAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	sink, err := NewDirSink(root, DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	d := stageAll(t, sink, nil)
	// What a sweep sees between the making of a directory and its owner file: it
	// goes, and what others hold does not.
	if err := sink.root.Mkdir(stagingDir+"/bare", directoryMode); err != nil {
		t.Fatal(err)
	}
	if err := sink.sweep(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := sink.root.Lstat(stagingDir + "/bare"); err == nil {
		t.Error("a directory without an owner stayed")
	}
	// Its claim then finds no directory to put an owner file in.
	claim := &staging{root: sink.root, dir: d.staging.dir + "/gone/twice"}
	if held, err := claim.claim(); held || err != nil {
		t.Errorf("claimed: %v, %v", held, err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
}

func TestWaitingForAnotherCommitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	sink, err := NewDirSink(t.TempDir(), DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	d := stageAll(t, sink, []string{"a"})
	unlock, err := sink.lockArea(t.Context(), d.area)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := d.Commit(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	unlock()
	if err := errors.Join(d.Commit(t.Context()), d.Abort()); err != nil {
		t.Error(err)
	}
	if _, err := sink.root.Lstat(d.base + "/a"); err != nil {
		t.Error(err)
	}
}
