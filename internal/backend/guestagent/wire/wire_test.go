package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	exec := wire.Exec{
		Args: []string{"a", "", "\xff\x00"}, Env: []string{"A=b"}, Dir: "/d", Stdin: true, GraceMillis: 7, Window: wire.MaxCredit,
		As: &wire.User{UID: 1, GID: 1<<32 - 1, Groups: []uint32{0, 3}},
	}
	op, message, err := wire.SplitRequest(exec.Request())
	if got, parseErr := wire.ParseExec(message); op != wire.OpExec || err != nil || parseErr != nil || !reflect.DeepEqual(got, exec) {
		t.Errorf("%+v, %v, %v", got, err, parseErr)
	}
	file := wire.File{Path: "/\xff", Size: 1<<63 - 1, Recursive: true, Follow: true, SetMode: true, Mode: 0o7777, Window: 1}
	op, message, err = wire.SplitRequest(file.Request(wire.OpWrite))
	if got, parseErr := wire.ParseFile(message); op != wire.OpWrite || err != nil || parseErr != nil || got != file {
		t.Errorf("%+v, %v, %v", got, err, parseErr)
	}
	forward := wire.Forward{Port: 65535, Socket: "/s", Connections: 9}
	op, message, err = wire.SplitRequest(forward.Request())
	if got, parseErr := wire.ParseForward(message); op != wire.OpForward || err != nil || parseErr != nil || got != forward {
		t.Errorf("%+v, %v, %v", got, err, parseErr)
	}
	tree := wire.Tree{Window: 5}
	op, message, err = wire.SplitRequest(tree.Request(wire.OpPack))
	if got, parseErr := wire.ParseTree(message); op != wire.OpPack || err != nil || parseErr != nil || got != tree {
		t.Errorf("%+v, %v, %v", got, err, parseErr)
	}
	hold := wire.Hold{Release: true}
	op, message, err = wire.SplitRequest(hold.Request())
	if got, parseErr := wire.ParseHold(message); op != wire.OpHold || err != nil || parseErr != nil || got != hold {
		t.Errorf("%+v, %v, %v", got, err, parseErr)
	}
	details := wire.Details{Info: wire.Info{Kind: wire.EntrySymlink}, Mode: 0o777, UID: 1, GID: 2, Modified: -3, Target: "\xff"}
	if o, got, err := wire.ParseDetails(details.Result()); got != details || o.Status != wire.StatusOK || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	bad := wire.Outcome{Status: wire.StatusOther, Dir: true, Errno: 1<<32 - 1}
	if got, err := wire.ParseOutcome(bad.Result()); got != bad || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	exit := wire.Exit{Code: 255}
	if o, got, err := wire.ParseExit(exit.Result()); got != exit || o.Status != wire.StatusOK || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if o, _, err := wire.ParseExit(bad.Result()); o != bad || err != nil {
		t.Errorf("%+v, %v", o, err)
	}
	info := wire.Info{Kind: wire.EntryOther, Size: 5}
	if o, got, err := wire.ParseInfo(info.Result()); got != info || o.Status != wire.StatusOK || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	entry := wire.AppendEntry(nil, info, "name")
	if got, n, err := wire.ParseEntryHead(entry[:wire.EntryHead]); got != info || n != 4 || err != nil || string(entry[wire.EntryHead:]) != "name" {
		t.Errorf("%+v, %d, %v", got, n, err)
	}
	if err := wire.CheckHello(wire.Hello()); err != nil {
		t.Error(err)
	}
}

