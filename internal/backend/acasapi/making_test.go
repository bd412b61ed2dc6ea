package acasapi_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// cut takes the next request, carries it out when ran is set, and answers nothing.
func (s *server) cut(ran bool) {
	s.intercept(func(http.ResponseWriter, *http.Request) bool {
		if ran {
			s.carryOut(s.lastBody())
		}
		panic(http.ErrAbortHandler)
	})
}

func (s *server) carryOut(body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.create([]byte(body))
}

func TestALostCreateIsLookedUpAndAdopted(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	srv.cut(true)
	made := must(r.group(t, "g").CreateSandbox(t.Context(), smallest(), acasapi.Making{Marker: "m-1"}))(t)
	if ids := srv.ids(); len(ids) != 1 || made.ID != ids[0] || made.Labels[acasapi.MarkerLabel] != "m-1" {
		t.Errorf("made %+v, there are %q", made, ids)
	}
	if r.events.count(wire.SandboxCreate) != 1 {
		t.Error("created again")
	}
}

// The server of these tests ignores the filter: a stranger with other labels is
// listed first.
func TestAStrangersSandboxIsNotAdopted(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	g := r.group(t, "g")
	stranger := must(g.CreateSandbox(t.Context(), smallest(), acasapi.Making{}))(t)
	srv.cut(false)
	made := must(g.CreateSandbox(t.Context(), smallest(), acasapi.Making{}))(t)
	if made.ID == stranger.ID || len(srv.ids()) != 2 {
		t.Errorf("made %s beside %s, there are %q", made.ID, stranger.ID, srv.ids())
	}
}

// The first request is not lost but slow: it is carried out together with the
// second.
func TestASlowCreateThatWasRepeatedLeavesOne(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	var first string
	srv.intercept(func(http.ResponseWriter, *http.Request) bool {
		first = srv.lastBody()
		panic(http.ErrAbortHandler)
	})
	for range 20 {
		srv.intercept(func(_ http.ResponseWriter, req *http.Request) bool {
			if req.Method == http.MethodPut {
				srv.carryOut(first)
			}
			return false
		})
	}
	made := must(r.group(t, "g").CreateSandbox(t.Context(), smallest(), acasapi.Making{}))(t)
	if ids := srv.ids(); len(ids) != 1 || ids[0] != made.ID {
		t.Errorf("made %s, there are %q", made.ID, ids)
	}
	if _, sum := r.clock.waited(); sum < 25*time.Second || sum > time.Minute {
		t.Errorf("waited %s for the first to show", sum)
	}
}

func TestACallerWhoGoesAwayLeavesNoSandbox(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	ctx, cancel := context.WithCancel(t.Context())
	srv.intercept(func(_ http.ResponseWriter, req *http.Request) bool {
		srv.carryOut(srv.lastBody())
		cancel()
		<-req.Context().Done()
		panic(http.ErrAbortHandler)
	})
	_, err := r.group(t, "g").CreateSandbox(ctx, smallest(), acasapi.Making{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if ids := srv.ids(); len(ids) != 0 {
		t.Errorf("%q are left", ids)
	}
}

// The caller goes away while the client still looks for what its lost request made,
// which shows only after that.
func TestACallerWhoGoesAwayDuringTheLookLeavesNoSandbox(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	ctx, cancel := context.WithCancel(t.Context())
	var body string
	srv.intercept(func(http.ResponseWriter, *http.Request) bool {
		body = srv.lastBody()
		panic(http.ErrAbortHandler)
	})
	srv.intercept(func(_ http.ResponseWriter, req *http.Request) bool {
		srv.carryOut(body)
		cancel()
		<-req.Context().Done()
		panic(http.ErrAbortHandler)
	})
	if _, err := r.group(t, "g").CreateSandbox(ctx, smallest(), acasapi.Making{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if ids := srv.ids(); len(ids) != 0 {
		t.Errorf("%q are left", ids)
	}
}

func TestTwoThatCarryOneMarkerBecomeOne(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	srv.intercept(func(http.ResponseWriter, *http.Request) bool {
		srv.carryOut(srv.lastBody())
		srv.carryOut(srv.lastBody())
		panic(http.ErrAbortHandler)
	})
	made := must(r.group(t, "g").CreateSandbox(t.Context(), smallest(), acasapi.Making{}))(t)
	if ids := srv.ids(); len(ids) != 1 || ids[0] != made.ID {
		t.Errorf("made %s, there are %q", made.ID, ids)
	}
}

func TestALostCreateFromASnapshotIsNotSentAgain(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	srv.cut(false)
	body := wire.CreateSandbox{SourcesRef: &wire.SourcesRef{Snapshot: &wire.SnapshotRef{ID: "s-1"}}}
	_, err := r.group(t, "g").CreateSandbox(t.Context(), body, acasapi.Making{})
	if !errors.Is(err, sandbox.CodeServiceOutcomeUnknown) || r.events.count(wire.SandboxCreate) != 1 {
		t.Errorf("%v after %d", err, r.events.count(wire.SandboxCreate))
	}
}

func TestACreateThatCannotBeLookedUpIsNotSentAgain(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	srv.cut(true)
	srv.answer(says(http.StatusNotFound, "application/json", ""))
	_, err := r.group(t, "g").CreateSandbox(t.Context(), smallest(), acasapi.Making{})
	if !errors.Is(err, sandbox.CodeServiceOutcomeUnknown) || r.events.count(wire.SandboxCreate) != 1 {
		t.Errorf("%v after %d", err, r.events.count(wire.SandboxCreate))
	}
}

func TestARefusedCreateIsNotLookedUp(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	srv.answer(says(http.StatusBadRequest, wire.ProblemContentType, `{"title":"InvalidResourceTier","status":400,"errorCode":18}`))
	_, err := r.group(t, "g").CreateSandbox(t.Context(), smallest(), acasapi.Making{})
	if e := acasapi.ErrorOf(err); !errors.Is(err, sandbox.CodeServiceInvalid) || e.Code != wire.TitleInvalidTier || e.Number != wire.ErrorCodeInvalidTier {
		t.Error(err)
	}
	if r.events.total() != 1 {
		t.Errorf("%d requests", r.events.total())
	}
}

func TestAnExecIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*server){
		"no answer": func(s *server) { s.cut(false) },
		"500":       func(s *server) { s.answer(says(500, "text/html", "<p>")) },
		"no exit code": func(s *server) {
			s.answer(says(200, "application/json", `{"exit_code":0,"stdout":"","stderr":""}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newServer(t)
			r := srv.rig(t)
			fault(srv)
			s := must(r.group(t, "g").Sandbox("sb-1"))(t)
			_, err := s.ExecShell(t.Context(), wire.ShellCommand{Command: "true"})
			if !errors.Is(err, sandbox.CodeServiceOutcomeUnknown) || len(srv.requests()) != 1 {
				t.Errorf("%v after %d", err, len(srv.requests()))
			}
			must(s.ExecShell(t.Context(), wire.ShellCommand{Command: "true"}))(t) // the next one is fine
		})
	}
}
