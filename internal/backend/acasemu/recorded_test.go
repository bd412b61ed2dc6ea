package acasemu_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// plant is what a command of the recording leaves behind, and a word that only it has.
type plant struct {
	sign string
	do   func(*memguests.View) error
}

var plants = map[string]plant{
	"file": {sign: "/io/guest.txt", do: func(v *memguests.View) error { return v.Write("/io/guest.txt", []byte("x")) }},
	"links": {sign: "mkfifo", do: func(v *memguests.View) error {
		return firstError(
			v.Mkdir("/io/st/sub"), v.Write("/io/st/f", []byte("12345")), v.Link("f", "/io/st/l"), v.Link("sub", "/io/st/dl"),
			v.Pipe("/io/st/p"), v.Link("/nowhere", "/io/st/dangling"), v.Write("/io/st/sub/inner", []byte("in")),
		)
	}},
	"tree": {sign: "/io/del/tree/dirlink", do: func(v *memguests.View) error {
		return firstError(
			v.Mkdir("/io/del/tree/x"), v.Mkdir("/io/del/void"), v.Mkdir("/io/out"), v.Write("/io/out/keep", []byte("k")),
			v.Write("/io/del/tree/x/f", []byte("1")), v.Link("/io/out/keep", "/io/del/link"), v.Link("/io/out", "/io/del/tree/dirlink"),
			v.Write("/io/del/f", []byte("f")),
		)
	}},
}

func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// allowed are the differences that stay: what the recorded server decided for itself,
// and the contract decides otherwise or not at all.
var allowed = map[string]string{
	"/startTime: more":            "an operation of ARM tells when it began",
	"/endTime: more":              "and when it ended",
	"/cmd: missing":               "in the contract an answer has it from the newer version on",
	"/errorCode: missing":         "the contract knows three numbers, for what is missing, stopped or of a wrong size; the recorded server says 0 for all else",
	"/sourcesRef/diskImage: more": "of a preset the contract says nothing; ours names the image that it is made of",
	"/readOnly: more":             "it is false by default, and the recorded server echoes what a request left out",
	"/hostRules: more":            "a list that a request left out is an empty one",
	"/sizeInMB: more":             "an image may tell its size",
}

// The official client was recorded beside another server that plays the service. The
// same requests in the same order are answered here in the same shape: status, type,
// names of headers, members of documents and their types.
func TestAnswersHaveTheShapeRecordedWithTheOfficialClient(t *testing.T) {
	t.Parallel()
	if *recordings != "" {
		refreshRecorded(t, *recordings)
	}
	replay := newReplay(t)
	all := loadRecorded(t)
	seen, used := map[string]bool{}, map[string]bool{}
	for i, r := range all {
		got := replay.answer(t, r)
		where := r.Method + " " + uuid.ReplaceAllString(r.Path[strings.LastIndex(r.Path, "/sandboxGroups")+1:], "ID")
		for _, d := range compare(r.Answer, got) {
			if known, ok := allowedBy(d); ok {
				used[known] = true
			} else if !seen[where+d] { // once is enough
				seen[where+d] = true
				t.Errorf("%d %s %v: %s", i, where, r.Query, d)
			}
		}
	}
	for known := range allowed {
		if !used[known] {
			t.Errorf("%s is allowed and is no difference any more", known)
		}
	}
	if len(all) < 250 {
		t.Errorf("%d exchanges are not the recording", len(all))
	}
}

func allowedBy(difference string) (known string, ok bool) {
	for known := range allowed {
		if strings.HasSuffix(difference, known) {
			return known, true
		}
	}
	return "", false
}

func compare(theirs, ours reaction) []string {
	var all []string
	if theirs.Status != ours.Status {
		return []string{http.StatusText(ours.Status) + ", not " + http.StatusText(theirs.Status)}
	}
	if theirs.Kind != ours.Kind {
		all = append(all, ours.Kind+", not "+theirs.Kind)
	}
	for _, name := range theirs.Headers {
		if !slices.Contains(ours.Headers, name) {
			all = append(all, "no "+name)
		}
	}
	for _, name := range ours.Headers {
		if !slices.Contains(theirs.Headers, name) {
			all = append(all, "also "+name)
		}
	}
	return append(all, differences("", theirs.Body, ours.Body)...)
}

// replay sends what was recorded, with our ids in place of theirs.
type replay struct {
	*world
	ids    map[string]string
	plants string
}

func newReplay(t *testing.T) *replay {
	t.Helper()
	r := &replay{ids: map[string]string{}}
	guests := memguests.New(memguests.Options{Exec: func(_ context.Context, v *memguests.View, _ engine.ExecRequest) (int, error) {
		if p, ok := plants[r.plants]; ok {
			return 0, p.do(v)
		}
		return 0, nil
	}})
	once := acasemu.Delay{Looks: 1}
	r.world = newWorld(t, acasemu.Config{
		Guests:    guests,
		Pace:      &acasemu.Pace{Create: once, Stop: once, Build: once, Snapshot: once, ARM: once},
		Behaviour: acasemu.Behaviour{LoosePorts: true},
	})
	return r
}

func (r *replay) ours(text string) string {
	return uuid.ReplaceAllStringFunc(text, func(id string) string {
		if own, ok := r.ids[id]; ok {
			return own
		}
		return id
	})
}

func (r *replay) answer(t *testing.T, x recorded) reaction {
	t.Helper()
	query := url.Values{}
	for name, value := range x.Query {
		query.Set(name, value)
	}
	body := []byte(r.ours(string(x.Body)))
	if x.Size > 0 {
		body = bytes.Repeat([]byte("x"), x.Size)
	}
	req, err := http.NewRequestWithContext(t.Context(), x.Method, r.url+r.ours(x.Path)+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if x.Audience != "" {
		req.Header.Set("Authorization", token(x.Audience))
	}
	if x.Kind != "" {
		req.Header.Set("Content-Type", x.Kind)
	}
	req.Header.Set("x-ms-client-request-id", "8e9c79c1-9d3f-4a6f-8f5b-111111111111")
	r.plants = x.Plants
	resp, err := r.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	headers := map[string]string{}
	for name, values := range resp.Header {
		headers[strings.ToLower(name)] = values[0]
	}
	var doc any
	if strings.Contains(headers["content-type"], "json") {
		if err := json.Unmarshal(raw, &doc); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	}
	got := reactionOf(resp.StatusCode, headers, doc)
	for at, theirs := range x.Answer.IDs {
		if id, ok := got.IDs[at]; ok && r.ids[theirs] == "" {
			r.ids[theirs] = id
		}
	}
	return got
}
