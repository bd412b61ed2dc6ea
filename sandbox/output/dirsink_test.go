package output_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// noHostPath checks that a refusal does not say where the sink is.
func (s *scene) noHostPath(t *testing.T, err error) {
	t.Helper()
	if strings.Contains(err.Error(), s.root) || strings.Contains(err.Error(), filepath.Base(s.root)) {
		t.Errorf("the host's path is told: %v", err)
	}
}

func TestTwoOriginsNeverMeetInASink(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	base := output.Origin{Owner: "o", Key: sandbox.Key{Scope: "a", Thread: "bc", Agent: "d"}}
	origins := []output.Origin{base, base, base, base, base, base}
	origins[1].Owner = "p"
	origins[2].Key = sandbox.Key{Scope: "ab", Thread: "c", Agent: "d"}
	origins[3].Key.Call = "call"
	origins[4].Call = "call"
	origins[5].Key.Agent = "e"
	for i, origin := range origins {
		d, err := s.sink.Begin(t.Context(), origin)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Stage(t.Context(), output.Artifact{Name: "same", Size: 1}, strings.NewReader("x"))
		if err := errors.Join(err, d.Commit(t.Context()), d.Abort()); err != nil {
			t.Errorf("origin %d: %v", i, err)
		}
	}
	if n := len(s.tree(t)); n != len(origins) {
		t.Errorf("%d files for %d origins", n, len(origins))
	}
}

func TestExistingFilesAreRefusedUnlessReplaced(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options output.DirOptions
		refused bool
	}{
		"refuse":        {output.DirOptions{}, true},
		"refuse, flat":  {output.DirOptions{Flat: true}, true},
		"replace":       {output.DirOptions{Existing: output.ExistingReplace}, false},
		"replace, flat": {output.DirOptions{Existing: output.ExistingReplace, Flat: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, test.options)
			s.declare(t, "b")
			landed, err := s.collect(t)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(landed[0].Handle, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			s.declare(t, "a", "b")
			_, err = s.collect(t)
			want, files := "b", 2
			if test.refused {
				wantCode(t, err, sandbox.CodeLandingExists)
				s.noHostPath(t, err)
				want, files = "before", 1
			} else if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(landed[0].Handle); err != nil || string(got) != want {
				t.Errorf("it holds %q, %v, want %q", got, err, want)
			}
			if n := len(s.tree(t)); n != files {
				t.Errorf("%d files, want %d: %v", n, files, s.tree(t))
			}
		})
	}
}

func TestAFlatSinkLandsInItsRoot(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{Flat: true})
	s.declare(t, "d/a")
	landed, err := s.collect(t)
	if err != nil || landed[0].Handle != filepath.Join(s.root, "d", "a") {
		t.Errorf("%+v, %v", landed, err)
	}
}

func TestLinksInASinkAreRefusedWhereverTheyLead(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for name, test := range map[string]struct {
		link, target string
		code         sandbox.Code
	}{
		"a parent that leads out":       {"d", outside, sandbox.CodeLandingNotConfined},
		"a parent that leads inside":    {"d", "inside", sandbox.CodeLandingNotConfined},
		"a parent that leads to itself": {"d", "d", sandbox.CodeLandingNotConfined},
		"a leaf that leads out":         {"leaf", filepath.Join(outside, "new"), sandbox.CodeLandingNotConfined},
		"a leaf that leads inside":      {"leaf", "inside/new", sandbox.CodeLandingNotConfined},
		"a leaf that leads nowhere":     {"leaf", "nowhere", sandbox.CodeLandingNotConfined},
	} {
		for existing, mode := range map[string]output.Existing{"refuse": output.ExistingRefuse, "replace": output.ExistingReplace} {
			t.Run(name+"/"+existing, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, output.DirOptions{Flat: true, Existing: mode})
				if err := errors.Join(os.Mkdir(filepath.Join(s.root, "inside"), 0o700), os.Symlink(test.target, filepath.Join(s.root, test.link))); err != nil {
					t.Fatal(err)
				}
				s.declare(t, "a", "d/file", "leaf")
				_, err := s.collect(t)
				wantCode(t, err, test.code)
				s.noHostPath(t, err)
				if files := s.tree(t); len(files) != 1 {
					t.Errorf("%v in the sink, want the link alone", files)
				}
			})
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("%v landed outside, %v", entries, err)
	}
}

func TestALinkInPlaceOfACallsDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{Existing: output.ExistingReplace})
	s.declare(t, "a")
	landed, err := s.collect(t)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(landed[0].Handle)
	if err := errors.Join(os.RemoveAll(dir), os.Symlink(t.TempDir(), dir)); err != nil {
		t.Fatal(err)
	}
	_, err = s.collect(t)
	wantCode(t, err, sandbox.CodeLandingNotConfined)
}

func TestWhatIsNoFileStaysInTheWay(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]output.Existing{"refuse": output.ExistingRefuse, "replace": output.ExistingReplace} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{Flat: true, Existing: mode})
			if err := errors.Join(os.Mkdir(filepath.Join(s.root, "leaf"), 0o700), os.WriteFile(filepath.Join(s.root, "d"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"leaf", "d/file"} {
				s.declare(t, path)
				_, err := s.collect(t)
				wantCode(t, err, sandbox.CodeLandingExists)
				s.noHostPath(t, err)
			}
		})
	}
}

