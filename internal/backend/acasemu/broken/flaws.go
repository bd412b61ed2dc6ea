package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// flaw is one thing that an emulator could get wrong.
type flaw struct {
	name, what string
	// client is the real client that has to notice, and check one of its checks that
	// has to fail.
	client, check string
	// ask, where it is set, changes a request on its way in. It may answer it itself.
	ask func(*http.Request) (*http.Response, error)
	// at says which paths' answers are changed on their way out, change how each value of
	// a document is, and kind what the answer says that it is.
	at     func(path string) bool
	change func(any) any
	kind   string
}

func flaws() []flaw {
	return []flaw{
		{name: "none", what: "nothing", client: "sdk"},
		{
			name: "null-lists", what: "a list that is empty is null", client: "sdk", check: "sync.lists.empty",
			at: anything, change: func(v any) any {
				if list, ok := v.([]any); ok && len(list) == 0 {
					return nil
				}
				return v
			},
		},
		{
			name: "exec-as-bytes", what: "what a command did is told as application/octet-stream", client: "sdk", check: "sync.exec.basics",
			at: paths("/executeShellCommand"), kind: "application/octet-stream",
		},
		{
			name: "stat-in-words", what: "isDir and isSymlink are words, not booleans", client: "sdk", check: "sync.files.stat",
			at: paths("/files/stat", "/files/list"), change: func(v any) any {
				for _, name := range []string{"isDir", "isSymlink"} {
					if entry, ok := v.(map[string]any); ok {
						if is, ok := entry[name].(bool); ok {
							entry[name] = strconv.FormatBool(is)
						}
					}
				}
				return v
			},
		},
		{
			name: "delete-says-gone", what: "a DELETE is answered 404 at once, and deletes nothing", client: "sdk", check: "sync.sandbox.delete",
			ask: func(r *http.Request) (*http.Response, error) {
				above, _, _ := cutLast(r.URL.Path)
				if r.Method != http.MethodDelete || !strings.HasSuffix(above, "/sandboxes") {
					return nil, nil
				}
				return &http.Response{
					StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, ProtoMajor: 1, ProtoMinor: 1,
					Body: io.NopCloser(strings.NewReader(`{"title":"SandboxNotFound","status":404}`)),
				}, nil
			},
		},
		{
			name: "egress-for-show", what: "an egress policy is shown as it was sent, and allows everything", client: "seed", check: "conformance.EGRESS",
			ask: func(r *http.Request) (*http.Response, error) {
				return nil, openEgress(r)
			},
			at: anything, change: func(v any) any {
				if policy, ok := v.(map[string]any); ok && policy["defaultAction"] == "Allow" {
					policy["defaultAction"] = "Deny"
				}
				return v
			},
		},
	}
}

// openEgress makes every policy of a request one that allows what it denied.
func openEgress(r *http.Request) error {
	if r.Body == nil || !strings.Contains(r.Header.Get("Content-Type"), "json") {
		return nil
	}
	body, err := changed(r.Body, func(v any) any {
		if policy, ok := v.(map[string]any); ok && policy["defaultAction"] == "Deny" {
			policy["defaultAction"] = "Allow"
		}
		return v
	})
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

func anything(string) bool { return true }

func paths(endings ...string) func(string) bool {
	return func(path string) bool {
		for _, ending := range endings {
			if strings.HasSuffix(path, ending) {
				return true
			}
		}
		return false
	}
}

func cutLast(path string) (above, last string, found bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// tell changes an answer.
func (f flaw) tell(r *http.Response) error {
	if f.at == nil || !f.at(r.Request.URL.Path) {
		return nil
	}
	if f.change != nil && strings.Contains(r.Header.Get("Content-Type"), "json") {
		body, err := changed(r.Body, f.change)
		if err != nil {
			return err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	if f.kind != "" {
		r.Header.Set("Content-Type", f.kind)
	}
	return nil
}

// changed is a document with every value in it changed, the outermost too. What is
// no document stays as it is.
func changed(from io.ReadCloser, change func(any) any) ([]byte, error) {
	raw, err := io.ReadAll(from)
	if err := from.Close(); err != nil {
		return nil, err
	}
	if err != nil || !json.Valid(raw) {
		return raw, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // a number is passed on as it was written
	var doc any
	if err := decoder.Decode(&doc); err != nil {
		return nil, err
	}
	return json.Marshal(everywhere(doc, change))
}

func everywhere(v any, change func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = everywhere(inner, change)
		}
	case []any:
		for i, inner := range v {
			v[i] = everywhere(inner, change)
		}
	}
	return change(v)
}
