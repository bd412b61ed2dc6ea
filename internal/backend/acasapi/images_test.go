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

const (
	building = `{"id":"img-1","status":{"state":"Building"}}`
	broken   = `{"id":"img-1","status":{"state":"Failed","errorMessage":"pull denied"}}`
	ready    = `{"id":"img-1","status":{"state":"Ready"}}`
	nowhere  = `{"title":"NotFound","status":404}`
)

// What is awaited may be somebody else's: it is looked at, and never removed.
func TestAwaitingAnImageRemovesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []string
		state   string
		code    sandbox.Code
	}{
		"built":               {[]string{building, ready}, "Ready", ""},
		"not visible at once": {[]string{nowhere, nowhere, building, ready}, "Ready", ""},
		"failed":              {[]string{building, broken}, "Failed", sandbox.CodeServiceFailed},
		"never there":         {nil, "", sandbox.CodeServiceNotFound},
		"gone meanwhile":      {[]string{building, nowhere}, "Building", sandbox.CodeServiceNotFound},
	} {
		s := newServer(t)
		r := s.rig(t)
		for _, body := range c.answers {
			status := http.StatusOK
			if body == nowhere {
				status = http.StatusNotFound
			}
			s.answer(says(status, "application/json", body))
		}
		image, err := r.group(t, "g").AwaitImage(t.Context(), wire.Image{ID: "img-1"}, acasapi.Wait{})
		if image.ID != "img-1" || image.State() != c.state {
			t.Errorf("%s: %+v", name, image)
		}
		if c.code == "" && err != nil || c.code != "" && !errors.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
		if c.code == sandbox.CodeServiceFailed && image.Why() != "pull denied" {
			t.Errorf("%s: the service said %q", name, image.Why())
		}
		for _, request := range s.requests() {
			if request.Method != http.MethodGet {
				t.Errorf("%s: %s %s", name, request.Method, request.URL.Path)
			}
		}
	}
}

func TestAwaitingAnImageEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.answer(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		says(http.StatusOK, "application/json", building)(w, r)
	})
	if _, err := s.rig(t).group(t, "g").AwaitImage(ctx, wire.Image{ID: "img-1"}, acasapi.Wait{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// Ages are counted by the clock that dated what is old.
func TestTheServicesTimeIsThatOfItsLastGrant(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	r := s.rig(t)
	g := r.group(t, "g")
	if at, own := g.ServiceTime(); !at.IsZero() || !own.IsZero() {
		t.Errorf("before anything was answered it is %s", at)
	}
	said := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	list := func(status int, date ...string) {
		s.answer(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Date"] = date
			says(status, "application/json", "[]")(w, r)
		})
		_, _ = gathered(g.Sandboxes(t.Context(), nil))
	}
	list(http.StatusOK, said.Format(http.TimeFormat))
	if at, own := g.ServiceTime(); !at.Equal(said) || !own.Equal(r.clock.Now()) {
		t.Errorf("it is %s, and %s here", at, own)
	}
	list(http.StatusBadRequest, said.Add(time.Hour).Format(http.TimeFormat)) // from whoever refused it
	if at, _ := g.ServiceTime(); !at.Equal(said) {
		t.Errorf("a refusal made it %s", at)
	}
	for _, date := range [][]string{nil, {"yesterday"}} {
		list(http.StatusOK, date...)
		if at, own := g.ServiceTime(); !at.IsZero() || !own.IsZero() {
			t.Errorf("the header %q made it %s", date, at)
		}
	}
}
