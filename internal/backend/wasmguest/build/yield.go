package build

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// yieldEvery is how many loop iterations of a guest pass between two calls of
// sched_yield. At 1024 the cost is lost in the noise and a busy guest still asks
// every few microseconds.
const yieldEvery = 1024

// InsertYields rewrites a WebAssembly module so that every loop counts down a
// new global and calls the module's own import of sched_yield when it reaches
// zero:
//
//	loop
//	  global.get $n  i32.const 1  i32.sub  global.set $n
//	  global.get $n  i32.eqz
//	  if  i32.const 1024  global.set $n  call $sched_yield  drop  end
//	  …
//
// The host ends an overdue guest in that call. The engine has a switch for the
// same purpose, which leaves the compiled code at each iteration and makes call
// heavy programs four times slower. Nothing in the module can reach the global:
// it is not exported and no other instruction names it.
//
// A module without the import, without globals of its own, or with instructions
// beyond the first release of WebAssembly, sign extension, saturating
// conversion, bulk memory and reference types is an error.
func InsertYields(module []byte) ([]byte, error) {
	header, rest, err := cut(module, 8)
	if err != nil || !bytes.Equal(header, []byte("\x00asm\x01\x00\x00\x00")) {
		return nil, errors.New("not a WebAssembly module of version 1")
	}
	out := bytes.Clone(header)
	y := yielder{}
	for len(rest) > 0 {
		id := rest[0]
		var section []byte
		if section, rest, err = sized(rest[1:]); err != nil {
			return nil, fmt.Errorf("section %d: %w", id, err)
		}
		if section, err = y.section(id, section); err != nil {
			return nil, fmt.Errorf("section %d: %w", id, err)
		}
		out = append(out, id)
		out = binary.AppendUvarint(out, uint64(len(section)))
		out = append(out, section...)
	}
	if y.check == nil {
		return nil, errors.New("module has no code, or no globals before it")
	}
	return out, nil
}

// yielder carries what one section of a module tells about the next. Sections
// come in the order of their numbers, but for custom ones.
type yielder struct {
	found     bool
	yield     uint64 // index of the function sched_yield
	functions uint64 // imported so far
	globals   uint64 // imported so far
	check     []byte // what is inserted into a loop
}

const (
	sectionImport = 2
	sectionGlobal = 6
	sectionCode   = 10
)

func (y *yielder) section(id byte, section []byte) ([]byte, error) {
	switch id {
	case sectionImport:
		return section, y.imports(section)
	case sectionGlobal:
		if !y.found {
			return nil, errors.New("module does not import sched_yield")
		}
		return y.addGlobal(section)
	case sectionCode:
		if y.check == nil {
			return nil, errors.New("module has no globals")
		}
		return y.code(section)
	default:
		return section, nil
	}
}

func (y *yielder) imports(section []byte) error {
	r := reader{rest: section}
	for range r.count() {
		module, name := string(r.bytes(r.uint())), string(r.bytes(r.uint()))
		switch kind := r.byte(); kind {
		case 0: // function
			r.uint()
			if module == "wasi_snapshot_preview1" && name == "sched_yield" {
				y.found, y.yield = true, y.functions
			}
			y.functions++
		case 1: // table
			r.byte()
			r.limits()
		case 2: // memory
			r.limits()
		case 3: // global
			r.bytes(2)
			y.globals++
		default:
			return fmt.Errorf("import of unknown kind %d", kind)
		}
	}
	return r.err
}

func (y *yielder) addGlobal(section []byte) ([]byte, error) {
	r := reader{rest: section}
	count := r.uint()
	if r.err != nil {
		return nil, r.err
	}
	index := binary.AppendUvarint(nil, y.globals+count)
	y.check = checkCode(index, binary.AppendUvarint(nil, y.yield))

	out := binary.AppendUvarint(nil, count+1)
	out = append(out, r.rest...)
	out = append(out, 0x7f, 0x01) // a mutable i32
	return append(append(out, i32Const(yieldEvery)...), opEnd), nil
}

const (
	opLoop      = 0x03
	opIf        = 0x04
	opEnd       = 0x0b
	opCall      = 0x10
	opDrop      = 0x1a
	opGlobalGet = 0x23
	opGlobalSet = 0x24
	opI32Const  = 0x41
	opI32Eqz    = 0x45
	opI32Sub    = 0x6b
	noResult    = 0x40
)

func checkCode(global, yield []byte) []byte {
	get := append([]byte{opGlobalGet}, global...)
	set := append([]byte{opGlobalSet}, global...)
	return bytes.Join([][]byte{
		get, i32Const(1),
		{opI32Sub},
		set,
		get,
		{opI32Eqz, opIf, noResult},
		i32Const(yieldEvery), set,
		{opCall},
		yield,
		{opDrop, opEnd},
	}, nil)
}

// i32Const is the instruction for a constant from 0 to 8191.
func i32Const(n int) []byte {
	if n < 64 {
		return []byte{opI32Const, byte(n)}
	}
	return []byte{opI32Const, byte(n&0x7f) | 0x80, byte(n >> 7)}
}

func (y *yielder) code(section []byte) ([]byte, error) {
	r := reader{rest: section}
	count := r.count()
	if r.err != nil {
		return nil, r.err
	}
	out := binary.AppendUvarint(make([]byte, 0, len(section)*5/4), count)
	for i := range count {
		body := r.bytes(r.uint())
		if r.err != nil {
			return nil, r.err
		}
		rewritten, err := y.body(body)
		if err != nil {
			return nil, fmt.Errorf("function %d: %w", i, err)
		}
		out = binary.AppendUvarint(out, uint64(len(rewritten)))
		out = append(out, rewritten...)
	}
	return out, nil
}

func (y *yielder) body(body []byte) ([]byte, error) {
	r := reader{rest: body}
	for range r.count() { // local variables: count and type
		r.uint()
		r.byte()
	}
	out := make([]byte, 0, len(body)+len(body)/8)
	copied := body
	for len(r.rest) > 0 && r.err == nil {
		if op := r.byte(); op == opLoop {
			r.skip()
			done := len(copied) - len(r.rest)
			out = append(append(out, copied[:done]...), y.check...)
			copied = r.rest
		} else {
			r.immediates(op)
		}
	}
	return append(out, copied...), r.err
}
