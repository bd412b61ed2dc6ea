package mutants_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/hostengine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
)

type executed struct {
	ops
	exec func(ctx context.Context, o ops, cmd sandbox.Command) (sandbox.ExecResult, error)
}

func (e executed) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.ExecResult, error) {
	return e.exec(ctx, e.ops, cmd)
}

// inFront puts a broken layer in front of a subject's sound one.
func inFront(t *testing.T, subject conformance.Subject, change func(ops) sandbox.SessionOps) conformance.Subject {
	t.Helper()
	sound, ok := subject.Backend.(*backend.Backend)
	if !ok {
		t.Fatal("the subject has no layer")
	}
	subject.Backend = brokenLayer{Backend: sound, session: func(s *sandbox.Session) sandbox.SessionOps { return change(ops{Session: s}) }}
	return subject
}

// realMutants are layers in front of real files and programs: what memory cannot
// hold.
func realMutants() []mutant {
	front := func(name, by string, change func(ops) sandbox.SessionOps) mutant {
		return mutant{name: name, by: by, make: func(t *testing.T) conformance.Subject {
			t.Helper()
			return inFront(t, overProcess(t, config(t), nil), change)
		}}
	}
	nothing := func(family sandbox.Family) func(context.Context, ops, string, int64) (io.ReadCloser, sandbox.Entry, error) {
		return func(ctx context.Context, o ops, path string, most int64) (io.ReadCloser, sandbox.Entry, error) {
			r, entry, err := o.Session.Open(ctx, path, most)
			if errors.Is(err, family) {
				return io.NopCloser(strings.NewReader("")), entry, nil
			}
			return r, entry, err
		}
	}
	return []mutant{
		{name: "a device is an empty file", by: "FILES_OUT/a-device-is-never-read", make: func(t *testing.T) conformance.Subject {
			t.Helper()
			if os.Getuid() != 0 {
				t.Skip("only root makes devices")
			}
			return inFront(t, overHost(t, hostengine.Options{}, t.TempDir()+"/work"), func(o ops) sandbox.SessionOps { return opened{o, nothing(sandbox.ErrOS)} })
		}},
		front("a file that is all hole is empty", "FILES_OUT/a-hole-counts-as-what-it-is", func(o ops) sandbox.SessionOps {
			return opened{o, nothing(sandbox.ErrLimit)}
		}),
		front("uploads are text", "FILES_IN/a-program-can-use-what-was-written", func(o ops) sandbox.SessionOps {
			return written{o, func(ctx context.Context, o ops, path string, content io.Reader, size int64) error {
				if path == "given.bin" {
					content = ascii{content}
				}
				return o.WriteFile(ctx, path, content, size)
			}}
		}),
		front("names are text", "FILES_LIST/names-are-whatever-bytes-they-are", func(o ops) sandbox.SessionOps {
			return listed{o, func(ctx context.Context, o ops, path string) ([]sandbox.Entry, error) {
				entries, err := o.Session.List(ctx, path)
				for i := range entries {
					entries[i].Path = strings.ToValidUTF8(entries[i].Path, "\ufffd")
				}
				return entries, err
			}}
		}),
		front("a huge directory is cut", "FILES_LIST/a-huge-directory-is-whole-or-refused", func(o ops) sandbox.SessionOps {
			return listed{o, func(ctx context.Context, o ops, path string) ([]sandbox.Entry, error) {
				entries, err := o.Session.List(ctx, path)
				if errors.Is(err, sandbox.ErrLimit) {
					return []sandbox.Entry{{Path: path + "/f0", Kind: sandbox.EntryFile}}, nil
				}
				return entries, err
			}}
		}),
		front("a huge directory stays", "FILES_DELETE/a-huge-directory-goes", func(o ops) sandbox.SessionOps {
			return removed{o, func(ctx context.Context, o ops, path string, recursive bool) error {
				if entries, err := o.List(ctx, path); err == nil && len(entries) > 1000 {
					return nil
				}
				return o.Session.Remove(ctx, path, recursive)
			}}
		}),
		front("a directory outside is the work directory", "EXEC/a-directory-outside-is-refused", func(o ops) sandbox.SessionOps {
			return executed{o, func(ctx context.Context, o ops, cmd sandbox.Command) (sandbox.ExecResult, error) {
				result, err := o.Session.Exec(ctx, cmd)
				if errors.Is(err, sandbox.CodePathOutside) {
					cmd.Dir = ""
					return o.Session.Exec(ctx, cmd)
				}
				return result, err
			}}
		}),
		front("no program is a program that does nothing", "EXEC_HOSTILE/no-command-at-all", func(o ops) sandbox.SessionOps {
			return executed{o, func(ctx context.Context, o ops, cmd sandbox.Command) (sandbox.ExecResult, error) {
				result, err := o.Session.Exec(ctx, cmd)
				if errors.Is(err, sandbox.ErrValue) {
					return sandbox.ExecResult{}, nil
				}
				return result, err
			}}
		}),
		front("a flood is cut without a word", "EXEC_HOSTILE/flooding-both-streams-is-stopped", func(o ops) sandbox.SessionOps {
			return executed{o, func(ctx context.Context, o ops, cmd sandbox.Command) (sandbox.ExecResult, error) {
				result, err := o.Session.Exec(ctx, cmd)
				if stopped, ok := errors.AsType[*sandbox.Stopped](err); ok && errors.Is(err, sandbox.CodeGuestOutputLimit) {
					return stopped.Result, nil
				}
				return result, err
			}}
		}),
	}
}
