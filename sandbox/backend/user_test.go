package backend_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// asked is an engine whose guests answer id with these texts, and what was run.
type asked struct {
	uid, gid string
	err      error
	ran      []string
}

func (a *asked) options(access []engine.Access) sandboxtest.Options {
	return sandboxtest.Options{Access: access, UID: -1, Exec: func(_ context.Context, _ *sandboxtest.View, req engine.ExecRequest) (int, error) {
		a.ran = append(a.ran, req.Dir+" "+strings.Join(req.Args, " "))
		text := a.uid
		if slices.Contains(req.Args, "-g") {
			text = a.gid
		}
		_, err := io.WriteString(req.Stdout, text)
		return 0, errors.Join(err, a.err)
	}}
}

// acquireAs acquires with exec and files_out over such an engine.
func acquireAs(t *testing.T, a *asked, access []engine.Access, change func(*sandbox.AcquireRequest)) (*sandboxtest.Engine, error) {
	t.Helper()
	e := sandboxtest.NewEngine(a.options(access))
	b, req := sandboxtest.Backend(t, e), request(e)
	requires := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesOut)
	req.Spec.Requires = &requires
	if change != nil {
		change(&req)
	}
	_, err := b.Acquire(t.Context(), req)
	return e, err
}

// The vectors play the whole table; here are its edges.
func TestAGuestThatIsNotRootIsNotServedWhereFilesAreRoots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		uid    string
		access []engine.Access
		code   sandbox.Code
		ran    int
	}{
		"root":                         {"0\n", rootFollows, "", 1},
		"another":                      {"1000\n", rootFollows, sandbox.CodeImageUserUnfit, 1},
		"another, where files are its": {"1000\n", guestBeneath, "", 0},
		"the largest there is":         {"2147483647", rootFollows, sandbox.CodeImageUserUnfit, 1},
		"a number beyond":              {"2147483648", rootFollows, "", 1},
		"a flood that starts well":     {"0" + strings.Repeat("0", 1<<20), rootFollows, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asked{uid: c.uid}
			e, err := acquireAs(t, a, c.access, nil)
			if c.code == "" && err != nil || c.code != "" && !errors.Is(err, c.code) {
				t.Errorf("%v", err)
			}
			if len(a.ran) != c.ran || c.ran > 0 && a.ran[0] != "/ id -u" {
				t.Errorf("ran %q", a.ran)
			}
			if want := map[bool]int{true: 1, false: 0}[err == nil]; e.Count() != want {
				t.Errorf("%d sandboxes, want %d", e.Count(), want)
			}
		})
	}
}

func TestARefusalNamesTheUIDTheKindAndTheImage(t *testing.T) {
	t.Parallel()
	_, err := acquireAs(t, &asked{uid: "1000\n"}, rootFollows, func(r *sandbox.AcquireRequest) {
		r.Spec.Image = sandbox.Image{Reference: "registry.example/app", Digest: digest}
	})
	for _, want := range []string{"uid 1000", `"codeact"`, `"registry.example/app"`, digest, "files_out", "image.user"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
}

func TestAnEngineThatKnowsItsGuestsUserIsBelieved(t *testing.T) {
	t.Parallel()
	for uid, refused := range map[int64]bool{0: false, 1000: true} {
		e := sandboxtest.NewEngine(sandboxtest.Options{Access: rootFollows, RunCode: sandboxtest.Script, UID: uid})
		if _, err := sandboxtest.Backend(t, e).Acquire(t.Context(), request(e)); errors.Is(err, sandbox.CodeImageUserUnfit) != refused {
			t.Errorf("uid %d: %v", uid, err)
		}
	}
}

// Where nobody can stop a program, a question that is not answered ends the sandbox.
func TestAGuestThatIsGoneAfterTheQuestionIsNotServed(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]error{"gone": engine.ErrGone, "there": nil} {
		a := &asked{err: errors.New("no answer")}
		e := sandboxtest.NewEngine(a.options(rootFollows))
		e.FailNth(sandboxtest.OpStat, 1, gone)
		requires := sandbox.SetOf(sandbox.CapabilityExec)
		req := request(e)
		req.Spec.Requires = &requires
		_, err := sandboxtest.Backend(t, e).Acquire(t.Context(), req)
		if (gone != nil) != errors.Is(err, sandbox.CodeGuestLost) || gone != nil && e.Count() != 0 {
			t.Errorf("%s: %v, %d left", name, err, e.Count())
		}
	}
}

func TestWhoeverJudgesUsersIsToldTheGroupToo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked     asked
		other     bool
		rootGroup bool
		ran       int
	}{
		"another in its group": {asked{uid: "1000", gid: "1000"}, true, false, 2},
		"another in root's":    {asked{uid: "1000", gid: "0"}, true, true, 2},
		"no group":             {asked{uid: "1000", gid: "?"}, true, false, 2},
		"root":                 {asked{uid: "0"}, false, false, 1},
		"nobody knows":         {asked{uid: "app"}, false, false, 1},
	} {
		var judged []sandbox.GuestUser
		_, err := acquireAs(t, &c.asked, guestBeneath, func(r *sandbox.AcquireRequest) {
			r.JudgeUser = func(u sandbox.GuestUser) []sandbox.Finding { judged = append(judged, u); return nil }
		})
		if err != nil || len(judged) != 1 || judged[0].IsOther() != c.other || judged[0].RootGroup() != c.rootGroup || len(c.asked.ran) != c.ran {
			t.Errorf("%s: %v, %v, ran %q", name, err, judged, c.asked.ran)
		}
	}
}
