package objectsink_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output/objectsink"
)

func TestAScopeHoldsAsMuchAsItsQuotaAndNoMore(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	sink := newSink(t, m, objectsink.Options{Quota: output.Quota{MaxBytes: 10, MaxFiles: 3}})
	second := origin
	second.Call = "2"
	for _, step := range []struct {
		from  output.Origin
		files []string
		says  string
	}{
		{origin, []string{"a=123456"}, ""},
		{second, []string{"a=12345"}, "5 bytes asked for, 6 used"},
		{second, []string{"a=12", "b=", "c="}, "3 files asked for, 1 used"},
		{second, []string{"a=1234", "b="}, ""},
		{output.Origin{Owner: "other", Key: origin.Key}, []string{"a=1234567890"}, ""},
	} {
		_, err := land(t, t.Context(), sink, step.from, step.files...)
		if step.says == "" {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		wantCode(t, err, sandbox.CodeLandingQuota)
		if !strings.Contains(err.Error(), step.says) {
			t.Errorf("it says %v, want %q", err, step.says)
		}
	}
}

func TestLandingsAtOnceNeverExceedTheQuota(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	sinks := []*objectsink.Sink{}
	for range 2 {
		sinks = append(sinks, newSink(t, m, objectsink.Options{Quota: output.Quota{MaxBytes: 30}}))
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			from := origin
			from.Call = fmt.Sprint(i)
			_, err := land(t, t.Context(), sinks[i%2], from, "a=0123456789")
			if err != nil && !errors.Is(err, sandbox.CodeLandingQuota) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := len(m.data()); n != 3 {
		t.Errorf("%d objects of 10 bytes, want 3", n)
	}
}

func TestRoomOfADeadHostIsFreeAfterItsTime(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	sink := newSink(t, m, objectsink.Options{Quota: output.Quota{MaxBytes: 10}, MaxDuration: time.Minute})
	d, err := sink.Begin(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Stage(t.Context(), output.Artifact{Name: "a", Size: 6}, strings.NewReader("123456")); err != nil {
		t.Fatal(err)
	}
	other := origin
	other.Call = "2"
	_, err = land(t, t.Context(), sink, other, "b=12345")
	wantCode(t, err, sandbox.CodeLandingQuota)
	m.pass(time.Minute)
	if _, err := land(t, t.Context(), sink, other, "b=12345"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, d.Commit(t.Context()), sandbox.CodeLandingFailed) // were it alive after all
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
}

func TestASweepKeepsWhatMayBeUnderWay(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	sink := newSink(t, m, objectsink.Options{MaxDuration: time.Minute})
	if _, err := land(t, t.Context(), sink, origin, "a=1"); err != nil {
		t.Fatal(err)
	}
	d, err := sink.Begin(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Stage(t.Context(), output.Artifact{Name: "b", Size: 1}, strings.NewReader("2")); err != nil {
		t.Fatal(err)
	}
	m.fail = func(_ int, what string) failure { // its host dies before the index
		if what == "swap" || what == "delete" {
			return failsBefore
		}
		return works
	}
	wantCode(t, d.Commit(t.Context()), sandbox.CodeLandingFailed)
	m.fail = nil
	if n := len(m.data()); n != 2 {
		t.Fatalf("%d objects", n)
	}
	if _, err := sink.Sweep(t.Context(), time.Second); err == nil {
		t.Error("it swept what may be under way")
	}
	if removed, err := sink.Sweep(t.Context(), time.Minute); err != nil || removed.Files != 0 {
		t.Errorf("too early it removed %+v, %v", removed, err)
	}
	m.pass(2 * time.Minute)
	if removed, err := sink.Sweep(t.Context(), time.Minute); err != nil || removed != (output.Usage{Bytes: 1, Files: 1}) {
		t.Errorf("it removed %+v, %v", removed, err)
	}
	want(t, holds(t, m, sink, origin), "a=1")
}
