package backend_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

const secretText = "must not cross"

// attacked is a stage with a secret beside the work directory.
func attacked(t *testing.T, options sandboxtest.Options) *stage {
	t.Helper()
	s := newStage(t, options)
	must(t, s.write(t, "d/inside", "fine"), s.guest.WriteFile("/etc/secret", []byte(secretText)),
		s.guest.WriteFile(work+"-outside/secret", []byte(secretText)))
	return s
}

func TestTheAttackWorksWithoutTheLayer(t *testing.T) {
	t.Parallel()
	s := attacked(t, sandboxtest.Options{Access: rootFollows})
	must(t, s.guest.Symlink(work+"/link", "/etc"))
	started, err := s.engine.Start(t.Context(), engine.StartRequest{Name: s.engine.Requests()[0].Name})
	must(t, err)
	r, _, err := started.Guest.Open(t.Context(), engine.FileRef{Root: work, Path: work + "/link/secret", Access: rootFollows[0]})
	must(t, err)
	if got, err := drain(r); err != nil || string(got) != secretText {
		t.Errorf("the bare engine gave %q, %v: these tests prove nothing", got, err)
	}
}

func TestNoFileCallGoesThroughALink(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(*sandboxtest.View) error{
		"a linked parent": func(v *sandboxtest.View) error { return v.Symlink(work+"/p", "/etc") },
		"a relative link": func(v *sandboxtest.View) error { return v.Symlink(work+"/p", "../../etc") },
		"a chain of links": func(v *sandboxtest.View) error {
			return errors.Join(v.Symlink(work+"/q", "/etc"), v.Symlink(work+"/p", "q"))
		},
		"a link that comes back":  func(v *sandboxtest.View) error { return v.Symlink(work+"/p", "d") },
		"a link to itself":        func(v *sandboxtest.View) error { return v.Symlink(work+"/p", "p") },
		"a link to nowhere":       func(v *sandboxtest.View) error { return v.Symlink(work+"/p", "/nowhere") },
		"a linked work directory": func(v *sandboxtest.View) error { return errors.Join(v.Remove(work), v.Symlink(work, "/etc")) },
		"a link above the work dir": func(v *sandboxtest.View) error {
			return errors.Join(v.Remove("/maf-sandbox"), v.Mkdir("/moved/work/p"), v.Symlink("/maf-sandbox", "/moved"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for access, options := range everyAccess() {
				t.Run(access, func(t *testing.T) {
					t.Parallel()
					s := attacked(t, options)
					must(t, plant(s.guest))
					before := s.guest.Files("/etc") + s.guest.Files("/moved")
					_, statErr := s.Stat(t.Context(), "p/secret")
					_, readErr := s.read(t, "p/secret")
					_, listErr := s.List(t.Context(), "p/sub")
					for op, err := range map[string]error{
						"stat": statErr, "read": readErr, "list": listErr,
						"write": s.write(t, "p/new", "x"), "write deep": s.write(t, "p/new/deeper", "x"),
						"remove":      s.Remove(t.Context(), "p/secret", false),
						"remove tree": s.Remove(t.Context(), "p/sub", true),
					} {
						if !errors.Is(err, sandbox.CodePathThroughLink) {
							t.Errorf("%s: got %v, want %s", op, err, sandbox.CodePathThroughLink)
						}
					}
					if after := s.guest.Files("/etc") + s.guest.Files("/moved"); after != before {
						t.Errorf("%d files where the link leads, before it was %d", after, before)
					}
				})
			}
		})
	}
}

func TestALinkAtTheEndIsDescribedRefusedAndUnlinked(t *testing.T) {
	t.Parallel()
	for access, options := range everyAccess() {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			s := attacked(t, options)
			must(t, s.guest.Symlink(work+"/l", "/etc/secret"))
			entry, err := s.Stat(t.Context(), "l")
			if err != nil || entry.Kind != sandbox.EntrySymlink || entry.SizeKnown {
				t.Errorf("%+v, %v", entry, err)
			}
			_, err = s.read(t, "l")
			wantCode(t, err, sandbox.CodeFileNotRegular)
			wantCode(t, s.write(t, "l", "x"), sandbox.CodePathThroughLink)
			must(t, s.Remove(t.Context(), "l", true))
			if got, err := s.guest.ReadFile("/etc/secret"); err != nil || string(got) != secretText {
				t.Errorf("the target is now %q, %v", got, err)
			}
		})
	}
}

