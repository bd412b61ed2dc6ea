package wire_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

var answers = []string{
	`{"id":"7b0c","state":"Running","stateDetails":null,"labels":{"run":"42"},"resources":{"cpu":"1000m"},"ports":[],"x":[1]}`,
	`{"id":"s","state":"Stopped","stateDetails":{"stoppedReason":"Idle"},"egressPolicy":{"defaultAction":"Deny","hostRules":[{"pattern":"*.a","action":"Allow"}],"http":{}}}`,
	`{"exitCode":7,"stdout":"\ud800","stderr":"boom\n","executionTimeMs":23}`,
	`{"path":"/app","entries":[{"name":"cur","path":"/app/cur","size":7,"mode":511,"isDir":false,"isSymlink":true,"symlinkTarget":"/v1","modifiedTime":1790000000}]}`,
	`{"value":[{"id":"a","state":"b"}],"nextLink":"https://x/y?api-version=1"}`,
	`[{"id":"a","state":"b"}]`, `{"secrets":[{"id":"abc"}]}`, `null`, `[]`, `{}`, `"x"`, ``,
	`{"title":"SandboxNotFound","status":404,"detail":"d","errorCode":1,"errors":{"a":["b"]}}`,
	`{"error":{"code":"c","message":"m","details":[{"code":"d","message":"n"}]}}`, `{"error":"x"}`, `{"code":1,"message":"m"}`,
	`{"id":"/s","status":"Failed","error":{"code":"c","message":"m"}}`,
	`{"diskImage":{"id":"d","status":{"state":"Failed","errorMessage":"e"}}}`, `{"ports":[{"port":8080,"auth":{"anonymous":true}}]}`,
}

// Whatever arrives, reading it ends without a panic; and what was read, written and
// read again is the same, unknown members included.
func FuzzAnswersAreReadOrRefused(f *testing.F) {
	for _, a := range answers {
		f.Add([]byte(a))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		roundTrip[wire.Sandbox](t, b)
		roundTrip[wire.CreateSandbox](t, b)
		roundTrip[wire.Group](t, b)
		roundTrip[wire.Image](t, b)
		roundTrip[wire.Snapshot](t, b)
		roundTrip[wire.Volume](t, b)
		roundTrip[wire.EgressPolicy](t, b)
		roundTrip[wire.NamedEgressPolicy](t, b)
		roundTrip[wire.Listing](t, b)
		roundTrip[wire.Decisions](t, b)
		roundTrip[wire.Status](t, b)
		var result wire.ExecResult
		if wire.DecodeText(b, &result) == nil && result.Check() == nil && !utf8.ValidString(result.Stdout) {
			t.Error("text of a guest is not text")
		}
		_, _ = wire.ReadPorts(b)
		_, _ = wire.ReadCommit(b)
		_, _ = wire.ReadLifecycle(b)
		_ = wire.ReadComplaint(b)
		if page, err := wire.DecodePage[wire.Sandbox](b, "value"); err == nil {
			if page.Items == nil || !wire.Whole(b) || bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
				t.Errorf("%q is a list", b)
			}
		}
		_, _ = wire.DecodePage[wire.Secret](b, "secrets")
	})
}

func roundTrip[T any](t *testing.T, b []byte) {
	t.Helper()
	var first, again T
	if err := wire.Decode(b, &first); err != nil {
		if strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%q is more than a line", err)
		}
		return
	}
	if !wire.Whole(b) {
		t.Errorf("%q is read and is not whole", b)
	}
	once, err := wire.Encode(first)
	if err != nil {
		t.Fatalf("%T of %q cannot be written: %v", first, b, err)
	}
	if err := wire.Decode(once, &again); err != nil {
		t.Fatalf("%T is written as %q: %v", first, once, err)
	}
	twice, err := wire.Encode(again)
	if err != nil || !bytes.Equal(once, twice) {
		t.Errorf("%T is %s and then %s, %v", first, once, twice, err)
	}
	if a, b := wire.Unknown(&first), wire.Unknown(&again); strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("unknown are %q and then %q", a, b)
	}
}

// A segment that is accepted is one segment, and comes out as it went in.
func FuzzSegmentsStayOneSegment(f *testing.F) {
	for _, s := range []string{"x", "..", "a/b", "%2e%2e", "a;b", "ü", "a+b", "~", "-", "a:b", "*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		path, err := wire.Expand("/a/{sandbox}/z", wire.Segments{wire.SegSandbox: value})
		if err != nil {
			return
		}
		u, err := url.Parse("https://host" + path + "?q=1")
		if err != nil {
			t.Fatalf("%q gives %q: %v", value, path, err)
		}
		if u.Path != "/a/"+value+"/z" || strings.Count(u.EscapedPath(), "/") != 3 || u.RawQuery != "q=1" || u.Host != "host" {
			t.Errorf("%q gives %q", value, u)
		}
		if clean := u.JoinPath().Path; clean != u.Path {
			t.Errorf("%q is cleaned to %q", value, clean)
		}
	})
}

// A filter that is accepted names exactly its labels to a reader that splits it.
func FuzzLabelFiltersAreReadBack(f *testing.F) {
	f.Add("k", "v", "k2", "v2")
	f.Add("k", "a=b", "", "")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		labels := wire.Labels{k1: v1, k2: v2}
		if labels.Check() != nil {
			return
		}
		back := wire.Labels{}
		for pair := range strings.SplitSeq(labels.Filter(), ",") {
			k, v, _ := strings.Cut(pair, "=")
			back[k] = v
		}
		if len(back) != len(labels) || !back.Has(labels) {
			t.Errorf("%q is read back as %q", labels, back)
		}
	})
}
