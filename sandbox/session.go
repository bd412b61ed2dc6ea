package sandbox

import (
	"bytes"
	"context"
	"io"
	"time"
	"unicode/utf8"
)

// Session is one live sandbox as a host uses it. It knows for whom it is, what
// it may be asked, and nothing of how it is made. A Session is safe for
// concurrent use. Every call returns a [*Refusal] when it is declined: one whose
// capability the sandbox was not acquired with is [CodeUnsupported], before
// anything is asked of the guest.
type Session struct {
	info SessionInfo
	ops  SessionOps
}

// SessionInfo is a session's identity. It is plain data.
type SessionInfo struct {
	// Owner is the router's owner; Key is for whom the sandbox is.
	Owner string
	Key   Key
	// Kind and Backend name the workload's kind and who serves it.
	Kind    string
	Backend string
	// InstanceID names this very sandbox; a replacement has another.
	InstanceID string
	// WorkDir is the absolute directory that relative paths start from.
	WorkDir string
	// Capabilities are what was acquired: required by the spec, offered by the
	// backend. Reclaim is among them wherever it is offered.
	Capabilities CapabilitySet
	// SpecDigest and PolicyDigest are what admitted it.
	SpecDigest   string
	PolicyDigest string
}

// SessionOps is what stands behind a [Session]: the confinement layer implements
// it over an engine. Implementations receive calls only for capabilities in
// [SessionInfo.Capabilities].
type SessionOps interface {
	Exec(ctx context.Context, cmd Command) (ExecResult, error)
	RunCode(ctx context.Context, program Program) (ExecResult, error)
	Write(ctx context.Context, path string, content io.Reader, size int64) error
	Open(ctx context.Context, path string, maxBytes int64) (io.ReadCloser, Entry, error)
	Stat(ctx context.Context, path string) (Entry, error)
	List(ctx context.Context, path string) ([]Entry, error)
	Remove(ctx context.Context, path string, recursive bool) error
	Reclaim(ctx context.Context, dir string) error
}

// Command is a program to start with its arguments. Nothing passes through a
// shell: an argument vector reaches the program as it is.
type Command struct {
	// Args is the program and its arguments; at least one, none with a NUL.
	Args []string
	// Dir is the working directory, relative to the session's WorkDir or below
	// it; empty is WorkDir itself.
	Dir string
	// Env is added to the engine's fixed environment, NAME=value.
	Env []string
	// Stdin may be nil.
	Stdin io.Reader
	// Timeout bounds the call beside the context; zero leaves it to the context.
	Timeout time.Duration
}

// Program is source text for a language runtime, run without a shell.
type Program struct {
	// Source is the program's text, UTF-8.
	Source []byte
	// Args are given to the program, without a name in front.
	Args []string
	// Stdin may be nil.
	Stdin io.Reader
	// Timeout bounds the call from the moment it is made, waiting included;
	// zero leaves it to the context.
	Timeout time.Duration
}

// ExecResult is what a finished program left. A non-zero exit code is a result,
// not an error.
type ExecResult struct {
	Stdout, Stderr []byte
	ExitCode       int
}

// Stopped is the error of a program that was stopped before its end: it ran past
// its deadline, its output limit or its memory. errors.As finds it and the
// [*Refusal] within.
type Stopped struct {
	// Refusal says which bound it was.
	Refusal *Refusal
	// Result holds the beginning of what the program wrote, at most the output
	// limit of each stream. Its exit code is -1: there was none.
	Result ExecResult
}

// Error is the refusal's text; what the program wrote is not part of it.
func (s *Stopped) Error() string { return s.Refusal.Error() }

// Unwrap gives the refusal.
func (s *Stopped) Unwrap() error { return s.Refusal }

// Text is b as UTF-8, with what is invalid replaced by U+FFFD.
func Text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}

// Entry describes what stands at a guest path; links are not followed.
type Entry struct {
	// Path is relative to the session's work directory.
	Path string
	Kind EntryKind
	// Size is in bytes and only meaningful where SizeKnown.
	Size      int64
	SizeKnown bool
}

// NewSession is for those who make sandboxes: the confinement layer and tests.
func NewSession(info SessionInfo, ops SessionOps) *Session {
	return &Session{info: info, ops: ops}
}

