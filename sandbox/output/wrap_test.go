package output_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

func TestASinkForTextTakesTextAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content string
		text    bool
	}{
		"ASCII":                     {"plain", true},
		"long characters":           {strings.Repeat("é日👩", 50_000), true},
		"a zero byte":               {"a\x00b", true},
		"a byte of another time":    {"caf\xe9", false},
		"half a character":          {"a\xf0\x9f\x91", false},
		"half of a pair":            {"\xed\xa0\x80", false},
		"a character too long":      {"\xc0\xaf", false},
		"the end of another":        {"\x80", false},
		"wrong after very much":     {strings.Repeat("日", 100_000) + "\xff", false},
		"a picture":                 {"\x89PNG\r\n\x1a\n", false},
		"text that marks its order": {"\ufeffa", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{})
			s.declare(t, "first", "out")
			if err := s.guest.WriteFile(last[:len(last)-len("last")]+"out", []byte(test.content)); err != nil {
				t.Fatal(err)
			}
			_, err := output.Collect(t.Context(), s.Session, s.spec, output.TextOnly(s.sink))
			if test.text {
				if err != nil || len(s.tree(t)) != 2 {
					t.Errorf("%v, %v", s.tree(t), err)
				}
				return
			}
			wantCode(t, err, sandbox.CodeLandingNotText)
			s.wantNothing(t)
		})
	}
}

func FuzzTextIsFoundHoweverItIsCut(f *testing.F) {
	for _, s := range []string{"", "é日👩", "a\xf0\x9f", "\xed\xa0\x80x", "\xc0\xaf", "\x80", "ok\xffno"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, cut := range []func(io.Reader) io.Reader{
			func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader,
		} {
			var to swallow
			d, err := output.TextOnly(&to).Begin(t.Context(), output.Origin{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = d.Stage(t.Context(), output.Artifact{Name: "x", Size: int64(len(content))}, cut(strings.NewReader(string(content))))
			if utf8.Valid(content) != (err == nil) || (err == nil && string(to.got) != string(content)) {
				t.Fatalf("%q: %v, and %q arrived", content, err, to.got)
			}
		}
	})
}

// swallow keeps what it is given.
type swallow struct{ got []byte }

func (s *swallow) Begin(context.Context, output.Origin) (output.Delivery, error) { return s, nil }
func (s *swallow) Commit(context.Context) error                                  { return nil }
func (s *swallow) Abort() error                                                  { return nil }

func (s *swallow) Stage(_ context.Context, a output.Artifact, content io.Reader) (_ output.Landed, err error) {
	s.got, err = io.ReadAll(content)
	return output.Landed{Name: "something else", Size: 12345}, err
}

func TestARecordIsKeptBeforeAnythingIsSeen(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{Quota: output.Quota{MaxBytes: 10}})
	s.declare(t, "a", "b")
	var recorded []output.Landed
	var of output.Origin
	full := errors.New("the record's disk is full")
	answer := full
	sink := output.Recorded(s.sink, func(_ context.Context, from output.Origin, staged []output.Landed) error {
		for _, file := range s.tree(t) {
			if !strings.Contains(file, ".staging") {
				t.Errorf("%s can be seen", file)
			}
		}
		recorded, of = staged, from
		return answer
	})
	if _, err := output.Collect(t.Context(), s.Session, s.spec, sink); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	s.wantNothing(t)
	answer = nil
	landed, err := output.Collect(t.Context(), s.Session, s.spec, sink)
	if err != nil || len(recorded) != 2 || recorded[0] != landed[0] || of.Owner != "reports" {
		t.Errorf("landed %+v, recorded %+v of %+v, %v", landed, recorded, of, err)
	}
	s.declare(t, "0123456789")
	_, err = output.Collect(t.Context(), s.Session, s.spec, output.TextOnly(sink), output.ForCall("2"))
	wantCode(t, err, sandbox.CodeLandingQuota) // a sink's plan is asked through what wraps it
}

func TestAReceiptIsNotBelievedAboutWhatLanded(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	s.declare(t, "a")
	landed, err := output.Collect(t.Context(), s.Session, s.spec, &swallow{})
	if err != nil || landed[0].Name != "a" || landed[0].Size != 1 || landed[0].Display != "a (1 bytes)" {
		t.Errorf("%+v, %v", landed, err)
	}
}

func TestACollectionIsObservedHoweverItEnds(t *testing.T) {
	t.Parallel()
	limits := sandbox.TransferLimits{MaxBytesPerFile: 1, MaxTotalBytes: 5, MaxFiles: 5}
	for name, test := range map[string]struct {
		change func(*scene)
		want   output.OutputsCollected
	}{
		"landed":   {func(*scene) {}, output.OutputsCollected{Declared: 2, Present: 2}},
		"too much": {func(s *scene) { s.declare(t, "ab") }, output.OutputsCollected{Declared: 1, Failed: true, Refusal: sandbox.CodeTransferCap}},
		"missing": {func(s *scene) { s.spec.Outputs["c"] = sandbox.Output{Path: "c"} }, output.OutputsCollected{
			Declared: 3, Failed: true, Refusal: sandbox.CodeOutputMissing,
		}},
		"optional": {func(s *scene) { s.spec.Outputs["c"] = sandbox.Output{Path: "c", Optional: true} }, output.OutputsCollected{Declared: 3, Present: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{})
			s.declare(t, "a", "b")
			s.spec.FilesOut = &limits
			test.change(s)
			var records []output.OutputsCollected
			landed, err := s.collect(t, output.ForCall("7"), output.Observed(func(r output.OutputsCollected) { records = append(records, r) }))
			if len(records) != 1 {
				t.Fatalf("%d records", len(records))
			}
			r := records[0]
			if r.Declared != test.want.Declared || r.Present != test.want.Present || r.Failed != test.want.Failed || r.Refusal != test.want.Refusal ||
				r.Failed != (err != nil) || len(r.Landed) != len(landed) || r.Limits != limits || r.Origin.Call != "7" || r.Origin.Owner != "reports" {
				t.Errorf("the record is %+v, want %+v", r, test.want)
			}
		})
	}
}

func TestTheHostChoosesWhatIsShownOfAnArtifact(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{Display: func(a output.Artifact) string { return "saved " + a.MediaType }})
	s.declare(t, "a")
	s.spec.Outputs["a"] = sandbox.Output{Path: "a", MediaType: "text/plain"}
	landed, err := s.collect(t)
	if err != nil || landed[0].Display != "saved text/plain" {
		t.Errorf("%+v, %v", landed, err)
	}
}
