package objectsink_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output/objectsink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var origin = output.Origin{Owner: "o", Key: sandbox.Key{Scope: "tenant", Thread: "t"}, Call: "1"}

func newSink(t *testing.T, m *memory, options objectsink.Options) *objectsink.Sink {
	t.Helper()
	options.Now = m.now
	sink, err := objectsink.New(m, options)
	if err != nil {
		t.Fatal(err)
	}
	return sink
}

// land lands files that hold their content, in the order of "name=content".
func land(t *testing.T, ctx context.Context, sink output.Sink, from output.Origin, files ...string) (landed []output.Landed, err error) { //nolint:revive // t first, as everywhere
	t.Helper()
	d, err := sink.Begin(ctx, from)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Abort()) }()
	var artifacts []output.Artifact
	var contents []string
	for _, file := range files {
		name, content, _ := strings.Cut(file, "=")
		artifacts = append(artifacts, output.Artifact{Name: name, Size: int64(len(content))})
		contents = append(contents, content)
	}
	planner, ok := d.(output.Planner)
	if !ok {
		t.Fatal("it cannot plan")
	}
	if err := planner.Plan(ctx, artifacts); err != nil {
		return nil, err
	}
	for i, a := range artifacts {
		l, err := d.Stage(ctx, a, strings.NewReader(contents[i]))
		if err != nil {
			return nil, err
		}
		landed = append(landed, l)
	}
	return landed, d.Commit(ctx)
}

// holds lists what an origin has landed as "name=content".
func holds(t *testing.T, m *memory, sink *objectsink.Sink, from output.Origin) []string {
	t.Helper()
	entries, err := sink.Landed(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		content, _, err := m.Read(t.Context(), e.Object, 1<<20)
		if err != nil {
			t.Errorf("%s is in the index and cannot be read: %v", e.Name, err)
		}
		if len(e.SHA256) != 64 || e.Bytes != int64(len(content)) || sink.Locate(e) != "memory:"+e.Object {
			t.Errorf("%+v describes %d bytes", e, len(content))
		}
		files = append(files, e.Name+"="+string(content))
	}
	return files
}

func want(t *testing.T, got []string, files ...string) {
	t.Helper()
	if !slices.Equal(got, files) {
		t.Errorf("it holds %q, want %q", got, files)
	}
}

func wantCode(t *testing.T, err error, code sandbox.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
}

func TestALandingIsSeenThroughItsIndex(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	sink := newSink(t, m, objectsink.Options{Prefix: "outputs/"})
	landed, err := land(t, t.Context(), sink, origin, "report/a.txt=one", "É\u202e con.=two", "empty=")
	if err != nil {
		t.Fatal(err)
	}
	want(t, holds(t, m, sink, origin), "report/a.txt=one", "É\u202e con.=two", "empty=")
	if landed[1].Display != `"É\u202e con." (3 bytes)` || !strings.HasPrefix(landed[1].Handle, "memory:outputs/") {
		t.Errorf("%+v", landed[1])
	}
	for _, other := range []output.Origin{{}, {Owner: "p", Key: origin.Key, Call: "1"}, {Owner: "o", Key: origin.Key, Call: "2"}} {
		want(t, holds(t, m, sink, other))
	}
	if last := m.calls[slices.IndexFunc(m.calls, func(c string) bool { return strings.HasSuffix(c, "index.json") && strings.HasPrefix(c, "swap") })-1]; !strings.HasPrefix(last, "commit") {
		t.Errorf("before the index came %q", last)
	}
	if got := m.reserved(); got != `{"reservations":[]}` {
		t.Errorf("the ledger holds %s", got)
	}
}

