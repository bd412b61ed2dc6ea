package seccomp

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
)

const (
	allowed    = retAllow
	refused    = retErrno | errnoPERM
	noSuchCall = retErrno | errnoNOSYS
)

// kernel runs a filter as the kernel would.
type kernel struct {
	t    *testing.T
	info *arch.Info
	vm   *bpf.VM
}

func newKernel(t *testing.T, goarch string) kernel {
	t.Helper()
	program, err := assemble(goarch)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	info, err := arch.GetInfo(goarch)
	if err != nil {
		t.Fatal(err)
	}
	return kernel{t, info, vm}
}

// number judges a call by its number. The machine of the library reads words
// big-endian, so each word is written so at its place.
func (k kernel) number(auditArch, number uint32, args ...uint64) int {
	k.t.Helper()
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data, number)
	binary.BigEndian.PutUint32(data[4:], auditArch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}
	verdict, err := k.vm.Run(data)
	if err != nil {
		k.t.Fatal(err)
	}
	return verdict
}

func (k kernel) call(name string, args ...uint64) int {
	k.t.Helper()
	n, ok := k.info.SyscallNames[name]
	if !ok {
		k.t.Fatalf("%s has no call %s", k.info.Name, name)
	}
	return k.number(uint32(k.info.ID), uint32(n), args...)
}

func TestEveryNamedCallExistsSomewhere(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	names := slices.Clone(Missing())
	for _, rule := range Rules() {
		if rule.Why == "" {
			t.Errorf("the rule for %v has no reason", rule.Names)
		}
		for _, name := range rule.Names {
			if len(rule.Args) == 0 {
				seen[name]++
			}
			if seen[name] > 1 || slices.Contains(Missing(), name) {
				t.Errorf("%s stands in the table twice", name)
			}
			names = append(names, name)
		}
	}
	for _, name := range names {
		_, amd64 := arch.X86_64.SyscallNames[name]
		_, arm64 := arch.AARCH64.SyscallNames[name]
		if !amd64 && !arm64 {
			t.Errorf("no architecture has a call %s", name)
		}
	}
}

func TestCallsAreJudgedByNameAndArguments(t *testing.T) {
	t.Parallel()
	const high = 1 << 40 // bits that the kernel drops of a 32-bit argument
	for _, goarch := range Architectures() {
		k := newKernel(t, goarch)
		for _, c := range []struct {
			name string
			args []uint64
			want int
		}{
			{"openat", nil, allowed},
			{"execve", nil, allowed},
			{"futex", nil, allowed},
			{"ptrace", nil, refused},
			{"bpf", nil, refused},
			{"keyctl", nil, refused},
			{"add_key", nil, refused},
			{"request_key", nil, refused},
			{"userfaultfd", nil, refused},
			{"perf_event_open", nil, refused},
			{"mount", nil, refused},
			{"umount2", nil, refused},
			{"pivot_root", nil, refused},
			{"chroot", nil, refused},
			{"setns", nil, refused},
			{"open_by_handle_at", nil, refused},
			{"process_vm_readv", nil, refused},
			{"kexec_load", nil, refused},
			{"init_module", nil, refused},
			{"reboot", nil, refused},
			{"io_setup", nil, refused},
			{"memfd_secret", nil, refused},
			{"syslog", nil, refused},
			{"clone3", nil, noSuchCall},
			{"io_uring_setup", nil, noSuchCall},

			{"socket", []uint64{1, 1, 0}, allowed},
			{"socket", []uint64{2, 1, 0}, allowed},
			{"socket", []uint64{high | 2, 1, 0}, allowed},
			{"socket", []uint64{10, 2, 17}, allowed},
			{"socket", []uint64{16, 3, 0}, allowed},
			{"socket", []uint64{16, 3, 9}, refused},
			{"socket", []uint64{40, 1, 0}, refused},
			{"socket", []uint64{17, 3, 768}, refused},
			{"socketpair", []uint64{1, 1, 0}, allowed},
			{"socketpair", []uint64{2, 1, 0}, refused},

			{"clone", []uint64{0x3d0f00}, allowed},
			{"clone", []uint64{17}, allowed},
			{"clone", []uint64{0x10000000 | 17}, refused},
			{"clone", []uint64{0x00020000 | 17}, refused},
			{"unshare", []uint64{0x400}, allowed},
			{"unshare", []uint64{0x80}, refused},
			{"unshare", []uint64{0x40000000}, refused},

			{"ioctl", []uint64{0, 0x5401}, allowed},
			{"ioctl", []uint64{0, 0x5412}, refused},
			{"ioctl", []uint64{0, high | 0x5412}, refused},
			{"ioctl", []uint64{0, 0x541c}, refused},
			{"personality", []uint64{0}, allowed},
			{"personality", []uint64{0xffffffff}, allowed},
			{"personality", []uint64{0x0040000}, refused},

			{"prlimit64", []uint64{0, 7}, allowed},
			{"prlimit64", []uint64{1, 7}, refused},
			{"sched_setaffinity", []uint64{0}, allowed},
			{"sched_setaffinity", []uint64{1}, refused},
			{"sched_setscheduler", []uint64{1}, refused},
			{"sched_setparam", []uint64{1}, refused},
			{"sched_setattr", []uint64{1}, refused},
			{"setpriority", []uint64{0, 0, 19}, allowed},
			{"setpriority", []uint64{0, 1, 19}, refused},
			{"setpriority", []uint64{2, 0, 19}, refused},
			{"ioprio_set", []uint64{1, 0}, allowed},
			{"ioprio_set", []uint64{1, 1}, refused},
		} {
			if got := k.call(c.name, c.args...); got != c.want {
				t.Errorf("%s: %s%x: %#x, want %#x", goarch, c.name, c.args, got, c.want)
			}
		}
	}
}

