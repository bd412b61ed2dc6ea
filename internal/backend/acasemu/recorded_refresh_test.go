package acasemu_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var recordings = flag.String("traces", "", "rewrite testdata/recorded from the recordings in this directory")

// The recording of the official SDK's synchronous client, and what is kept of it.
const (
	recordingName = "sdk-0.1.0b4.jsonl"
	recordedFile  = "testdata/recorded/sdk.jsonl"
)

// recording is a line of a recording: what a real client sent to another server that
// plays the service, and what it was content with.
type recording struct {
	Label   string
	Request struct {
		Method, Path string
		Query        map[string]string
		Headers      map[string]string
		Body         json.RawMessage
	}
	Response struct {
		Status  int
		Headers map[string]string
		Body    any
	}
}

// recorded is what is kept of it: the request, and the shape of the answer.
type recorded struct {
	Method   string            `json:"method"`
	Path     string            `json:"path"`
	Query    map[string]string `json:"query"`
	Audience string            `json:"audience,omitempty"` // of the token; empty is no token
	Kind     string            `json:"kind,omitempty"`
	Body     json.RawMessage   `json:"body,omitempty"`
	// Size is how large a file is written.
	Size int `json:"size,omitempty"`
	// Plants is what a command leaves behind that later requests ask for.
	Plants string   `json:"plants,omitempty"`
	Answer reaction `json:"answer"`
}

// reaction is the shape of an answer.
type reaction struct {
	Status  int      `json:"status"`
	Kind    string   `json:"kind,omitempty"`
	Headers []string `json:"headers"`
	Body    any      `json:"body,omitempty"`
	// IDs are the UUIDs in it by where they stand; later requests name them.
	IDs map[string]string `json:"ids,omitempty"`
}

func refreshRecorded(t *testing.T, dir string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, recordingName))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for line := range bytes.Lines(raw) {
		var r recording
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		// The asynchronous client sends the same requests; 499 is an answer that the
		// client did not wait for.
		if !strings.HasPrefix(r.Label, "sync:") || r.Response.Status == 499 {
			continue
		}
		if err := encoder.Encode(keptOf(t, r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(recordedFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func keptOf(t *testing.T, r recording) recorded {
	t.Helper()
	q := r.Request
	kept := recorded{Method: q.Method, Path: q.Path, Query: q.Query, Kind: q.Headers["content-type"]}
	if rest, ok := strings.CutPrefix(q.Headers["authorization"], "Bearer <aud="); ok {
		kept.Audience = strings.TrimSuffix(rest, ">")
	}
	body := map[string]any{}
	switch {
	case string(q.Body) == "null" || len(q.Body) == 0:
	case kept.Kind != "application/json":
		if err := json.Unmarshal(q.Body, &body); err != nil {
			t.Fatal(err)
		}
		if size, ok := body["bytes"].(float64); ok {
			kept.Size = int(size)
		}
	case strings.HasSuffix(q.Path, "/executeShellCommand"):
		if err := json.Unmarshal(q.Body, &body); err != nil {
			t.Fatal(err)
		}
		kept.Plants = plantedBy(body["command"])
		body["command"] = "true"
		kept.Body = must(json.Marshal(body))(t)
	default:
		kept.Body = q.Body
	}
	kept.Answer = reactionOf(r.Response.Status, r.Response.Headers, r.Response.Body)
	return kept
}

// plantedBy tells what a command of the recording leaves behind.
func plantedBy(command any) string {
	text, _ := command.(string)
	for _, name := range slices.Sorted(maps.Keys(plants)) {
		if strings.Contains(text, plants[name].sign) {
			return name
		}
	}
	return ""
}

func loadRecorded(t *testing.T) []recorded {
	t.Helper()
	file, err := os.Open(recordedFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []recorded
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