func TestWhatLandedStaysUnlessItMayBeReplaced(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		existing output.Existing
		second   string
		refused  bool
	}{
		"another name":               {output.ExistingRefuse, "c", false},
		"the same name":              {output.ExistingRefuse, "b", true},
		"the same in capitals":       {output.ExistingRefuse, "B", true},
		"replaced":                   {output.ExistingReplace, "b", false},
		"replaced by other capitals": {output.ExistingReplace, "B", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory(t)
			sink := newSink(t, m, objectsink.Options{Existing: test.existing})
			if _, err := land(t, t.Context(), sink, origin, "a=1", "b=2"); err != nil {
				t.Fatal(err)
			}
			_, err := land(t, t.Context(), sink, origin, "d=3", test.second+"=4")
			switch {
			case test.refused:
				wantCode(t, err, sandbox.CodeLandingExists)
				want(t, holds(t, m, sink, origin), "a=1", "b=2")
			case err != nil:
				t.Fatal(err)
			case test.second == "b":
				want(t, holds(t, m, sink, origin), "a=1", "d=3", "b=4")
			default:
				want(t, holds(t, m, sink, origin), "a=1", "b=2", "d=3", "c=4")
			}
			if entries := holds(t, m, sink, origin); len(m.data()) != len(entries) {
				t.Errorf("%d objects for %d outputs", len(m.data()), len(entries))
			}
		})
	}
}

// TestAFailureAtAnyCallLandsAllOrNothing has each call of a landing fail in turn, in
// each way, and looks at what a reader sees and what is left.
func TestAFailureAtAnyCallLandsAllOrNothing(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]failure{"before": failsBefore, "after": failsAfter, "with its answer lost": losesAnswer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				m := newMemory(t)
				sink := newSink(t, m, objectsink.Options{Existing: output.ExistingReplace, MaxDuration: time.Minute})
				if _, err := land(t, t.Context(), sink, origin, "a=old", "k=kept"); err != nil {
					t.Fatal(err)
				}
				begun := len(m.calls)
				m.fail = func(call int, _ string) failure {
					if call == begun+at {
						return mode
					}
					return works
				}
				_, err := land(t, t.Context(), sink, origin, "a=new", "b=new")
				calls := len(m.calls) - begun
				m.fail = nil
				failed := "nothing"
				if at <= calls {
					failed = m.calls[begun+at-1]
				}
				wantAllOrNothing(t, m, sink, failed, err)
				if mode == losesAnswer && err != nil {
					t.Errorf("%s: %v", failed, err)
				}
				if at > calls {
					return
				}
			}
		})
	}
}

func wantAllOrNothing(t *testing.T, m *memory, sink *objectsink.Sink, failed string, err error) {
	t.Helper()
	before, after := []string{"a=old", "k=kept"}, []string{"k=kept", "a=new", "b=new"}
	got := holds(t, m, sink, origin)
	refusal := sandbox.RefusalOf(err)
	if err != nil && (refusal == nil || refusal.Code != sandbox.CodeLandingFailed) {
		t.Errorf("%s: %v", failed, err)
	}
	if (err == nil && !slices.Equal(got, after)) || (err != nil && !slices.Equal(got, before)) {
		t.Errorf("%s: %v, and it holds %q", failed, err, got)
	}
	// What is left beside it is swept in time, and then its room is free.
	m.pass(time.Hour)
	if _, err := sink.Sweep(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(holds(t, m, sink, origin), got) || len(m.data()) != len(got) {
		t.Errorf("%s: after a sweep %d objects stand for %q", failed, len(m.data()), got)
	}
	if err == nil || strings.HasPrefix(failed, "delete") || strings.HasPrefix(failed, "discard") {
		return
	}
	if _, err := land(t, t.Context(), newSink(t, m, objectsink.Options{Existing: output.ExistingReplace, Quota: output.Quota{MaxFiles: 3}}), origin, "a=x", "b=x"); err != nil {
		t.Errorf("%s: the next landing: %v", failed, err)
	}
}

func TestAStoreThatStaysDownLeavesTheOutcomeUnsaid(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	sink := newSink(t, m, objectsink.Options{})
	down := false
	m.fail = func(_ int, what string) failure {
		switch {
		case down:
			return failsBefore
		case what == "swap" && strings.HasSuffix(m.calls[len(m.calls)-1], "index.json"):
			down = true
			return failsAfter
		}
		return works
	}
	_, err := land(t, t.Context(), sink, origin, "a=1")
	wantCode(t, err, sandbox.CodeLandingFailed)
	if !strings.Contains(err.Error(), "whether it arrived is not known") {
		t.Errorf("it says %v", err)
	}
	m.fail = nil
	want(t, holds(t, m, sink, origin), "a=1") // its objects were not removed
}

func TestCancellingAtAnyCallLandsAllOrNothing(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		m := newMemory(t)
		sink := newSink(t, m, objectsink.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		m.fail = func(call int, _ string) failure {
			if call == at {
				cancel()
			}
			return works
		}
		_, err := land(t, ctx, sink, origin, "a=1", "b=2")
		cancel()
		m.fail = nil
		got := holds(t, m, sink, origin)
		switch {
		case err == nil:
			want(t, got, "a=1", "b=2")
		case !errors.Is(err, context.Canceled):
			t.Errorf("cancelled at call %d: %v", at, err)
		default:
			want(t, got)
		}
		if len(m.data()) != len(got) || !strings.HasSuffix(m.reserved(), "[]}") && m.reserved() != "" {
			t.Errorf("cancelled at call %d: %d objects are left, and reserved is %s", at, len(m.data()), m.reserved())
		}
		if len(m.calls) < at {
			return
		}
	}
}

func TestOneOfTwoLandingsUnderANameLands(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	sink := newSink(t, m, objectsink.Options{})
	var group sync.WaitGroup
	var mu sync.Mutex
	landed := 0
	for i := range 6 {
		group.Go(func() {
			_, err := land(t, t.Context(), sink, origin, fmt.Sprint("own", i, "=x"), "one=x")
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
	if landed != 1 || len(m.data()) != 2 || len(holds(t, m, sink, origin)) != 2 {
		t.Errorf("%d landed, %d objects", landed, len(m.data()))
	}
}

func TestContentOfAnotherLengthIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"shorter": "12", "longer": "1234"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory(t)
			d, err := newSink(t, m, objectsink.Options{}).Begin(t.Context(), origin)
			if err != nil {
				t.Fatal(err)
			}
			_, err = d.Stage(t.Context(), output.Artifact{Name: "a", Size: 3}, strings.NewReader(content))
			wantCode(t, err, sandbox.CodeLandingFailed)
			if err := d.Abort(); err != nil {
				t.Error(err)
			}
			if len(m.data()) != 0 {
				t.Errorf("%q stand", m.data())
			}
		})
	}
}