// TestALinkSwappedInBetweenCheckAndUseDoesNotWin stages the race: a program of the
// guest swaps a directory for a link each time the engine is about to act.
func TestALinkSwappedInBetweenCheckAndUseDoesNotWin(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]sandboxtest.Options{
		"an engine that resolves beneath": {Access: guestBeneath},
		"an engine that freezes":          {Access: rootFollows, Freeze: true},
	} {
		for _, use := range []sandboxtest.Op{sandboxtest.OpOpen, sandboxtest.OpWrite, sandboxtest.OpRemove, sandboxtest.OpMkdir, sandboxtest.OpReaddir} {
			t.Run(name+"/"+string(use), func(t *testing.T) {
				t.Parallel()
				s := attacked(t, options)
				must(t, s.guest.WriteFile("/etc/inside", []byte(secretText)), s.guest.Mkdir("/etc/sub"))
				before := s.guest.Files("/etc")
				s.engine.Intercept(func(r sandboxtest.Request) error {
					if r.Op == use {
						s.guest.AsGuest(func(v *sandboxtest.View) {
							if err := errors.Join(v.Remove(work+"/d"), v.Symlink(work+"/d", "/etc")); err != nil {
								t.Error(err)
							}
						})
					}
					return nil
				})
				var err error
				switch use {
				case sandboxtest.OpOpen:
					var got string
					if got, err = s.read(t, "d/inside"); got == secretText {
						t.Error("the secret crossed")
					}
				case sandboxtest.OpWrite:
					err = s.write(t, "d/new", "x")
				case sandboxtest.OpMkdir:
					err = s.write(t, "d/new/deeper", "x")
				case sandboxtest.OpRemove:
					err = s.Remove(t.Context(), "d/inside", false)
				case sandboxtest.OpReaddir:
					_, err = s.List(t.Context(), "d")
				}
				if options.Freeze && err != nil {
					t.Errorf("the frozen guest could not swap, yet: %v", err)
				}
				if !options.Freeze && !errors.Is(err, sandbox.CodePathThroughLink) {
					t.Errorf("got %v, want the link to be seen", err)
				}
				if after := s.guest.Files("/etc"); after != before || s.guest.Exists("/etc/new") {
					t.Errorf("%d files where the link leads, before it was %d", after, before)
				}
			})
		}
	}
}

func TestWhatIsNotARegularFileNeverBlocksARead(t *testing.T) {
	t.Parallel()
	for access, options := range everyAccess() {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			s := attacked(t, options)
			must(t, s.guest.Mkfifo(work+"/pipe"))
			for _, path := range []string{"pipe", "d"} {
				_, err := s.read(t, path)
				wantCode(t, err, sandbox.CodeFileNotRegular)
				wantCode(t, s.write(t, path, "x"), sandbox.CodeFileNotRegular)
			}
			if opens(s.engine) != 0 {
				t.Error("something was opened")
			}
			must(t, s.Remove(t.Context(), "pipe", false))
		})
	}
}

func TestAPipeSwappedInForAFileIsRefused(t *testing.T) {
	t.Parallel()
	for access, options := range everyAccess() {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			s := attacked(t, options)
			s.engine.Intercept(func(r sandboxtest.Request) error {
				if r.Op == sandboxtest.OpOpen {
					return s.guest.Mkfifo(work + "/d/inside")
				}
				return nil
			})
			_, err := s.read(t, "d/inside")
			wantCode(t, err, sandbox.CodeFileNotRegular)
		})
	}
}

func TestALargerFileSwappedInIsHeldToTheCap(t *testing.T) {
	t.Parallel()
	s := attacked(t, sandboxtest.Options{})
	s.engine.Intercept(func(r sandboxtest.Request) error {
		if r.Op == sandboxtest.OpOpen {
			return s.guest.WriteFile(work+"/d/inside", []byte(strings.Repeat("x", 100)))
		}
		return nil
	})
	data, err := s.ReadFile(t.Context(), "d/inside", 10)
	wantCode(t, err, sandbox.CodeTransferCap)
	if len(data) > 10 {
		t.Errorf("%d bytes crossed", len(data))
	}
}

func TestHostilePathsNeverReachTheEngine(t *testing.T) {
	t.Parallel()
	for access, options := range everyAccess() {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			s := attacked(t, options)
			before := len(s.engine.Requests())
			for _, path := range []string{
				"..", "../x", "/etc/secret", work + "-outside/secret", "d/../../etc", "../work-outside/secret", "//etc/secret", "//" + work[1:] + "/d",
				`..\x`, `C:\x`, "a\x00b", "a\nb", "a\x1b[31mb", "a\u0085b", "\xff", strings.Repeat("a", 256), strings.Repeat("a/", 3000) + "b",
			} {
				_, statErr := s.Stat(t.Context(), path)
				_, readErr := s.read(t, path)
				_, listErr := s.List(t.Context(), path)
				for op, err := range map[string]error{
					"stat": statErr, "read": readErr, "list": listErr,
					"write": s.write(t, path, "x"), "remove": s.Remove(t.Context(), path, true),
				} {
					if !errors.Is(err, sandbox.ErrValue) {
						t.Errorf("%s %q: got %v, want a refusal of the path", op, path, err)
						continue
					}
					if strings.ContainsAny(err.Error(), "\x00\x1b") || len(err.Error()) > 1500 {
						t.Errorf("%s %q: the message repeats it raw: %q", op, path, err)
					}
				}
			}
			if after := len(s.engine.Requests()); after != before {
				t.Errorf("the engine was asked %d times", after-before)
			}
		})
	}
}