// Info returns the session's identity.
func (s *Session) Info() SessionInfo { return s.info }

// Capabilities answers beforehand what would be refused as unsupported.
func (s *Session) Capabilities() CapabilitySet { return s.info.Capabilities }

func (s *Session) need(c Capability) error {
	if s.info.Capabilities.Has(c) {
		return nil
	}
	remedy := "add " + c.String() + " to the workload's requires"
	if c == CapabilityReclaim {
		remedy = "dispose the sandbox, or use a backend that declares reclaim"
	}
	return Finding{
		Code:     CodeUnsupported,
		Found:    "a sandbox of backend " + s.info.Backend + " acquired with " + s.info.Capabilities.String(),
		Required: c.String(),
		Remedy:   remedy,
	}.Refusal(nil)
}

// Exec runs a command and waits for it. Capability: exec.
func (s *Session) Exec(ctx context.Context, cmd Command) (ExecResult, error) {
	if err := s.need(CapabilityExec); err != nil {
		return ExecResult{}, err
	}
	return s.ops.Exec(ctx, cmd)
}

// RunCode evaluates a program in the sandbox's language runtime. No state of the
// language survives the call; files do. Capability: run_code.
func (s *Session) RunCode(ctx context.Context, program Program) (ExecResult, error) {
	if err := s.need(CapabilityRunCode); err != nil {
		return ExecResult{}, err
	}
	return s.ops.RunCode(ctx, program)
}

// WriteFile writes size bytes of content to path, creating parents and replacing
// what stood there. A content of another length is an error and leaves no file
// that was not there before. Capability: files_in.
func (s *Session) WriteFile(ctx context.Context, path string, content io.Reader, size int64) error {
	if err := s.need(CapabilityFilesIn); err != nil {
		return err
	}
	return s.ops.Write(ctx, path, content, size)
}

// Open streams the regular file at path, at most maxBytes of it; a larger one is
// refused, never cut. The entry is the one that was judged. The caller closes
// the stream. Capability: files_out.
func (s *Session) Open(ctx context.Context, path string, maxBytes int64) (io.ReadCloser, Entry, error) {
	if err := s.need(CapabilityFilesOut); err != nil {
		return nil, Entry{}, err
	}
	return s.ops.Open(ctx, path, maxBytes)
}

// ReadFile is [Session.Open] for a file that fits in memory.
func (s *Session) ReadFile(ctx context.Context, path string, maxBytes int64) (content []byte, err error) {
	r, _, err := s.Open(ctx, path, maxBytes)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := r.Close(); err == nil && cerr != nil {
			content, err = nil, cerr
		}
	}()
	return io.ReadAll(r)
}

// Stat describes what stands at path. Nothing there is [CodeFileNotFound].
// Capability: files_out.
func (s *Session) Stat(ctx context.Context, path string) (Entry, error) {
	if err := s.need(CapabilityFilesOut); err != nil {
		return Entry{}, err
	}
	return s.ops.Stat(ctx, path)
}

// List returns the direct children of the directory at path, sorted by name.
// Capability: files_list.
func (s *Session) List(ctx context.Context, path string) ([]Entry, error) {
	if err := s.need(CapabilityFilesList); err != nil {
		return nil, err
	}
	return s.ops.List(ctx, path)
}

// Remove removes what stands at path; nothing there is success, a link is
// removed and never followed, a directory needs recursive. Capability:
// files_delete.
func (s *Session) Remove(ctx context.Context, path string, recursive bool) error {
	if err := s.need(CapabilityFilesDelete); err != nil {
		return err
	}
	return s.ops.Remove(ctx, path, recursive)
}

// Reclaim removes the directory of one call with all in it, so that the sandbox
// can serve the next; dir lies below the work directory and at least two
// components deep. A directory that is not there, under parents that need not be
// there either, is success; a link in its place is unlinked and never followed.
// Nothing goes that the guest's program could not have removed. Capability:
// reclaim, which a backend declares and no workload requires.
func (s *Session) Reclaim(ctx context.Context, dir string) error {
	if err := s.need(CapabilityReclaim); err != nil {
		return err
	}
	return s.ops.Reclaim(ctx, dir)
}
