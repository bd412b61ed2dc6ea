package build

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errCut = errors.New("module is cut short")

// cut splits b after n bytes.
func cut(b []byte, n uint64) (head, rest []byte, err error) {
	if n > uint64(len(b)) {
		return nil, nil, errCut
	}
	return b[:n], b[n:], nil
}

// sized splits off a length and that many bytes.
func sized(b []byte) (head, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, nil, errCut
	}
	return cut(b[size:], n)
}

// reader reads the parts of a module. After an error it answers zeroes.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) bytes(n uint64) []byte {
	head, rest, err := cut(r.rest, n)
	if err != nil {
		r.err, r.rest = err, nil
		return nil
	}
	r.rest = rest
	return head
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.err, r.rest = errCut, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count is the length of a list, whose elements take at least a byte each.
func (r *reader) count() uint64 {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.err, r.rest = errCut, nil
		return 0
	}
	return n
}

// skip passes over one LEB128 integer of either sign.
func (r *reader) skip() {
	more := true
	for more {
		more = r.byte()&0x80 != 0
	}
}

func (r *reader) skips(n uint64) {
	for ; n > 0 && r.err == nil; n-- {
		r.skip()
	}
}

func (r *reader) limits() {
	if r.byte()&1 != 0 {
		r.uint()
	}
	r.uint()
}

// immediates passes over what follows an opcode, as section 5.4 of the
// WebAssembly specification has it.
func (r *reader) immediates(op byte) {
	switch {
	case op >= 0x28 && op <= 0x3e: // loads and stores
		r.skips(2)
	case op >= 0x45 && op <= 0xc4: // comparisons, arithmetic, conversions
	case op >= 0x20 && op <= 0x26: // variables and tables
		r.skip()
	case op == 0xfc:
		r.prefixed(r.uint())
	default:
		r.control(op)
	}
}

func (r *reader) control(op byte) {
	switch op {
	case 0x00, 0x01, 0x05, opEnd, 0x0f, opDrop, 0x1b, 0xd1:
	case 0x02, opLoop, opIf, 0x0c, 0x0d, opCall, 0x3f, 0x40, opI32Const, 0x42, 0xd0, 0xd2:
		r.skip()
	case 0x0e: // br_table
		r.skips(r.uint() + 1)
	case 0x11: // call_indirect
		r.skips(2)
	case 0x1c: // select with types
		r.skips(r.uint())
	case 0x43: // f32.const
		r.bytes(4)
	case 0x44: // f64.const
		r.bytes(8)
	default:
		r.err = fmt.Errorf("instruction 0x%02x is not known here", op)
	}
}

// prefixed is for the instructions behind the byte 0xfc.
func (r *reader) prefixed(op uint64) {
	switch op {
	case 0, 1, 2, 3, 4, 5, 6, 7: // saturating conversions
	case 9, 11, 13, 15, 16, 17:
		r.skip()
	case 8, 10, 12, 14:
		r.skips(2)
	default:
		r.err = fmt.Errorf("instruction 0xfc %d is not known here", op)
	}
}