func TestOneOutputBelowAnotherDoesNotLand(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	s.declare(t, "a", "b")
	s.spec.Outputs["b"] = sandbox.Output{Path: "b", Name: "a/b"}
	_, err := s.collect(t)
	wantCode(t, err, sandbox.CodeLandingExists)
	s.wantNothing(t)
	s.spec.Outputs["a"], s.spec.Outputs["b"] = sandbox.Output{Path: "a", Name: "b/a"}, sandbox.Output{Path: "b"}
	_, err = s.collect(t)
	wantCode(t, err, sandbox.CodeLandingExists)
	s.wantNothing(t)
}

// TestACommitThatFailsHalfWayIsTakenBack takes the last place between staging and
// commit, in a directory that is not new.
func TestACommitThatFailsHalfWayIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]output.Existing{"refuse": output.ExistingRefuse, "replace": output.ExistingReplace} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{Flat: true, Existing: mode})
			if err := os.WriteFile(filepath.Join(s.root, "kept"), []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := s.sink.Begin(t.Context(), output.Origin{})
			if err != nil {
				t.Fatal(err)
			}
			names := []string{"deep/er/a", "z"}
			if mode == output.ExistingReplace {
				names = []string{"deep/er/a", "kept", "z"}
			}
			for _, name := range names {
				if _, err := d.Stage(t.Context(), output.Artifact{Name: name, Size: 3}, strings.NewReader("new")); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(s.root, "z"), 0o700); err != nil {
				t.Fatal(err)
			}
			err = d.Commit(t.Context())
			wantCode(t, err, sandbox.CodeLandingExists)
			if err := d.Abort(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(s.root, "kept"))
			if err != nil || string(got) != "before" {
				t.Errorf("what stood there is %q, %v", got, err)
			}
			if files := s.tree(t); len(files) != 1 {
				t.Errorf("%v in the sink", files)
			}
			if _, err := os.Lstat(filepath.Join(s.root, "deep")); err == nil {
				t.Error("a directory was left")
			}
		})
	}
}

func TestTwoDeliveriesToOnePlaceLandOnce(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]output.DirOptions{"a new directory": {}, "one that exists": {Flat: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, options)
			var (
				mu     sync.Mutex
				landed int
				group  sync.WaitGroup
			)
			for range 8 {
				group.Go(func() {
					d, err := s.sink.Begin(t.Context(), output.Origin{Owner: "o"})
					if err != nil {
						t.Error(err)
						return
					}
					_, err = d.Stage(t.Context(), output.Artifact{Name: "one", Size: 1}, strings.NewReader("x"))
					if err == nil {
						err = d.Commit(t.Context())
					}
					if abort := d.Abort(); abort != nil {
						t.Error(abort)
					}
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						landed++
					} else if !errors.Is(err, sandbox.CodeLandingExists) {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if landed != 1 || len(s.tree(t)) != 1 {
				t.Errorf("%d landed, %v in the sink", landed, s.tree(t))
			}
		})
	}
}

func TestANameIsJudgedByTheSinkAsWell(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{Flat: true})
	for _, name := range []string{"", "..", "../x", "/x", `a\b`, "a//b", "a/", "./a", "a\x00b", "a\nb", "\xff", strings.Repeat("n", 256)} {
		d, err := s.sink.Begin(t.Context(), output.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Stage(t.Context(), output.Artifact{Name: name, Size: 1}, strings.NewReader("x"))
		if !errors.Is(err, sandbox.CodeArtifactNameInvalid) {
			t.Errorf("%q: %v", name, err)
		}
		if err := d.Abort(); err != nil {
			t.Error(err)
		}
	}
	s.wantNothing(t)
}

func TestANameThatCouldPassForSomethingElseIsShownQuoted(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	for name, want := range map[string]string{
		"plain name.txt": "plain name.txt (1 bytes)",
		"über.txt":       "über.txt (1 bytes)",
		"\u202efdp.exe":  `"\u202efdp.exe" (1 bytes)`,
		"a\u007f":        `"a\x7f" (1 bytes)`,
		`quote"in`:       `"quote\"in" (1 bytes)`,
	} {
		d, err := s.sink.Begin(t.Context(), output.Origin{Call: name})
		if err != nil {
			t.Fatal(err)
		}
		landed, err := d.Stage(t.Context(), output.Artifact{Name: name, Size: 1}, strings.NewReader("x"))
		if err != nil || landed.Display != want {
			t.Errorf("%q is shown as %q, %v, want %q", name, landed.Display, err, want)
		}
		if err := d.Abort(); err != nil {
			t.Error(err)
		}
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	s.declare(t, "d/a")
	landed, err := s.collect(t)
	if err != nil {
		t.Fatal(err)
	}
	for path := landed[0].Handle; path != s.root; path = filepath.Dir(path) {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestACancelledCommitLandsNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	d, err := s.sink.Begin(t.Context(), output.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Stage(t.Context(), output.Artifact{Name: "a", Size: 1}, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
	s.wantNothing(t)
}

func TestASinkNeedsItsDirectory(t *testing.T) {
	t.Parallel()
	if _, err := output.NewDirSink(filepath.Join(t.TempDir(), "nowhere"), output.DirOptions{}); err == nil {
		t.Error("a sink without a directory was opened")
	}
}
