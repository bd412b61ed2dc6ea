package sandbox

// Isolation is a rung of the isolation ladder, weakest first. The zero value is
// unspecified: as a declaration it meets no floor, as a floor it is no opinion.
//
// The word "process" is not a rung and never parses; it once meant no boundary at
// all, and os_process is the rung that people mean (spec A4).
type Isolation uint8

const (
	IsolationUnspecified Isolation = iota
	// IsolationNone: no boundary; guest code runs with the host's authority.
	IsolationNone
	// IsolationRuntime: a software boundary inside the host process, such as WASM.
	IsolationRuntime
	// IsolationOSProcess: a process of its own on a shared kernel and file system.
	IsolationOSProcess
	// IsolationContainer: namespaces and cgroups on a shared kernel.
	IsolationContainer
	// IsolationHardenedContainer: system calls are served by a user-space kernel.
	IsolationHardenedContainer
	// IsolationMicroVM: a hypervisor, and no ambient identity inside.
	IsolationMicroVM
	// IsolationVM: a whole virtual machine for the workload alone.
	IsolationVM
)

var isolations = vocabulary[Isolation]{
	noun:  "isolation rung",
	words: []string{"", "none", "runtime", "os_process", "container", "hardened_container", "microvm", "vm"},
}

// ParseIsolation reads a word such as "none", exactly as written.
func ParseIsolation(text string) (Isolation, error) { return isolations.parse(text) }

// Isolations lists every value, weakest first.
func Isolations() []Isolation { return isolations.all() }

// String is the value's text, empty when unspecified.
func (i Isolation) String() string { return isolations.text(i) }

// MarshalText fails on a value outside the vocabulary.
func (i Isolation) MarshalText() ([]byte, error) { return isolations.marshal(i) }

// UnmarshalText accepts exactly what [ParseIsolation] does.
func (i *Isolation) UnmarshalText(text []byte) error { return isolations.unmarshal(i, text) }

// Meets reports whether a declared rung is at or above floor. An unspecified
// declaration meets nothing, and so does a value outside the ladder. An
// unspecified floor is met by every rung that is declared; callers who want the
// default put [DefaultIsolationFloor] in first.
func (i Isolation) Meets(floor Isolation) bool {
	return isolations.valid(i) && int(floor) < len(isolations.words) && i >= floor
}

// DefaultIsolationFloor holds where nobody states a floor.
const DefaultIsolationFloor = IsolationMicroVM
