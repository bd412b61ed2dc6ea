package seccomp

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
)

// What a filter answers, from the kernel's interface.
const (
	retAllow = 0x7fff0000
	retErrno = 0x00050000

	errnoPERM  = 1
	errnoNOSYS = 38

	x32Bit = 0x40000000

	// Where a filter finds what it judges: the call's number, the architecture,
	// and six arguments of 64 bits, little-endian on both architectures.
	offsetNumber   = 0
	offsetArch     = 4
	offsetArgument = 16
)

// Compile answers the filter for one architecture, in the kernel's binary form.
// Calls of another architecture, or of the 32-bit ABIs of this one, and calls
// newer than the tables do not exist there; others that no rule allows are not
// permitted.
//
// The numbers of calls and the encoding are libraries'. The layout is our own,
// because the library's assembler goes on comparing call numbers with the
// accumulator that a failed argument condition has overwritten: a guest would
// choose its own answer by the argument it passes.
func Compile(goarch string) ([]byte, error) {
	program, err := assemble(goarch)
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("encode the seccomp filter: %w", err)
	}
	out := make([]byte, 0, 8*len(raw))
	for _, i := range raw {
		out = binary.LittleEndian.AppendUint16(out, i.Op)
		out = append(out, i.Jt, i.Jf)
		out = binary.LittleEndian.AppendUint32(out, i.K)
	}
	return out, nil
}

// assemble lays a filter out as: architecture, the calls that are judged by
// their arguments, the calls that are allowed as they are, the rest. Each block
// of the second part either leaves the number in place or returns.
func assemble(goarch string) ([]bpf.Instruction, error) {
	info, err := arch.GetInfo(goarch)
	if err != nil || !slices.Contains(Architectures(), goarch) {
		return nil, fmt.Errorf("there is no seccomp profile for %s", goarch)
	}
	plain, conditional, err := sortRules(info.SyscallNames)
	if err != nil {
		return nil, err
	}
	noSuchCall := bpf.RetConstant{Val: retErrno | errnoNOSYS}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		noSuchCall,
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
		noSuchCall,
	}
	for _, call := range conditional {
		block, err := call.judge()
		if err != nil {
			return nil, err
		}
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call.number, SkipFalse: uint8(len(block))})
		program = append(program, block...)
	}
	for _, run := range runs(plain) {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpLessThan, Val: run.first, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: run.last, SkipTrue: 1},
			bpf.RetConstant{Val: retAllow})
	}
	for _, name := range Missing() {
		if number, ok := info.SyscallNames[name]; ok {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(number), SkipTrue: 1}, noSuchCall)
		}
	}
	var newest int
	for number := range info.SyscallNumbers {
		newest = max(newest, number)
	}
	return append(program,
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: uint32(newest), SkipFalse: 1},
		noSuchCall,
		bpf.RetConstant{Val: retErrno | errnoPERM}), nil
}

// judgedCall is a call with the alternatives of conditions that allow it.
type judgedCall struct {
	number       uint32
	alternatives [][]Arg
}

// judge is the code that allows the call or refuses it. It always returns, so
// nothing after it sees the argument it has loaded.
func (c judgedCall) judge() ([]bpf.Instruction, error) {
	var code []bpf.Instruction
	for _, args := range c.alternatives {
		var tests []bpf.Instruction
		for _, a := range slices.Backward(args) { // a test skips all that follows it
			if a.Index > 5 || a.Op != Equal && a.Op != NotEqual {
				return nil, fmt.Errorf("a condition on argument %d of call %d cannot be read", a.Index, c.number)
			}
			test := []bpf.Instruction{bpf.LoadAbsolute{Off: offsetArgument + 8*a.Index, Size: 4}}
			if a.Mask != 0 {
				test = append(test, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: a.Mask})
			}
			fails := uint8(len(tests) + 1) // the tests after it and the answer
			holds := bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.Value, SkipFalse: fails}
			if a.Op == NotEqual {
				holds = bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.Value, SkipTrue: fails}
			}
			tests = slices.Concat(test, []bpf.Instruction{holds}, tests)
		}
		code = slices.Concat(code, tests, []bpf.Instruction{bpf.RetConstant{Val: retAllow}})
	}
	code = append(code, bpf.RetConstant{Val: retErrno | errnoPERM})
	if len(code) > 255 {
		return nil, fmt.Errorf("call %d has more conditions than one jump crosses", c.number)
	}
	return code, nil
}

// sortRules turns names into numbers, each list in ascending order.
func sortRules(numbers map[string]int) (plain []uint32, conditional []judgedCall, err error) {
	judged := map[uint32][][]Arg{}
	for _, rule := range Rules() {
		for _, name := range rule.Names {
			n, ok := numbers[name]
			switch {
			case !ok:
				continue // the architecture has no such call
			case len(rule.Args) == 0:
				plain = append(plain, uint32(n))
			default:
				judged[uint32(n)] = append(judged[uint32(n)], rule.Args)
			}
		}
	}
	slices.Sort(plain)
	for number, alternatives := range judged {
		if _, twice := slices.BinarySearch(plain, number); twice {
			return nil, nil, fmt.Errorf("call %d is allowed both with and without conditions", number)
		}
		conditional = append(conditional, judgedCall{number, alternatives})
	}
	slices.SortFunc(conditional, func(a, b judgedCall) int { return cmp.Compare(a.number, b.number) })
	return plain, conditional, nil
}

type run struct{ first, last uint32 }

// runs are the unbroken stretches of a sorted list.
func runs(sorted []uint32) []run {
	var out []run
	for _, n := range slices.Compact(sorted) {
		if last := len(out) - 1; last >= 0 && out[last].last+1 == n {
			out[last].last = n
			continue
		}
		out = append(out, run{n, n})
	}
	return out
}
