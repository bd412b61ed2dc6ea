// Package engine is the seam for authors of backends: the raw operations a guest
// can be asked for, as interfaces and nothing else.
//
// An engine knows no policy, no owner and no workload. It refuses nothing on
// grounds of permission, confines no path and applies no cap; package backend
// does all of that, once, over any engine. What an engine must do is be exact:
// answer what really happened, and report failures with the errors of this
// package so that the layer above can tell them apart.
//
// Read [Engine] and [Guest] first. What only some guests can do stands in small
// interfaces beside them ([Execer], [CodeRunner], [Freezer]); a guest has the
// ability when its value implements the interface, and backend.New checks that
// this agrees with the declarations.
package engine

import (
	"context"
	"errors"
	"io"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Engine makes, finds and removes sandboxes. Methods are called concurrently;
// the caller never runs two of Start and Delete for one name at once.
type Engine interface {
	// Start answers the sandbox of that name: a new one, or the one that exists.
	// It must not return before files can be written to the guest, and on an
	// error nothing is left of what it made. An error that itself is a
	// [*sandbox.Refusal] or [sandbox.Refusals] says what was asked that cannot be
	// had, in words that may be shown, and is passed on as it is.
	Start(ctx context.Context, req StartRequest) (Started, error)
	// List finds the sandboxes that carry every label of match.
	List(ctx context.Context, match map[string]string) ([]Listed, error)
	// Delete ends a sandbox and removes all of it. An unknown id is success. It
	// returns once the sandbox is observed to be gone.
	Delete(ctx context.Context, id string) error
	// Access lists the ways in which its file operations can be asked for. The
	// layer above uses the safest that is there.
	Access() []Access
	// Abilities names what its guests implement beyond files.
	Abilities() Abilities
	// Close releases what the engine itself holds. Sandboxes are left alone
	// unless they cannot outlive the process.
	Close(ctx context.Context) error
}

// Placed is an engine that makes its sandboxes in one place that a manifest can name.
type Placed interface {
	Place() sandbox.Place
}

// StartRequest says which sandbox is wanted.
type StartRequest struct {
	// Name identifies the sandbox within the engine: lower-case letters, digits
	// and hyphens, at most 63 bytes, starting with a letter.
	Name string
	// Labels are stored with the sandbox and answered back unchanged.
	Labels map[string]string
	// Image, Egress, WorkDir and OSFamily come from the workload's spec, judged
	// and resolved: WorkDir is absolute and clean.
	Image    sandbox.Image
	Egress   sandbox.Egress
	WorkDir  string
	OSFamily sandbox.OSFamily
}

// Started is the answer to [Engine.Start].
type Started struct {
	Guest  Guest
	Origin sandbox.Origin
	// Labels are those the sandbox really carries, which for one that existed
	// may not be the requested ones.
	Labels map[string]string
	// User is as whom the guest's programs run, where the engine itself knows. A
	// guest of which it does not is asked, by the program id.
	User sandbox.GuestUser
}

// Listed is one sandbox that [Engine.List] found.
type Listed struct {
	ID     string
	Name   string
	Labels map[string]string
}

// Links says what a file operation does at a symbolic link in its path.
type Links uint8

const (
	// Beneath: the operation is resolved below a root directory in one step and
	// fails with [ErrThroughLink] at any link; nothing can be swapped in between.
	Beneath Links = iota + 1
	// Follow: links are followed, wherever they lead inside the guest.
	Follow
)

// Access is one way of asking for a file operation.
type Access struct {
	As    sandbox.Principal
	Links Links
}

// FileRef names a file for one operation. Path is absolute and clean. Root is
// the directory that [Beneath] resolves under, itself absolute and clean; Path
// lies at or below it. Beneath reaches Root without following a link either: one
// anywhere in Root is [ErrThroughLink]. "/" is a Root like any other.
type FileRef struct {
	Root   string
	Path   string
	Access Access
}

// Guest is one sandbox's file plane. Every operation honours its context.
// The last component of a path is never followed: a link is described, refused
// for reading and writing, and removed as a link.
type Guest interface {
	// ID names this very sandbox for [Engine.Delete]. A replacement under the
	// same name has another.
	ID() string
	// Stat describes what stands at the path, or fails with [ErrNotExist].
	Stat(ctx context.Context, ref FileRef) (Info, error)
	// Open streams a regular file and describes the very file it streams. What
	// is not a regular file fails with [ErrNotRegular] without blocking.
	Open(ctx context.Context, ref FileRef) (io.ReadCloser, Info, error)
	// Write replaces the file with exactly size bytes of content; parents exist.
	// When content ends early, runs over or fails, or ctx ends, what stood there
	// before still stands.
	Write(ctx context.Context, ref FileRef, content io.Reader, size int64) error
	// Mkdir makes one directory whose parent exists; one that is there already
	// is success.
	Mkdir(ctx context.Context, ref FileRef) error
	// List calls yield for each direct child, in any order, until it answers
	// false.
	List(ctx context.Context, ref FileRef, yield func(Info) bool) error
	// Remove removes a file, a link or, when recursive, a directory with all in
	// it. Nothing there fails with [ErrNotExist]; a directory without recursive
	// fails with [ErrIsDirectory].
	Remove(ctx context.Context, ref FileRef, recursive bool) error
}

// Info describes one directory entry.
type Info struct {
	// Name is the last component, as the guest has it; it may be any bytes but
	// slash and NUL.
	Name string
	Kind sandbox.EntryKind
	// Size is in bytes, for regular files whose size is known.
	Size      int64
	SizeKnown bool
}

// Abilities names what an engine's guests implement.
type Abilities struct {
	Exec    bool // Execer
	RunCode bool // CodeRunner
	Freeze  bool // Freezer
}

// Execer runs programs. Timeouts come as the context's deadline.
type Execer interface {
	// Exec runs argv to its end and writes its streams as they come. The error
	// is nil whenever the program ran, whatever its exit code.
	Exec(ctx context.Context, cmd ExecRequest) (exitCode int, err error)
}

// ExecRequest is one program to run. Stdout and Stderr may be one writer: when it
// can be compared, an engine makes one Write at a time.
type ExecRequest struct {
	Args           []string
	Dir            string
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// CodeRunner evaluates source text in a language runtime. It returns within a
// moment of the context's end, whatever the program does.
type CodeRunner interface {
	RunCode(ctx context.Context, req CodeRequest) (exitCode int, err error)
}

// CodeRequest is one program for a language runtime. A writer that fails ends
// the program.
type CodeRequest struct {
	Source         []byte
	Args           []string
	Dir            string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Freezer stops every process of the guest and lets them go on, so that a check
// and its use see one state.
type Freezer interface {
	Freeze(ctx context.Context) (thaw func(context.Context) error, err error)
}

// The errors an engine answers with, for errors.Is. Anything else is taken as
// the engine's own failure.
var (
	ErrNotExist     = errors.New("nothing stands at the path")
	ErrNotDirectory = errors.New("a component of the path is not a directory")
	ErrIsDirectory  = errors.New("the path is a directory")
	ErrNotRegular   = errors.New("the path is not a regular file")
	ErrThroughLink  = errors.New("the path goes through a link")
	ErrNoSpace      = errors.New("the guest's storage is full")
	ErrPermission   = errors.New("the guest's file system declined")
	ErrSize         = errors.New("the content has another size than was said")
	ErrQueued       = errors.New("the deadline passed before the program started")
	ErrMemory       = errors.New("the program ran out of its memory limit")
	ErrStack        = errors.New("the program ran out of its stack")
	ErrCrashed      = errors.New("the language runtime ended by a fault")
	ErrGone         = errors.New("the sandbox is gone")
	ErrUnreachable  = errors.New("the engine could not be asked")
	ErrRefused      = errors.New("the engine said no")
	ErrNoEgress     = errors.New("what the sandbox reached its network through has ended")
)
