package output

import (
	"context"
	"io"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// TextOnly is the sink for text: anything in a collection that is not UTF-8 refuses
// it with [sandbox.CodeLandingNotText], and then nothing lands. It holds no file in
// memory.
func TextOnly(sink Sink) Sink {
	return &wrapped{sink: sink, content: func(a Artifact, r io.Reader) io.Reader { return &textReader{name: a.Name, r: r} }}
}

// textReader passes text on and ends in a refusal where it is none.
type textReader struct {
	name string
	r    io.Reader
	tail [utf8.UTFMax]byte // a character that has begun
	held int
	err  error
}

func (t *textReader) Read(p []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.r.Read(p)
	t.err = err
	if !t.accept(p[:n], err == io.EOF) {
		t.err = sandbox.Finding{
			Code: sandbox.CodeLandingNotText, Found: "bytes in " + sandbox.Echo(t.name) + " that are not UTF-8",
			Required: "text in UTF-8", Remedy: "write the file in UTF-8, or land it in a sink for any bytes",
		}.Refusal(nil)
		return 0, t.err
	}
	return n, t.err
}

// accept judges what follows what was accepted before.
func (t *textReader) accept(p []byte, last bool) bool {
	for t.held > 0 && len(p) > 0 {
		t.tail[t.held] = p[0]
		t.held++
		p = p[1:]
		if utf8.FullRune(t.tail[:t.held]) {
			if r, size := utf8.DecodeRune(t.tail[:t.held]); r == utf8.RuneError && size == 1 {
				return false
			}
			t.held = 0
		}
	}
	if t.held == 0 {
		whole := len(p)
		for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
			if at := len(p) - back; utf8.RuneStart(p[at]) {
				if !utf8.FullRune(p[at:]) {
					whole = at
				}
				break
			}
		}
		if !utf8.Valid(p[:whole]) {
			return false
		}
		t.held = copy(t.tail[:], p[whole:])
	}
	return !last || t.held == 0
}

// Recorded is a sink of which a record is kept before anybody can see what it
// describes: record is called when all of a collection is staged, and an error of its
// own refuses the collection. A record without a landing is possible, where the commit
// then fails; a landing without a record is not.
func Recorded(sink Sink, record func(ctx context.Context, from Origin, staged []Landed) error) Sink {
	return &wrapped{sink: sink, record: record}
}

// wrapped is a sink with something between it and its caller.
type wrapped struct {
	sink    Sink
	content func(Artifact, io.Reader) io.Reader
	record  func(context.Context, Origin, []Landed) error
}

func (w *wrapped) Begin(ctx context.Context, from Origin) (Delivery, error) {
	d, err := w.sink.Begin(ctx, from)
	if err != nil {
		return nil, err
	}
	return &wrappedDelivery{Delivery: d, wrapped: w, from: from}, nil
}

type wrappedDelivery struct {
	Delivery
	*wrapped
	from   Origin
	staged []Landed
}

func (d *wrappedDelivery) Plan(ctx context.Context, artifacts []Artifact) error {
	if planner, ok := d.Delivery.(Planner); ok {
		return planner.Plan(ctx, artifacts)
	}
	return nil
}

func (d *wrappedDelivery) Stage(ctx context.Context, a Artifact, content io.Reader) (Landed, error) {
	if d.content != nil {
		content = d.content(a, content)
	}
	landed, err := d.Delivery.Stage(ctx, a, content)
	if err == nil && d.record != nil {
		d.staged = append(d.staged, landed)
	}
	return landed, err
}

func (d *wrappedDelivery) Commit(ctx context.Context) error {
	if d.record != nil {
		if err := d.record(ctx, d.from, d.staged); err != nil {
			return err
		}
	}
	return d.Delivery.Commit(ctx)
}
