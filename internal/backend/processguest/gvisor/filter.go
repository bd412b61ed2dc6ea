package gvisor

import (
	"errors"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/seccomp"
)

// Filter is the guests' seccomp profile in the notation of the OCI specification,
// for gVisor's kernel to apply. It is a second wall: the first is that this
// kernel has no other call to offer than its own.
//
// Two things are said otherwise than to the host's kernel. The notation knows one
// answer to a refused call, "not permitted"; where that makes a difference, which
// is clone3, the call is allowed, since no current C library makes a thread
// without it. A guest can make namespaces of gVisor's own with it, in which it
// still may not mount anything. And runsc takes two conditions on one argument as
// alternatives, so a forbidden value is a rule of its own, ahead of the one that
// allows the rest.
func Filter(rules []seccomp.Rule) (*specs.LinuxSeccomp, error) {
	var forbid, allow []specs.LinuxSyscall
	for _, rule := range rules {
		var conditions []specs.LinuxSeccompArg
		for _, a := range rule.Args {
			condition := specs.LinuxSeccompArg{Index: uint(a.Index), Value: mask(a), ValueTwo: uint64(a.Value), Op: specs.OpMaskedEqual}
			switch a.Op {
			case seccomp.Equal:
				conditions = append(conditions, condition)
			case seccomp.NotEqual:
				forbid = append(forbid, specs.LinuxSyscall{
					Names: rule.Names, Action: specs.ActErrno, Args: []specs.LinuxSeccompArg{condition},
				})
			default:
				return nil, errors.New("a seccomp rule whose condition compares nothing")
			}
		}
		for i, c := range conditions {
			for _, other := range conditions[:i] {
				if c.Index == other.Index {
					return nil, errors.New("a seccomp rule with two values for one argument")
				}
			}
		}
		allow = append(allow, specs.LinuxSyscall{Names: rule.Names, Action: specs.ActAllow, Args: conditions})
	}
	allow = append(allow, specs.LinuxSyscall{Names: []string{"clone3"}, Action: specs.ActAllow})
	return &specs.LinuxSeccomp{DefaultAction: specs.ActErrno, Syscalls: append(forbid, allow...)}, nil
}

// mask selects the bits that are compared: the low 32 where the rule names none.
func mask(a seccomp.Arg) uint64 {
	if a.Mask == 0 {
		return 0xffffffff
	}
	return uint64(a.Mask)
}
