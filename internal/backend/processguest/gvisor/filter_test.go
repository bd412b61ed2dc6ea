package gvisor

import (
	"slices"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/seccomp"
)

// judge is what runsc makes of a filter, for one call: the first rule that fits
// decides, conditions are all to hold, and those on one argument are alternatives.
func judge(f *specs.LinuxSeccomp, call string, args ...uint64) specs.LinuxSeccompAction {
	for _, rule := range f.Syscalls {
		fits := slices.Contains(rule.Names, call)
		for _, c := range rule.Args {
			fits = fits && args[c.Index]&c.Value == c.ValueTwo
		}
		if fits {
			return rule.Action
		}
	}
	return f.DefaultAction
}

func TestFilterSaysWhatTheProfileSays(t *testing.T) {
	t.Parallel()
	f, err := Filter(seccomp.Rules())
	if err != nil {
		t.Fatal(err)
	}
	if f.DefaultAction != specs.ActErrno {
		t.Fatalf("what no rule names is %s", f.DefaultAction)
	}
	const high = 0xdead << 32 // the kernel drops it
	for _, c := range []struct {
		call string
		args []uint64
		want specs.LinuxSeccompAction
	}{
		{"read", nil, specs.ActAllow},
		{"clone3", nil, specs.ActAllow},
		{"mount", nil, specs.ActErrno},
		{"fsopen", nil, specs.ActErrno},
		{"socket", []uint64{1, 0, 0}, specs.ActAllow},
		{"socket", []uint64{1 | high, 0, 0}, specs.ActAllow},
		{"socket", []uint64{40, 0, 0}, specs.ActErrno},
		{"socket", []uint64{16, 3, 0}, specs.ActAllow},
		{"socket", []uint64{16, 3, 9}, specs.ActErrno},
		{"socketpair", []uint64{1, 0, 0}, specs.ActAllow},
		{"socketpair", []uint64{2, 0, 0}, specs.ActErrno},
		{"clone", []uint64{0x11}, specs.ActAllow},
		{"clone", []uint64{0x10000011}, specs.ActErrno},
		{"ioctl", []uint64{0, 0x5401}, specs.ActAllow},
		{"ioctl", []uint64{0, 0x5412}, specs.ActErrno},
		{"ioctl", []uint64{0, 0x541c | high}, specs.ActErrno},
		{"prlimit64", []uint64{0}, specs.ActAllow},
		{"prlimit64", []uint64{1}, specs.ActErrno},
		{"setpriority", []uint64{0, 0}, specs.ActAllow},
		{"setpriority", []uint64{0, 1}, specs.ActErrno},
	} {
		if got := judge(f, c.call, c.args...); got != c.want {
			t.Errorf("%s%x is %s, want %s", c.call, c.args, got, c.want)
		}
	}
}

func TestFilterRefusesWhatTheNotationCannotSay(t *testing.T) {
	t.Parallel()
	rule := func(args ...seccomp.Arg) []seccomp.Rule {
		return []seccomp.Rule{{Names: []string{"ioctl"}, Args: args}}
	}
	one, other := seccomp.Arg{Index: 1, Op: seccomp.Equal, Value: 1}, seccomp.Arg{Index: 2, Op: seccomp.Equal, Value: 2}
	if _, err := Filter(rule(one, other)); err != nil {
		t.Errorf("the neighbour: %v", err)
	}
	other.Index = 1
	if _, err := Filter(rule(one, other)); err == nil {
		t.Error("two values for one argument would be alternatives")
	}
	if _, err := Filter(rule(seccomp.Arg{Index: 1})); err == nil {
		t.Error("a condition that compares nothing would hold")
	}
}
