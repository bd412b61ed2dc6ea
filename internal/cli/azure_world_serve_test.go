package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.admit(rw, r)
	if rest == "" {
		return
	}
	for _, f := range w.faults {
		ok, _ := path.Match(f.path, rest)
		if !ok || f.method != r.Method || f.times == 0 {
			continue
		}
		if f.skip > 0 {
			f.skip--
			continue
		}
		f.times--
		if f.after {
			w.serve(httptest.NewRecorder(), r, rest, body)
		}
		if f.answer(rw, r) {
			return
		}
	}
	w.serve(rw, r, rest, body)
}

// admit checks a caller and gives what follows the group in its path; empty when the
// request has been answered.
func (w *world) admit(rw http.ResponseWriter, r *http.Request) string {
	rw.Header().Set("Date", w.clock.Now().Add(w.ahead).UTC().Format(http.TimeFormat))
	if w.mute {
		rw.Header()["Date"] = nil
	}
	rw.Header().Set("x-ms-request-id", "req-1")
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token == "" || (w.token != "" && token != w.token) || r.URL.Query().Get("api-version") == "" {
		give(rw, http.StatusUnauthorized, wire.Problem{Title: "Unauthorized", Status: 401})
		return ""
	}
	_, rest, ok := strings.Cut(r.URL.Path+"/", "/sandboxGroups/agents/")
	rest = "/" + strings.TrimSuffix(rest, "/")
	w.seen = append(w.seen, r.Method+" "+rest)
	switch {
	case !ok || !w.exists || !strings.HasPrefix(r.URL.Path, "/subscriptions/"+subscription+"/resourceGroups/rg-agents/"):
		give(rw, http.StatusNotFound, wire.Problem{Title: "SandboxGroupNotFound", Status: 404, Detail: "no such group"})
		return ""
	case strings.Contains(r.URL.Path, "/providers/Microsoft.App/") && w.forbidARM:
		rw.WriteHeader(http.StatusForbidden)
		return ""
	case strings.Contains(r.URL.Path, "/providers/Microsoft.App/"):
		give(rw, http.StatusOK, wire.Group{Name: "agents", Location: "Sweden Central"})
		return ""
	}
	return rest
}

func give(rw http.ResponseWriter, status int, v any) {
	b, err := wire.Encode(v)
	if err != nil {
		b = []byte(err.Error())
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(b)
}

func missing(rw http.ResponseWriter) {
	give(rw, http.StatusNotFound, wire.Problem{Title: wire.TitleSandboxNotFound, Status: 404, Detail: "document not found"})
}

func (w *world) serve(rw http.ResponseWriter, r *http.Request, rest string, body []byte) {
	kind, id, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	switch {
	case rest == "/diskimages/public":
		public := []wire.Image{}
		for _, name := range w.catalogue {
			public = append(public, wire.Image{ID: "id-of-" + name, Name: name, Description: "a " + strings.Split(name, "-")[0], Status: &wire.ImageStatus{State: wire.ImageReady}})
		}
		give(rw, http.StatusOK, page(r, public, func(wire.Image) wire.Labels { return nil }))
	case rest == "/sandboxes":
		give(rw, http.StatusOK, page(r, w.sandboxes, func(s wire.Sandbox) wire.Labels { return s.Labels }))
	case rest == "/diskimages" && r.Method == http.MethodPut:
		w.build(rw, body)
	case rest == "/diskimages":
		give(rw, http.StatusOK, page(r, w.images, func(i wire.Image) wire.Labels { return i.Labels }))
	case kind == "sandboxes":
		w.sandboxes = one(w, rw, r, id, w.sandboxes, func(s *wire.Sandbox) (string, *string) { return s.ID, &s.State })
	default:
		w.grow(id)
		w.images = one(w, rw, r, id, w.images, func(i *wire.Image) (string, *string) { return i.ID, &i.Status.State })
	}
}

// page is the part of a list that was asked for: what carries the labels, at most a
// hundred.
func page[T any](r *http.Request, all []T, labels func(T) wire.Labels) []T {
	q := r.URL.Query()
	want := wire.Labels{}
	for pair := range strings.SplitSeq(q.Get("labels"), ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			want[k] = v
		}
	}
	these := []T{}
	for _, item := range all {
		if labels(item).Has(want) {
			these = append(these, item)
		}
	}
	size, _ := strconv.Atoi(q.Get("PageSize"))
	number, _ := strconv.Atoi(q.Get("Page"))
	if size == 0 || size > 100 {
		size = 100
	}
	from := min(max(number-1, 0)*size, len(these))
	return these[from:min(from+size, len(these))]
}

// one answers a request about one thing. What is deleted goes after two more looks.
func one[T any](w *world, rw http.ResponseWriter, r *http.Request, id string, all []T, of func(*T) (id string, state *string)) []T {
	at := slices.IndexFunc(all, func(item T) bool { got, _ := of(&item); return got == id })
	if at < 0 {
		missing(rw)
		return all
	}
	_, state := of(&all[at])
	if r.Method == http.MethodDelete {
		if w.deleting[id] == 0 {
			w.deleting[id] = 3
		}
		*state = wire.StateDeleting
		give(rw, http.StatusOK, struct{}{})
		return all
	}
	if left, going := w.deleting[id]; going {
		if w.deleting[id]--; left == 1 {
			delete(w.deleting, id)
			missing(rw)
			return slices.Delete(all, at, at+1)
		}
	}
	give(rw, http.StatusOK, all[at])
	return all
}

func (w *world) build(rw http.ResponseWriter, body []byte) {
	var c wire.CreateImage
	if err := wire.Decode(body, &c); err != nil {
		give(rw, http.StatusBadRequest, wire.Problem{Title: "InvalidBody", Status: 400, Detail: err.Error()})
		return
	}
	if w.created != nil {
		*w.created = c
	}
	w.made++
	i := wire.Image{
		ID: fmt.Sprintf("img-%d", w.made), Labels: c.Labels, Image: c.Image,
		Status: &wire.ImageStatus{State: wire.ImageBuilding, CreatedAt: w.clock.Now().Format(time.RFC3339)},
	}
	w.images = append(w.images, i)
	if w.building[i.ID] == 0 {
		w.building[i.ID] = 3
	}
	give(rw, http.StatusOK, i)
}

// grow brings an image nearer to its end, at a look.
func (w *world) grow(id string) {
	left, building := w.building[id]
	if !building {
		return
	}
	if w.building[id]--; left > 1 {
		return
	}
	delete(w.building, id)
	for n := range w.images {
		if i := &w.images[n]; i.ID == id {
			ends := w.buildEnds
			ends.CreatedAt = i.Status.CreatedAt
			i.Status = &ends
		}
	}
}