func TestEachSideSendsOnlyItsOwnKinds(t *testing.T) {
	t.Parallel()
	for _, h := range []wire.Header{
		{Kind: wire.KindRequest, Call: 1, Length: wire.MaxRequest},
		{Kind: wire.KindCancel, Call: 1},
		{Kind: wire.KindEnd, Call: 1},
		{Kind: wire.KindData, Call: 1, Stream: wire.StreamIn, Length: wire.MaxChunk},
		{Kind: wire.KindCredit, Call: 1, Stream: wire.StreamErr, Length: 4},
	} {
		checkSides(t, h, true, false)
	}
	for _, h := range []wire.Header{
		{Kind: wire.KindReply, Call: 1, Length: wire.MaxResult},
		{Kind: wire.KindResult, Call: 1<<64 - 1, Length: 1},
		{Kind: wire.KindData, Call: 1, Stream: wire.StreamErr, Length: 1},
		{Kind: wire.KindCredit, Call: 1, Stream: wire.StreamIn, Length: 4},
	} {
		checkSides(t, h, false, true)
	}
	checkSides(t, wire.Header{Kind: wire.KindHello, Length: uint32(len(wire.Hello()))}, true, true)
	for _, h := range []wire.Header{
		{},
		{Kind: wire.KindHello, Call: 1, Length: 18},
		{Kind: wire.KindRequest, Length: 1},
		{Kind: wire.KindRequest, Call: 1, Length: wire.MaxRequest + 1},
		{Kind: wire.KindCancel, Call: 1, Length: 1},
		{Kind: wire.KindCancel, Call: 1, Stream: 1},
		{Kind: wire.KindData, Call: 1, Stream: 3, Length: 1},
		{Kind: wire.KindCredit, Call: 1, Stream: 1, Length: 5},
		{Kind: 9, Call: 1},
	} {
		checkSides(t, h, false, false)
	}
}

func checkSides(t *testing.T, h wire.Header, host, agent bool) {
	t.Helper()
	b := make([]byte, wire.HeaderSize)
	h.Put(b)
	for side, may := range map[wire.Side]bool{wire.Host: host, wire.Agent: agent} {
		got, err := wire.ParseHeader(b, side)
		if may != (err == nil) || err == nil && got != h || err != nil && !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%+v from %d: %+v, %v", h, side, got, err)
		}
	}
}

// FuzzMessages holds every decoder to one form: what it takes, it gives back.
func FuzzMessages(f *testing.F) {
	f.Add(wire.Exec{Args: []string{"a"}, Env: []string{""}, Dir: "/"}.Request())
	f.Add(wire.File{Path: "/x", Size: 3}.Request(wire.OpOpen))
	f.Add(wire.Forward{Port: 1, Socket: "/s"}.Request())
	f.Add(wire.Exec{Args: []string{"a"}, Dir: "/", As: &wire.User{Groups: []uint32{1}}}.Request())
	f.Add(wire.Tree{Window: 1}.Request(wire.OpUnpack))
	f.Add(wire.Hold{}.Request())
	f.Add(wire.Details{Info: wire.Info{Kind: wire.EntryFile}, Target: "t"}.Result())
	f.Add(wire.Exit{Code: 3}.Result())
	f.Add(wire.Info{Kind: wire.EntryFile}.Result())
	f.Add(wire.Outcome{Status: wire.StatusOther, Errno: 5}.Result())
	f.Add(wire.Hello())
	f.Add(wire.CreditFrame(1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		same := func(what string, again []byte) {
			if !bytes.Equal(again, b) {
				t.Errorf("%s: %x came back as %x", what, b, again)
			}
		}
		if op, message, err := wire.SplitRequest(b); err == nil {
			if e, err := wire.ParseExec(message); err == nil && op == wire.OpExec {
				same("exec", e.Request())
			}
			if p, err := wire.ParseFile(message); err == nil {
				same("file", p.Request(op))
			}
			if p, err := wire.ParseForward(message); err == nil && op == wire.OpForward {
				same("forward", p.Request())
			}
			if p, err := wire.ParseTree(message); err == nil {
				same("tree", p.Request(op))
			}
			if p, err := wire.ParseHold(message); err == nil && op == wire.OpHold {
				same("hold", p.Request())
			}
		}
		if o, err := wire.ParseOutcome(b); err == nil {
			same("outcome", o.Result())
		}
		if o, e, err := wire.ParseExit(b); err == nil && o == (wire.Outcome{Status: wire.StatusOK}) {
			same("exit", e.Result())
		}
		if o, d, err := wire.ParseDetails(b); err == nil && o == (wire.Outcome{Status: wire.StatusOK}) {
			same("details", d.Result())
		}
		if o, i, err := wire.ParseInfo(b); err == nil && o == (wire.Outcome{Status: wire.StatusOK}) {
			same("info", i.Result())
		}
		if wire.CheckHello(b) == nil {
			same("hello", wire.Hello())
		}
		for _, side := range []wire.Side{wire.Host, wire.Agent} {
			if h, err := wire.ParseHeader(b, side); err == nil {
				again := make([]byte, wire.HeaderSize)
				h.Put(again)
				if !bytes.Equal(again, b[:wire.HeaderSize]) {
					t.Errorf("header %x came back as %x", b[:wire.HeaderSize], again)
				}
			}
		}
	})
}
