//go:build linux

// Command guest is the static program that the conformance suites upload into a
// sandbox and run there, so that a guest needs no shell and no tools. It has one
// sub-command for each thing a probe wants done from within: an attack, a
// well-behaved program with known streams, or a change to the guest's files.
//
// An attack prints one [answer] as JSON and exits with 0, whatever it found; the
// judgement is the suite's. It never does harm where it is not held: it opens and
// does not write, it asks with arguments that cannot succeed, and its floods are
// bounded. What could hurt others refuses to run in the process namespace that
// its caller names as its own.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// answer is what an attack found.
type answer struct {
	// Tried counts the attempts. Zero says that the attack could not be staged.
	Tried int `json:"tried"`
	// Reached names what the attack got hold of, at most maxReached of them.
	Reached []string `json:"reached,omitempty"`
	// More counts what was reached beyond that.
	More int `json:"more,omitempty"`
	// Note is what a reader should know beside.
	Note string `json:"note,omitempty"`
}

const maxReached = 12

func (a *answer) reach(format string, args ...any) {
	if len(a.Reached) == maxReached {
		a.More++
		return
	}
	a.Reached = append(a.Reached, fmt.Sprintf(format, args...))
}

// try counts one attempt, and what it reached if it succeeded.
func (a *answer) try(what string, err error) {
	a.Tried++
	if err == nil {
		a.reach("%s", what)
	}
}

// attacks answer with what they found.
var attacks = map[string]func(args []string) answer{
	"environ":      environ,
	"descriptors":  descriptors,
	"memory":       memory,
	"processes":    processes,
	"capabilities": capabilities,
	"privileges":   privileges,
	"setuid":       setuid,
	"root-only":    rootOnly,
	"sockets":      sockets,
	"calls":        calls,
	"compat":       compat,
	"namespaces":   namespaces,
	"mounts":       mounts,
	"system":       system,
	"devices":      devices,
	"kernel":       kernel,
	"canary":       canary,
	"network":      network,
	"lookups":      lookups,
	"overland":     overland,
	"signals":      signals,
	"tamper":       tamper,
	"bomb":         bomb,
	"swap":         swap,
	"reach":        reach,
}

// programs behave as a guest's own programs do, well or badly; they answer with an
// exit code.
var programs = map[string]func(args []string) int{
	"streams":   streams,
	"args":      arguments,
	"exit":      exit,
	"cat":       cat,
	"env":       env,
	"pwd":       pwd,
	"sleep":     sleep,
	"flood":     flood,
	"stubborn":  stubborn,
	"stop":      stop,
	"abort":     abort,
	"closed":    closed,
	"away":      away,
	"call":      call,
	"linger":    linger,
	"hoard":     hoard,
	"visits":    visits,
	"nothing":   func([]string) int { return 0 },
	"mkdir":     file(mkdir),
	"write":     file(write),
	"read":      file(read),
	"link":      file(link),
	"pipe":      file(pipe),
	"exists":    file(exists),
	"remove":    file(remove),
	"many":      file(many),
	"relocate":  file(relocate),
	"sparse":    file(sparse),
	"device":    file(device),
	"nodes":     file(nodes),
	"writable":  file(writable),
	"deletable": file(deletable),
}

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "name what to do")
		return usage
	}
	if program, ok := programs[args[0]]; ok {
		return program(args[1:])
	}
	attack, ok := attacks[args[0]]
	if !ok {
		fmt.Fprintf(os.Stderr, "nothing is called %q\n", args[0])
		return usage
	}
	if err := json.NewEncoder(os.Stdout).Encode(attack(args[1:])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return failure
	}
	return 0
}

// The exit codes of this program itself.
const (
	failure = 64
	usage   = 65
)