func TestNamesThatOnlyLookHostileAreNames(t *testing.T) {
	t.Parallel()
	for access, options := range everyAccess() {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, options)
			for _, path := range []string{"..a", "a..", "...", "%2e%2e", "a b", "-rf", "$(id)", "*", "~", "\u202eevil", "／etc", "CON"} {
				must(t, s.write(t, path, path))
				if got, err := s.read(t, path); err != nil || got != path {
					t.Errorf("%q: %q, %v", path, got, err)
				}
				must(t, s.Remove(t.Context(), path, false))
			}
		})
	}
}

// liar is an engine whose listings and answers are made up.
type liar struct {
	*sandboxtest.Engine
	infos []engine.Info
}

type liarGuest struct {
	engine.Guest
	infos []engine.Info
}

func (l liar) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	started, err := l.Engine.Start(ctx, req)
	if err == nil {
		started.Guest = liarGuest{started.Guest, l.infos}
	}
	return started, err
}

func (l liarGuest) List(_ context.Context, _ engine.FileRef, yield func(engine.Info) bool) error {
	for _, info := range l.infos {
		if !yield(info) {
			return nil
		}
	}
	return nil
}

func TestAListingThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	file := func(names ...string) []engine.Info {
		var infos []engine.Info
		for _, name := range names {
			infos = append(infos, engine.Info{Name: name, Kind: sandbox.EntryFile})
		}
		return infos
	}
	for name, infos := range map[string][]engine.Info{
		"a grandchild": file("a/b"), "the parent": file(".."), "itself": file("."), "nothing": file(""),
		"a NUL": file("a\x00"), "a sibling": file("../x"), "an absolute name": file("/etc"), "one name twice": file("a", "b", "a"),
		"no kind": {{Name: "a"}}, "an unknown kind": {{Name: "a", Kind: 99}},
		"a negative size": {{Name: "a", Kind: sandbox.EntryFile, Size: -5, SizeKnown: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sandboxtest.NewEngine(sandboxtest.Options{})
			acquired, err := backendOver(t, liar{e, infos}, e).Acquire(t.Context(), request(e))
			must(t, err)
			entries, err := acquired.Session.List(t.Context(), ".")
			wantCode(t, err, sandbox.CodeGuestFailed)
			if entries != nil {
				t.Errorf("%d entries with the refusal", len(entries))
			}
		})
	}
}

func TestNamesThatAreNotUTF8AreListedAsTheyAre(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	must(t, s.guest.WriteFile(work+"/\xff\xfe", []byte("x")))
	entries, err := s.List(t.Context(), ".")
	if err != nil || len(entries) != 1 || entries[0].Path != "\xff\xfe" {
		t.Errorf("%+v, %v", entries, err)
	}
}

func TestAnEnginesWordsNeverReachARefusal(t *testing.T) {
	t.Parallel()
	for access, options := range everyAccess() {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			for _, op := range []sandboxtest.Op{sandboxtest.OpStat, sandboxtest.OpOpen, sandboxtest.OpRead, sandboxtest.OpWrite, sandboxtest.OpReaddir, sandboxtest.OpRemove, sandboxtest.OpRunCode} {
				s := attacked(t, options)
				s.engine.FailNth(op, 1, errHostile)
				var err error
				switch op {
				case sandboxtest.OpStat, sandboxtest.OpOpen, sandboxtest.OpRead:
					_, err = s.read(t, "d/inside")
				case sandboxtest.OpWrite:
					err = s.write(t, "d/new", "x")
				case sandboxtest.OpReaddir:
					_, err = s.List(t.Context(), "d")
				case sandboxtest.OpRemove:
					err = s.Remove(t.Context(), "d/inside", false)
				case sandboxtest.OpRunCode:
					_, err = s.RunCode(t.Context(), sandbox.Program{})
				}
				wantCode(t, err, sandbox.CodeGuestFailed)
				if !errors.Is(err, errHostile) {
					t.Errorf("%s: the cause is lost: %v", op, err)
				}
			}
		})
	}
}