func TestNamesAreJudgedByTheSinkAsWell(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	sink := newSink(t, m, objectsink.Options{})
	for _, name := range []string{"", "..", "../x", "/x", `a\b`, "a//b", "a\x00b", "\xff", strings.Repeat("n", 256)} {
		_, err := land(t, t.Context(), sink, origin, name+"=x")
		wantCode(t, err, sandbox.CodeArtifactNameInvalid)
	}
	if len(m.calls) != 0 {
		t.Errorf("the store was asked %q", m.calls)
	}
	if _, err := land(t, t.Context(), sink, origin, strings.Repeat("n", 255)+"=x", strings.Repeat("/é", 85)[1:]+"=y"); err != nil {
		t.Error(err)
	}
}

func TestAnIndexThatIsNotOursIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"no JSON": "<html>", "a later format": `{"format":2}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory(t)
			sink := newSink(t, m, objectsink.Options{})
			key := origin.ScopeName() + "/" + origin.CallName() + "/index.json"
			m.put(key, []byte(content))
			_, err := land(t, t.Context(), sink, origin, "a=1")
			wantCode(t, err, sandbox.CodeLandingFailed)
			if got := string(m.objects[key].content); got != content || len(m.data()) != 0 {
				t.Errorf("it became %q, and %q stand", got, m.data())
			}
		})
	}
}

func TestASinkIsOpenedOnAStoreWithAPlainPrefix(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	for _, prefix := range []string{"Outputs/", "a b", "\n", "é", strings.Repeat("p", 101)} {
		if _, err := objectsink.New(m, objectsink.Options{Prefix: prefix}); err == nil {
			t.Errorf("the prefix %q was accepted", prefix)
		}
	}
	for _, prefix := range []string{"", "outputs/", strings.Repeat("p", 100)} {
		if _, err := objectsink.New(m, objectsink.Options{Prefix: prefix}); err != nil {
			t.Error(err)
		}
	}
	if _, err := objectsink.New(nil, objectsink.Options{}); err == nil {
		t.Error("a sink without a store was opened")
	}
}
