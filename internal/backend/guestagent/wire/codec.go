package wire

import "encoding/binary"

// writer appends the fields of a message.
type writer []byte

func (w *writer) byte(v byte)  { *w = append(*w, v) }
func (w *writer) u32(v uint32) { *w = binary.BigEndian.AppendUint32(*w, v) }
func (w *writer) u64(v uint64) { *w = binary.BigEndian.AppendUint64(*w, v) }

func (w *writer) bool(v bool) {
	if v {
		w.byte(1)
	} else {
		w.byte(0)
	}
}

func (w *writer) text(s string) {
	w.u32(uint32(len(s)))
	*w = append(*w, s...)
}

func (w *writer) texts(list []string) {
	w.u32(uint32(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

// reader takes the fields of a message apart. After an error it answers zeroes.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.rest)) {
		r.err = malformed("a message that is cut short")
	}
	if r.err != nil {
		return nil
	}
	head := r.rest[:n]
	r.rest = r.rest[n:]
	return head
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// size is a length of a file, which is never negative.
func (r *reader) size() int64 {
	n := r.u64()
	if n > 1<<63-1 {
		r.fail("a size of %d bytes", n)
		return 0
	}
	return int64(n)
}

func (r *reader) bool() bool {
	v := r.byte()
	if v > 1 {
		r.fail("a truth value of %d", v)
	}
	return v == 1
}

func (r *reader) text() string { return string(r.take(uint64(r.u32()))) }

func (r *reader) texts() []string {
	n := r.u32()
	// Each takes its length at least, which bounds what is allocated here.
	if uint64(n)*4 > uint64(len(r.rest)) {
		r.fail("a list of %d", n)
		return nil
	}
	list := make([]string, 0, n)
	for range n {
		list = append(list, r.text())
	}
	return list
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = malformed(format, args...)
		r.rest = nil
	}
}

// end answers the first error, or that something is left over.
func (r *reader) end() error {
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes behind a message", len(r.rest))
	}
	return r.err
}
