package eventlog_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func refused() egress.Event {
	return egress.Event{
		Time: noon, Code: sandbox.CodeEgressDenied, Found: "no rule admits it", Layer: egress.LayerRequest,
		Host: "api.example.com", Port: 80, Method: "GET", Path: "/v1", Count: 1,
	}
}

func readAll(r io.Reader) ([]eventlog.Entry, error) {
	var all []eventlog.Entry
	reader := eventlog.NewReader(r)
	for {
		e, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := eventlog.NewWriter(&log, eventlog.Options{})
	of := eventlog.Sandbox{Workload: "report", Backend: "process", ID: "s-1"}
	admitted := egress.Event{Time: noon, Allowed: true, Rule: "api", Layer: egress.LayerOpened, Host: "a.example", Port: 443, Method: "GET", Path: "/", Count: 1}
	summary := egress.Event{Time: noon, Code: sandbox.CodeEgressDenied, Layer: egress.LayerConnection, Count: 70, Summary: true}
	w.For(of, "pip").Observe(refused())
	w.For(of, "").Observe(admitted)
	w.Observe(summary)
	end := egress.Event{
		Time: noon, Allowed: true, Layer: egress.LayerConnection, Host: "a.example", Port: 443,
		End: &egress.End{Sent: 1 << 40, Received: 3, Duration: 90 * time.Second},
	}
	w.Observe(end)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Observe(summary) // nothing after Close
	got, err := readAll(&log)
	want := []eventlog.Entry{{Sandbox: of, Program: "pip", Event: refused()}, {Sandbox: of, Event: admitted}, {Event: summary}, {Event: end}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\n%+v", err, got, want)
	}
}

const good = `{"api_version":"sandbox/v1","document":"egress_event","time":"2026-11-30T12:00:00Z","allowed":false,` +
	`"code":"egress.denied","layer":"request","host":"a.example","port":80,"method":"GET","path":"/","count":1}`

const lost = `{"api_version":"sandbox/v1","document":"egress_event","time":"2026-11-30T12:00:00Z","allowed":false,` +
	`"layer":"connection","count":7,"summary":true,"lost":true}`

const ended = `{"api_version":"sandbox/v1","document":"egress_event","time":"2026-11-30T12:00:00Z","allowed":true,` +
	`"layer":"connection","host":"a.example","port":443,"count":0,"end":{"sent":1,"received":3,"duration_ns":5}}`

func TestALineThatIsNoEntryIsNamedAndNothingIsReadAfterIt(t *testing.T) {
	t.Parallel()
	change := func(old, now string) string { return strings.Replace(good, old, now, 1) }
	for line, code := range map[string]sandbox.Code{
		"{}":                               sandbox.CodeDocumentVersion,
		"null":                             sandbox.CodeDocumentVersion,
		change("sandbox/v1", "sandbox/v2"): sandbox.CodeDocumentVersion,
		change(`"document":"egress_event"`, `"document":"policy"`):                     sandbox.CodeDocumentVersion,
		change(`sandbox/v1`, `sandbox/v2`)[:50] + `,"count":"many"}`:                   sandbox.CodeDocumentSyntax,
		change(`"count":1`, `"count":1,"count":2`):                                     sandbox.CodeDocumentDuplicate,
		change(`"count":1`, `"count":0`):                                               sandbox.CodeOutOfRange,
		change(`"count":1`, `"count":9007199254740992`):                                sandbox.CodeOutOfRange,
		change(`"count":1`, `"count":99999999999999999999`):                            sandbox.CodeDocumentType,
		change(`"count":1`, `"count":1.5`):                                             sandbox.CodeDocumentType,
		change(`"port":80`, `"port":70000`):                                            sandbox.CodeDocumentType,
		change(`"port":80`, `"port":-1`):                                               sandbox.CodeDocumentType,
		change(`"layer":"request"`, `"layer":"dns"`):                                   sandbox.CodeDocumentType,
		change(`"time":"2026-11-30T12:00:00Z",`, ``):                                   sandbox.CodeDocumentType,
		change(`2026-11-30T12`, `2026-11-31T12`):                                       sandbox.CodeDocumentType,
		change(`"allowed":false`, `"allowed":true`):                                    sandbox.CodeDocumentType,
		change(`"code":"egress.denied",`, ``):                                          sandbox.CodeDocumentType,
		change(`"count":1`, `"count":1,"summary":true`):                                sandbox.CodeDocumentType,
		change(`a.example`, "a\xff.example"):                                           sandbox.CodeDocumentSyntax,
		change(`"count":1`, `"count":1,"end":{"sent":1,"received":1,"duration_ns":1}`): sandbox.CodeDocumentType,
		strings.Replace(lost, `"summary":true,`, ``, 1):                                sandbox.CodeDocumentType,
		strings.Replace(lost, `"layer"`, `"code":"egress.denied","layer"`, 1):          sandbox.CodeDocumentType,
		strings.Replace(lost, `"layer"`, `"rule":"api","layer"`, 1):                    sandbox.CodeDocumentType,
		strings.Replace(lost, `"count":7`, `"count":0`, 1):                             sandbox.CodeOutOfRange,
		strings.Replace(ended, `"received":3`, `"received":-3`, 1):                     sandbox.CodeOutOfRange,
		strings.Replace(ended, `_ns":5`, `_ns":"5s"`, 1):                               sandbox.CodeDocumentType,
		good + good:                 sandbox.CodeDocumentSyntax,
		good[:len(good)-1]:          sandbox.CodeDocumentSyntax,
		"[" + good + "]":            sandbox.CodeDocumentType,
		"\x00":                      sandbox.CodeDocumentSyntax,
		strings.Repeat("[", 20_000): sandbox.CodeDocumentType,
		change("a.example", strings.Repeat("a", eventlog.MaxLine)): sandbox.CodeDocumentTooLarge,
	} {
		got, err := readAll(strings.NewReader(good + "\n\n" + line + "\n" + good + "\n"))
		r := sandbox.RefusalOf(err)
		if r == nil || r.Code != code || r.Subject != "line 3" || len(got) != 1 {
			t.Errorf("%.90q: %v after %d entries, want %s", line, err, len(got), code)
		}
		if errors.Is(err, eventlog.ErrCutOff) {
			t.Errorf("%.90q: a line with its line break is not cut off", line)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("%.90q: an error of %d bytes", line, len(err.Error()))
		}
	}
	for _, line := range []string{good, ended, lost, change(`"count":1`, `"count":1,"weather":{"wet":[true]}`), good + "\r"} {
		if got, err := readAll(strings.NewReader(line + "\n" + good)); err != nil || len(got) != 2 {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestALastLineThatIsCutOffIsToldFromOneThatIsWrong(t *testing.T) {
	t.Parallel()
	for cut := 1; cut < len(good); cut++ {
		got, err := readAll(strings.NewReader(good + "\n" + good[:cut]))
		if !errors.Is(err, eventlog.ErrCutOff) || len(got) != 1 {
			t.Fatalf("cut at %d: %v, %d entries", cut, err, len(got))
		}
	}
	if _, err := readAll(strings.NewReader(good + "\n{}")); err == nil || errors.Is(err, eventlog.ErrCutOff) {
		t.Errorf("a whole object that is no entry is cut off: %v", err)
	}
}

func TestReadersErrorsArePassedOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	_, err := readAll(io.MultiReader(strings.NewReader(good+"\n"+good[:9]), failing{broken}))
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// endless is n lines, each of another host.
type endless struct {
	n    int
	rest []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.n == 0 {
			return 0, io.EOF
		}
		e.n--
		e.rest = []byte(strings.Replace(good, "a.example", "h"+strconv.Itoa(e.n)+".example", 1) + "\n")
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestAMillionLinesAreReadAtSteadyMemory(t *testing.T) { //nolint:paralleltest // it weighs the memory of the process
	if testing.Short() {
		t.Skip("it reads a million lines")
	}
	lines := 1_000_000
	r := eventlog.NewReader(&endless{n: lines})
	var most, stats runtime.MemStats
	for i := 0; ; i++ {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if i%200_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&stats)
			if most.HeapAlloc == 0 {
				most = stats
			}
			if stats.HeapAlloc > most.HeapAlloc+4<<20 {
				t.Fatalf("after %d lines %d bytes are held, %d at first", i, stats.HeapAlloc, most.HeapAlloc)
			}
		}
	}
	if r.Line() != lines {
		t.Errorf("%d lines", r.Line())
	}
}

func TestAWriterKeepsToItsBoundAndSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := eventlog.NewWriter(&log, eventlog.Options{MaxBytes: 1000})
	allowed := refused()
	allowed.Allowed, allowed.Code, allowed.Found = true, "", ""
	for range 50 {
		w.Observe(refused())
		w.Observe(allowed)
	}
	if log.Len() > 1000 {
		t.Errorf("%d bytes", log.Len())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := readAll(&log)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[bool]int{}
	for i, e := range entries {
		counts[e.Allowed] += e.Count
		if e.Lost != (i >= len(entries)-2) {
			t.Errorf("entry %d of %d: %+v", i, len(entries), e)
		}
	}
	if counts[true] != 50 || counts[false] != 50 {
		t.Errorf("%v of 50 each", counts)
	}
}

func TestWhatIsTooLongForALineIsWrittenAsASummary(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", eventlog.MaxLine)
	for name, e := range map[string]eventlog.Entry{
		"path":    {Program: "pip", Event: egress.Event{Path: long}},
		"program": {Program: long},
		"invalid": {Program: "pip", Event: egress.Event{Host: strings.Repeat("\xff", eventlog.MaxLine)}},
	} {
		e.Time, e.Code, e.Layer, e.Count = noon, sandbox.CodeEgressDenied, egress.LayerRequest, 3
		var log bytes.Buffer
		w := eventlog.NewWriter(&log, eventlog.Options{})
		w.Write(e)
		got, err := readAll(&log)
		if err != nil || len(got) != 1 || !got[0].Summary || got[0].Count != 3 || w.Close() != nil {
			t.Errorf("%s: %v %.300v", name, err, got)
		}
	}
	var log bytes.Buffer
	w := eventlog.NewWriter(&log, eventlog.Options{})
	w.Observe(egress.Event{Time: noon, Allowed: true, Host: long, End: &egress.End{}})
	w.Observe(refused())
	if got, err := readAll(&log); err != nil || len(got) != 1 || w.Close() != nil {
		t.Errorf("an end that is too long: %v %.300v", err, got)
	}
}

// halfway takes a part of one write and fails.
type halfway struct {
	bytes.Buffer
	after int
}

var errDisk = errors.New("no space left")

func (h *halfway) Write(p []byte) (int, error) {
	if h.after--; h.after < 0 {
		n, _ := h.Buffer.Write(p[:len(p)/2])
		return n, errDisk
	}
	return h.Buffer.Write(p)
}

func TestNothingIsWrittenBehindHalfALine(t *testing.T) {
	t.Parallel()
	log := halfway{after: 2}
	w := eventlog.NewWriter(&log, eventlog.Options{})
	for range 10 {
		w.Observe(refused())
	}
	if err := w.Close(); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	got, err := readAll(&log)
	if len(got) != 2 || !errors.Is(err, eventlog.ErrCutOff) {
		t.Errorf("%d entries, %v", len(got), err)
	}
}

func TestLinesOfManyGoroutinesStayWhole(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := eventlog.NewWriter(&log, eventlog.Options{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			o := w.For(eventlog.Sandbox{ID: strconv.Itoa(i)}, "")
			for range 100 {
				o.Observe(refused())
			}
		})
	}
	all.Wait()
	if got, err := readAll(&log); err != nil || len(got) != 800 {
		t.Errorf("%d entries, %v", len(got), err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(good + "\n" + good))
	f.Add([]byte(strings.Replace(good, "a.example", `\ud800`, 1) + "\n"))
	f.Add([]byte(ended + "\n"))
	f.Add([]byte(lost + "\n"))
	f.Add([]byte("\r\n\n[[[[\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		entries, err := readAll(bytes.NewReader(log))
		if err != nil && sandbox.RefusalOf(err) == nil {
			t.Fatalf("%v is no refusal", err)
		}
		for _, e := range entries {
			line, err := eventlog.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			again, err := eventlog.Decode(bytes.TrimSuffix(line, []byte("\n")))
			if len(line) > eventlog.MaxLine { // escapes of the log may be longer than its own
				continue
			}
			if err != nil || !again.Time.Equal(e.Time) {
				t.Fatalf("%v: %+v\n%+v", err, e, again)
			}
			if again.Time = e.Time; !reflect.DeepEqual(again, e) {
				t.Fatalf("%+v\n%+v", e, again)
			}
		}
	})
}