func TestOnlyTheseSocketFamiliesExist(t *testing.T) {
	t.Parallel()
	for _, goarch := range Architectures() {
		k := newKernel(t, goarch)
		for family := range uint64(64) {
			want := refused
			if slices.Contains([]uint64{1, 2, 10, 16}, family) {
				want = allowed
			}
			if got := k.call("socket", family, 1, 0); got != want {
				t.Errorf("%s: family %d: %#x", goarch, family, got)
			}
		}
	}
}

func TestOtherABIsHaveNoCalls(t *testing.T) {
	t.Parallel()
	k := newKernel(t, "amd64")
	for number := range uint32(600) {
		for name, got := range map[string]int{
			"i386":    k.number(uint32(arch.I386.ID), number),
			"aarch64": k.number(uint32(arch.AARCH64.ID), number),
			"x32":     k.number(uint32(arch.X86_64.ID), number|x32Bit),
		} {
			if got != noSuchCall {
				t.Errorf("%s call %d: %#x", name, number, got)
			}
		}
	}
}

// A failed condition must not leave its argument where the number stood.
func TestAnArgumentNeverStandsInForACallsNumber(t *testing.T) {
	t.Parallel()
	for _, goarch := range Architectures() {
		k := newKernel(t, goarch)
		for number := range uint64(600) {
			for name, args := range map[string][]uint64{
				"clone":     {number | 0x10000000},
				"prlimit64": {number + 1},
				"socket":    {number + 17, number, number},
			} {
				if got := k.call(name, args...); got != refused {
					t.Fatalf("%s: %s%x: %#x", goarch, name, args, got)
				}
			}
		}
	}
}

// Whatever the table does not name is refused, for every number there is.
func TestWhatNoRuleNamesIsRefused(t *testing.T) {
	t.Parallel()
	for _, goarch := range Architectures() {
		k := newKernel(t, goarch)
		named := map[int]bool{}
		for _, rule := range Rules() {
			for _, name := range rule.Names {
				if n, ok := k.info.SyscallNames[name]; ok {
					named[n] = true
				}
			}
		}
		for number := range 1000 {
			if got := k.number(uint32(k.info.ID), uint32(number)); got == allowed && !named[number] {
				t.Errorf("%s: call %d, %s, is allowed and nowhere named", goarch, number, k.info.SyscallNumbers[number])
			}
		}
	}
}

func TestAFilterIsMadeOnlyForArchitecturesOfTheProfile(t *testing.T) {
	t.Parallel()
	for _, goarch := range Architectures() {
		code, err := Compile(goarch)
		if err != nil || len(code) == 0 || len(code)%8 != 0 || len(code) > 8*4096 {
			t.Errorf("%s: %d bytes, %v", goarch, len(code), err)
		}
	}
	for _, goarch := range []string{"", "386", "riscv64", "x32"} {
		if _, err := Compile(goarch); err == nil {
			t.Errorf("%q has a filter", goarch)
		}
	}
}
