package output_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

func from(key sandbox.Key, call string) output.Origin {
	return output.Origin{Owner: "o", Key: key, Call: call}
}

func TestAScopeHoldsAsMuchAsItsQuotaAndNoMore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		quota output.Quota
		says  string // "" lands
	}{
		"room for the last byte": {output.Quota{MaxBytes: 10}, ""},
		"room for the last file": {output.Quota{MaxFiles: 2}, ""},
		"one byte less":          {output.Quota{MaxBytes: 9}, "4 bytes asked for, 6 used, in scope \"a\"; at most 9 bytes in a scope"},
		"one file less":          {output.Quota{MaxFiles: 1}, "1 files asked for, 1 used, in scope \"a\"; at most 1 files in a scope"},
		"no bound at all":        {output.Quota{MaxBytes: -1, MaxFiles: -1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{Quota: test.quota})
			landOne(t, s.sink, from(scopeA, "1"), "x", 6)
			err := tryOne(t, s.sink, from(scopeA, "2"), "x", 4)
			if test.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantCode(t, err, sandbox.CodeLandingQuota)
			r := sandbox.RefusalOf(err)
			if got := r.Found + "; " + r.Required; got != test.says || r.Remedy == "" {
				t.Errorf("it says %q, want %q", got, test.says)
			}
			landOne(t, s.sink, from(scopeB, "2"), "x", 1)
			landOne(t, s.sink, output.Origin{Owner: "p", Key: scopeA}, "x", 1)
			if n := len(s.tree(t)); n != 3 {
				t.Errorf("%d files, want 3", n)
			}
		})
	}
}

func TestTheQuotaIsAskedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{Quota: output.Quota{MaxBytes: 3}})
	s.declare(t, "ab", "cd")
	_, err := s.collect(t)
	wantCode(t, err, sandbox.CodeLandingQuota)
	if r := sandbox.RefusalOf(err); !strings.HasPrefix(r.Found, "4 bytes asked for, 0 used") {
		t.Errorf("it says %q", r.Found)
	}
	s.wantNothingRead(t)
	s.wantNothing(t)
	s.declare(t, "abc")
	if _, err := s.collect(t); err != nil {
		t.Error(err)
	}
}

func TestRoomIsFreeAgainWhenItsFilesAreGone(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{Quota: output.Quota{MaxBytes: 5}})
	landOne(t, s.sink, from(scopeA, "1"), "x", 5)
	wantCode(t, tryOne(t, s.sink, from(scopeA, "2"), "x", 1), sandbox.CodeLandingQuota)
	if err := os.Remove(s.tree(t)[0]); err != nil {
		t.Fatal(err)
	}
	landOne(t, s.sink, from(scopeA, "2"), "x", 5)
}

func TestWhatIsReplacedMakesRoom(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{Existing: output.ExistingReplace, Quota: output.Quota{MaxBytes: 10, MaxFiles: 2}})
	s.spec.Outputs = map[string]sandbox.Output{"a": {Path: "a"}, "b": {Path: "b"}}
	write := func(a, b string) {
		t.Helper()
		for path, content := range map[string]string{"a": a, "b": b} {
			if err := s.WriteFile(t.Context(), path, strings.NewReader(content), int64(len(content))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, contents := range [][2]string{{"12345", "12345"}, {"1", "123456789"}, {"123456789", "1"}} {
		write(contents[0], contents[1])
		if _, err := s.collect(t); err != nil {
			t.Fatal(err)
		}
	}
	write("12345", "123456")
	_, err := s.collect(t)
	wantCode(t, err, sandbox.CodeLandingQuota)
}

func TestALandingUnderWayCountsAndFreesWhenItIsAborted(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{Quota: output.Quota{MaxBytes: 10}})
	d, err := s.sink.Begin(t.Context(), from(scopeA, "1"))
	if err != nil {
		t.Fatal(err)
	}
	planner, ok := d.(output.Planner)
	if !ok {
		t.Fatal("it cannot plan")
	}
	if err := planner.Plan(t.Context(), []output.Artifact{{Name: "x", Size: 7}}); err != nil {
		t.Fatal(err)
	}
	err = tryOne(t, s.sink, from(scopeA, "2"), "x", 4)
	wantCode(t, err, sandbox.CodeLandingQuota)
	if r := sandbox.RefusalOf(err); !strings.HasPrefix(r.Found, "4 bytes asked for, 0 used and 7 asked for by other landings under way") {
		t.Errorf("it says %q", r.Found)
	}
	landOne(t, s.sink, from(scopeA, "2"), "x", 3)
	if err := d.Abort(); err != nil {
		t.Fatal(err)
	}
	landOne(t, s.sink, from(scopeA, "3"), "x", 7)
}

// TestLandingsAtOnceNeverExceedTheQuota lands from two sinks on one directory.
func TestLandingsAtOnceNeverExceedTheQuota(t *testing.T) {
	t.Parallel()
	options := output.DirOptions{Quota: output.Quota{MaxBytes: 50}}
	s := newScene(t, options)
	sinks := []*output.DirSink{s.sink, openSink(t, s.root, options)}
	var group sync.WaitGroup
	for i := range 24 {
		group.Go(func() {
			err := tryOne(t, sinks[i%2], from(scopeA, fmt.Sprint(i)), "x", 10)
			if err != nil && !errors.Is(err, sandbox.CodeLandingQuota) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := len(s.tree(t)); n != 5 {
		t.Errorf("%d files of 10 bytes, want 5", n)
	}
}

func TestHostsAtOnceNeverExceedTheQuota(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const bytes, files, most = 100, 3, 30
	var group sync.WaitGroup
	outcomes := make([]map[string]int, 4)
	for i := range outcomes {
		host, lines := (&childLandings{
			Root: root, Quota: output.Quota{MaxBytes: most * bytes}, SkipSync: true,
			Scope: "s", Landings: 8, Files: files, Bytes: bytes,
		}).start(t)
		group.Go(func() {
			outcomes[i] = map[string]int{}
			for line := range lines {
				outcomes[i][line]++
			}
			if err := host.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	landed, stands := 0, 0
	for _, o := range outcomes {
		landed += o["landed"]
		if o["landed"]+o["refused output.landing_quota <nil>"] != 8 {
			t.Errorf("a host saw %v", o)
		}
	}
	err := filepath.WalkDir(root, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			stands++
		}
		return err
	})
	if err != nil || stands != landed*files || stands > most {
		t.Errorf("%d files stand of %d landings of %d, at most %d may, %v", stands, landed, files, most, err)
	}
	if stands < most-files {
		t.Errorf("only %d files landed where %d may", stands, most)
	}
}

func TestAFlatSinkCountsItsRootOnlyIfItIsAsked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		quota   output.Quota
		refused bool
	}{"not asked": {output.Quota{}, false}, "asked": {output.Quota{MaxBytes: 100}, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{Flat: true, Quota: test.quota})
			if err := os.WriteFile(filepath.Join(s.root, "mine"), make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
			err := tryOne(t, s.sink, from(scopeA, ""), "x", 1)
			if test.refused {
				wantCode(t, err, sandbox.CodeLandingQuota)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
