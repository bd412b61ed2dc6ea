// Package seccomp says which system calls a guest may make, as data, and turns
// that into the filter that the kernel runs.
//
// The profile is an allowlist: what no rule names is refused. It holds for the
// whole sandbox from before its first program, and no program can loosen it. It
// never decides anything by an argument that lies behind a pointer, since the
// guest could change that between the check and the call.
//
// Read [Rule] and the table in rules.go first; compile.go is the only reader
// that knows what a filter looks like. Other runtimes are given the same rules
// in their own notation.
package seccomp

// Architectures are the GOARCH values that the profile is written for.
func Architectures() []string { return []string{"amd64", "arm64"} }

// Rule allows calls. A call that several rules name is allowed by any of them.
type Rule struct {
	// Names are system calls as the kernel's tables spell them. One that an
	// architecture does not have is left out there.
	Names []string
	// Args must all hold. None is any arguments.
	Args []Arg
	// Why is the reason that the calls are allowed, or allowed only so.
	Why string
}

// Arg is a condition on one argument. Only the low 32 bits are looked at: the
// kernel itself drops the others of every argument that is judged here, so a
// filter that compared them could be walked around.
type Arg struct {
	Index uint32
	// Mask selects the bits that are compared; zero is all 32.
	Mask  uint32
	Op    Op
	Value uint32
}

// Op is how an argument is compared. The zero value compares nothing and is
// refused by [Compile].
type Op uint8

const (
	Equal Op = iota + 1
	NotEqual
)

// Missing are calls that are answered with "no such call" instead of "not
// permitted", so that programs take the older way that a filter can judge.
func Missing() []string {
	return []string{
		"clone3", // its flags lie behind a pointer
		"inotify_init", "inotify_init1",
		"io_uring_setup", "io_uring_enter", "io_uring_register",
		"statmount", "listmount", "fsopen", "fspick", "open_tree", "move_mount", "mount_setattr",
		"lsm_set_self_attr", "lsm_get_self_attr", "lsm_list_modules",
	}
}
