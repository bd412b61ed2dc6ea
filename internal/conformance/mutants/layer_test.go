package mutants_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	stdpath "path"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// brokenLayer is a layer with one thing wrong in what it is asked for or answers.
type brokenLayer struct {
	*backend.Backend
	request func(sandbox.AcquireRequest) sandbox.AcquireRequest
	session func(*sandbox.Session) sandbox.SessionOps
	origin  func(sandbox.Origin) sandbox.Origin
	dispose func(sandbox.DisposeRequest) sandbox.DisposeRequest
	lies    bool // disposal
	scope   func(owner, scope, thread string) (string, string, string)
	count   func(int) int
}

func (l brokenLayer) Acquire(ctx context.Context, req sandbox.AcquireRequest) (sandbox.Acquired, error) {
	if l.request != nil {
		req = l.request(req)
	}
	acquired, err := l.Backend.Acquire(ctx, req)
	if err != nil {
		return acquired, err
	}
	if l.session != nil {
		acquired.Session = sandbox.NewSession(acquired.Session.Info(), l.session(acquired.Session))
	}
	if l.origin != nil {
		acquired.Origin = l.origin(acquired.Origin)
	}
	return acquired, nil
}

func (l brokenLayer) Dispose(ctx context.Context, req sandbox.DisposeRequest) *sandbox.DisposalFailure {
	if l.lies {
		return nil
	}
	if l.dispose != nil {
		req = l.dispose(req)
	}
	return l.Backend.Dispose(ctx, req)
}

func (l brokenLayer) DisposeScope(ctx context.Context, owner, scope, thread string) sandbox.ScopeDisposal {
	if l.scope != nil {
		owner, scope, thread = l.scope(owner, scope, thread)
	}
	d := l.Backend.DisposeScope(ctx, owner, scope, thread)
	if l.count != nil {
		d.Disposed = l.count(d.Disposed)
	}
	return d
}

// ops is a session as what stands behind one, for a mutant to change.
type ops struct {
	*sandbox.Session
	view *sandboxtest.View
}

func (o ops) Write(ctx context.Context, path string, content io.Reader, size int64) error {
	return o.WriteFile(ctx, path, content, size)
}

// at is where a session's path lies in the guest.
func (o ops) at(path string) string {
	if strings.HasPrefix(path, "/") {
		return stdpath.Clean(path)
	}
	return stdpath.Join(o.Info().WorkDir, path)
}

// broken makes a mutant of sessions.
func broken(name, by string, change func(ops) sandbox.SessionOps) mutant {
	return inMemory{layer: func(e *sandboxtest.Engine, b *backend.Backend) conformance.Backend {
		return brokenLayer{Backend: b, session: func(s *sandbox.Session) sandbox.SessionOps {
			return change(ops{s, e.View(s.Info().InstanceID)})
		}}
	}}.mutant(name, by)
}

// confused makes a mutant of acquiring and disposing.
func confused(name, by string, l brokenLayer) mutant {
	return inMemory{layer: func(_ *sandboxtest.Engine, b *backend.Backend) conformance.Backend {
		l.Backend = b
		return l
	}}.mutant(name, by)
}

// keyed changes the key of everything that is asked for.
func keyed(name, by string, change func(sandbox.Key) sandbox.Key) mutant {
	return confused(name, by, brokenLayer{
		request: func(r sandbox.AcquireRequest) sandbox.AcquireRequest { r.Key = change(r.Key); return r },
		dispose: func(r sandbox.DisposeRequest) sandbox.DisposeRequest { r.Key = change(r.Key); return r },
	})
}

type opened struct {
	ops
	open func(ctx context.Context, o ops, path string, most int64) (io.ReadCloser, sandbox.Entry, error)
}

func (o opened) Open(ctx context.Context, path string, most int64) (io.ReadCloser, sandbox.Entry, error) {
	return o.open(ctx, o.ops, path, most)
}

type stated struct {
	ops
	stat func(ctx context.Context, o ops, path string) (sandbox.Entry, error)
}

func (o stated) Stat(ctx context.Context, path string) (sandbox.Entry, error) {
	return o.stat(ctx, o.ops, path)
}

type written struct {
	ops
	write func(ctx context.Context, o ops, path string, content io.Reader, size int64) error
}

func (o written) Write(ctx context.Context, path string, content io.Reader, size int64) error {
	return o.write(ctx, o.ops, path, content, size)
}

type removed struct {
	ops
	remove func(ctx context.Context, o ops, path string, recursive bool) error
}

func (o removed) Remove(ctx context.Context, path string, recursive bool) error {
	return o.remove(ctx, o.ops, path, recursive)
}

type listed struct {
	ops
	list func(ctx context.Context, o ops, path string) ([]sandbox.Entry, error)
}

func (o listed) List(ctx context.Context, path string) ([]sandbox.Entry, error) {
	return o.list(ctx, o.ops, path)
}

// followed reads through links, from behind.
func followed(_ context.Context, o ops, path string, _ int64) (io.ReadCloser, sandbox.Entry, error) {
	data, err := o.view.ReadFile(o.at(path))
	return io.NopCloser(bytes.NewReader(data)), sandbox.Entry{Path: path, Kind: sandbox.EntryFile}, err
}

func layerMutants() []mutant {
	return slices.Concat(fileMutants(), reclaimMutants(), identityMutants())
}

func fileMutants() []mutant {
	return []mutant{
		broken("a read follows links and leaves the work directory", "FILES_OUT/a-link-is-never-read", func(o ops) sandbox.SessionOps {
			return opened{o, followed}
		}),
		broken("a file over the cap is cut", "FILES_OUT/over-the-cap-is-refused-never-cut", func(o ops) sandbox.SessionOps {
			return opened{o, func(ctx context.Context, o ops, path string, most int64) (io.ReadCloser, sandbox.Entry, error) {
				r, entry, err := o.Session.Open(ctx, path, 1<<30)
				if err != nil {
					return nil, entry, err
				}
				return struct {
					io.Reader
					io.Closer
				}{io.LimitReader(r, most), r}, entry, nil
			}}
		}),
		broken("the cap is off by one", "FILES_OUT/over-the-cap-is-refused-never-cut", func(o ops) sandbox.SessionOps {
			return opened{o, func(ctx context.Context, o ops, path string, most int64) (io.ReadCloser, sandbox.Entry, error) {
				return o.Session.Open(ctx, path, most+1)
			}}
		}),
		broken("the cap takes nothing of its own size", "FILES_OUT/over-the-cap-is-refused-never-cut", func(o ops) sandbox.SessionOps {
			return opened{o, func(ctx context.Context, o ops, path string, most int64) (io.ReadCloser, sandbox.Entry, error) {
				return o.Session.Open(ctx, path, max(most-1, 0))
			}}
		}),
		broken("reading a directory gives nothing", "FILES_OUT/a-directory-is-never-read", func(o ops) sandbox.SessionOps {
			return opened{o, func(ctx context.Context, o ops, path string, most int64) (io.ReadCloser, sandbox.Entry, error) {
				r, entry, err := o.Session.Open(ctx, path, most)
				if errors.Is(err, sandbox.CodeFileNotRegular) {
					return io.NopCloser(strings.NewReader("")), entry, nil
				}
				return r, entry, err
			}}
		}),
		broken("a link is described as what it leads to", "FILES_OUT/a-link-is-named-a-link", func(o ops) sandbox.SessionOps {
			return stated{o, func(ctx context.Context, o ops, path string) (sandbox.Entry, error) {
				entry, err := o.Session.Stat(ctx, path)
				if entry.Kind == sandbox.EntrySymlink {
					entry.Kind = sandbox.EntryFile
				}
				return entry, err
			}}
		}),
		broken("stat looks outside", "FILES_OUT/a-path-outside-is-refused", func(o ops) sandbox.SessionOps {
			return stated{o, func(ctx context.Context, o ops, path string) (sandbox.Entry, error) {
				entry, err := o.Session.Stat(ctx, path)
				if errors.Is(err, sandbox.ErrValue) && o.view.Exists(o.at(path)) {
					return sandbox.Entry{Path: path, Kind: sandbox.EntryFile}, nil
				}
				return entry, err
			}}
		}),
		broken("nothing is an empty file", "FILES_OUT/nothing-there-is-said-so", func(o ops) sandbox.SessionOps {
			return stated{o, func(ctx context.Context, o ops, path string) (sandbox.Entry, error) {
				entry, err := o.Session.Stat(ctx, path)
				if errors.Is(err, sandbox.CodeFileNotFound) {
					return sandbox.Entry{Path: path, Kind: sandbox.EntryFile}, nil
				}
				return entry, err
			}}
		}),
		broken("a backslash is a slash", "FILES_IN/a-backslash-is-refused", func(o ops) sandbox.SessionOps {
			return written{o, func(ctx context.Context, o ops, path string, content io.Reader, size int64) error {
				return o.WriteFile(ctx, strings.TrimPrefix(strings.ReplaceAll(path, `\`, "/"), "../"), content, size)
			}}
		}),
		broken("a write follows links", "FILES_IN/a-linked-destination-is-refused-not-followed", func(o ops) sandbox.SessionOps {
			return written{o, func(ctx context.Context, o ops, path string, content io.Reader, size int64) error {
				data, err := io.ReadAll(content)
				if err == nil {
					err = o.view.WriteFile(o.at(path), data)
				}
				return err
			}}
		}),
		broken("bad names are cleaned up", "FILES_IN/text-that-is-no-path-is-refused", func(o ops) sandbox.SessionOps {
			return written{o, func(ctx context.Context, o ops, path string, content io.Reader, size int64) error {
				clean := strings.Map(func(r rune) rune {
					if r < ' ' || r == '\\' || r == 0xfffd {
						return '_'
					}
					return r
				}, path)
				return o.WriteFile(ctx, clean, content, size)
			}}
		}),
		broken("a write is not atomic", "FILES_IN/content-that-fails-replaces-nothing", func(o ops) sandbox.SessionOps {
			return written{o, func(ctx context.Context, o ops, path string, content io.Reader, size int64) error {
				var seen bytes.Buffer
				err := o.WriteFile(ctx, path, io.TeeReader(content, &seen), size)
				if err != nil && seen.Len() > 0 {
					_ = o.view.WriteFile(o.at(path), seen.Bytes())
				}
				return err
			}}
		}),
		broken("content is cut at what was said", "FILES_IN/content-that-runs-over-replaces-nothing", func(o ops) sandbox.SessionOps {
			return written{o, func(ctx context.Context, o ops, path string, content io.Reader, size int64) error {
				return o.WriteFile(ctx, path, io.LimitReader(content, size), size)
			}}
		}),
		broken("content is taken for whole however short", "FILES_IN/content-that-ends-early-replaces-nothing", func(o ops) sandbox.SessionOps {
			return written{o, func(ctx context.Context, o ops, path string, content io.Reader, size int64) error {
				data, err := io.ReadAll(content)
				if err != nil || int64(len(data)) > size {
					return o.WriteFile(ctx, path, io.MultiReader(bytes.NewReader(data), content), size)
				}
				return o.WriteFile(ctx, path, bytes.NewReader(data), int64(len(data)))
			}}
		}),
		broken("an existing file is never replaced", "FILES_IN/a-second-write-replaces", func(o ops) sandbox.SessionOps {
			return written{o, func(ctx context.Context, o ops, path string, content io.Reader, size int64) error {
				if _, err := o.Stat(ctx, path); err == nil {
					return nil
				}
				return o.WriteFile(ctx, path, content, size)
			}}
		}),
		broken("an empty file is not written", "FILES_IN/an-empty-file-is-a-file", func(o ops) sandbox.SessionOps {
			return written{o, func(ctx context.Context, o ops, path string, content io.Reader, size int64) error {
				if size == 0 {
					return nil
				}
				return o.WriteFile(ctx, path, content, size)
			}}
		}),
		broken("failed writes leave their beginnings", "FILES_IN/nothing-half-made-is-left-beside", func(o ops) sandbox.SessionOps {
			return written{o, func(ctx context.Context, o ops, path string, content io.Reader, size int64) error {
				err := o.WriteFile(ctx, path, content, size)
				if err != nil && !errors.Is(err, sandbox.ErrValue) {
					_ = o.view.WriteFile(o.at(path)+".part", nil)
				}
				return err
			}}
		}),
		broken("a listing follows links", "FILES_LIST/listing-a-linked-directory", func(o ops) sandbox.SessionOps {
			return listed{o, func(ctx context.Context, o ops, path string) ([]sandbox.Entry, error) {
				entries, err := o.Session.List(ctx, path)
				if errors.Is(err, sandbox.ErrValue) && o.view.Files(o.at(path)+"/.") > 0 {
					return []sandbox.Entry{{Path: path + "/secret.txt", Kind: sandbox.EntryFile}}, nil
				}
				return entries, err
			}}
		}),
		broken("a listing goes down", "FILES_LIST/a-listing-has-direct-children-only", func(o ops) sandbox.SessionOps {
			return listed{o, func(ctx context.Context, o ops, path string) ([]sandbox.Entry, error) {
				entries, err := o.Session.List(ctx, path)
				for _, e := range entries {
					entries = append(entries, sandbox.Entry{Path: e.Path + "/deeper", Kind: sandbox.EntryFile})
				}
				return entries, err
			}}
		}),
		broken("a listing leaves links out", "FILES_LIST/a-listing-names-its-links", func(o ops) sandbox.SessionOps {
			return listed{o, func(ctx context.Context, o ops, path string) ([]sandbox.Entry, error) {
				entries, err := o.Session.List(ctx, path)
				return slices.DeleteFunc(entries, func(e sandbox.Entry) bool { return e.Kind == sandbox.EntrySymlink }), err
			}}
		}),
		broken("a file is listed as itself", "FILES_LIST/a-file-is-not-listed", func(o ops) sandbox.SessionOps {
			return listed{o, func(ctx context.Context, o ops, path string) ([]sandbox.Entry, error) {
				entries, err := o.Session.List(ctx, path)
				if errors.Is(err, sandbox.CodePathNotDirectory) {
					return []sandbox.Entry{{Path: path, Kind: sandbox.EntryFile}}, nil
				}
				return entries, err
			}}
		}),
		broken("nothing is an empty directory", "FILES_LIST/an-empty-directory-is-an-empty-list", func(o ops) sandbox.SessionOps {
			return listed{o, func(ctx context.Context, o ops, path string) ([]sandbox.Entry, error) {
				entries, err := o.Session.List(ctx, path)
				if errors.Is(err, sandbox.CodeFileNotFound) {
					err = nil
				}
				return entries, err
			}}
		}),
		broken("a removal follows links", "FILES_DELETE/a-link-is-removed-never-followed", func(o ops) sandbox.SessionOps {
			return removed{o, func(ctx context.Context, o ops, path string, recursive bool) error {
				if entry, err := o.Stat(ctx, path); err == nil && entry.Kind == sandbox.EntrySymlink {
					_ = o.view.Remove(o.at(path) + "/secret.txt")
				}
				return o.Session.Remove(ctx, path, recursive)
			}}
		}),
		broken("a removal goes through links and outside", "FILES_DELETE/a-path-through-a-linked-parent-is-refused", func(o ops) sandbox.SessionOps {
			return removed{o, func(_ context.Context, o ops, path string, _ bool) error { return o.view.Remove(o.at(path)) }}
		}),
		broken("a missing file cannot be removed", "FILES_DELETE/a-missing-path-is-success", func(o ops) sandbox.SessionOps {
			return removed{o, func(ctx context.Context, o ops, path string, recursive bool) error {
				if _, err := o.Stat(ctx, path); errors.Is(err, sandbox.CodeFileNotFound) {
					return err
				}
				return o.Session.Remove(ctx, path, recursive)
			}}
		}),
		broken("an empty directory goes unasked", "FILES_DELETE/an-empty-directory-needs-recursive", func(o ops) sandbox.SessionOps {
			return removed{o, func(ctx context.Context, o ops, path string, recursive bool) error {
				if entries, err := o.List(ctx, path); err == nil && len(entries) == 0 {
					recursive = true
				}
				return o.Session.Remove(ctx, path, recursive)
			}}
		}),
		broken("a removal does nothing", "FILES_DELETE/a-removal-removes", func(o ops) sandbox.SessionOps {
			return removed{o, func(context.Context, ops, string, bool) error { return nil }}
		}),
		broken("a removal takes the neighbours along", "FILES_DELETE/recursive-removes-the-tree", func(o ops) sandbox.SessionOps {
			return removed{o, func(ctx context.Context, o ops, path string, recursive bool) error {
				err := o.Session.Remove(ctx, path, recursive)
				if err == nil && recursive {
					_ = o.view.Remove(o.at(path) + "/../plain.txt")
					_ = o.view.Remove(stdpath.Join(stdpath.Dir(o.at(path)), "plain.txt"))
				}
				return err
			}}
		}),
		broken("the work directory can be removed", "FILES_DELETE/the-work-directory-is-refused", func(o ops) sandbox.SessionOps {
			return removed{o, func(ctx context.Context, o ops, path string, recursive bool) error {
				if o.at(path) == o.Info().WorkDir && recursive {
					return o.view.Remove(o.at(path))
				}
				return o.Session.Remove(ctx, path, recursive)
			}}
		}),
	}
}

func identityMutants() []mutant {
	first := func(n int) func(string) string {
		return func(s string) string { return s[:min(n, len(s))] }
	}
	return []mutant{
		confused("the owner is not compared", "REUSE/two-owners-never-share", brokenLayer{
			request: func(r sandbox.AcquireRequest) sandbox.AcquireRequest {
				if r.Owner != "" {
					r.Owner = "everybody"
				}
				return r
			},
			dispose: func(r sandbox.DisposeRequest) sandbox.DisposeRequest { r.Owner = "everybody"; return r },
			scope:   func(_, scope, thread string) (string, string, string) { return "everybody", scope, thread },
		}),
		confused("nobody owns what is acquired", "FRESH_ACQUIRE/what-cannot-be-acquired-is-refused", brokenLayer{
			request: func(r sandbox.AcquireRequest) sandbox.AcquireRequest {
				if r.Owner == "" {
					r.Owner = "nobody"
				}
				return r
			},
		}),
		confused("reserved labels can be overwritten", "FRESH_ACQUIRE/what-cannot-be-acquired-is-refused", brokenLayer{
			request: func(r sandbox.AcquireRequest) sandbox.AcquireRequest { r.Spec.Labels = nil; return r },
		}),
		confused("the spec's digest is not compared", "REUSE/another-spec-is-refused", brokenLayer{
			request: func(r sandbox.AcquireRequest) sandbox.AcquireRequest {
				if r.SpecDigest != "" {
					r.SpecDigest = "sha256:" + strings.Repeat("0", 64)
				}
				return r
			},
		}),
		confused("the policy's digest is not compared", "REUSE/another-policy-is-refused", brokenLayer{
			request: func(r sandbox.AcquireRequest) sandbox.AcquireRequest {
				if sandbox.IsDigest(r.PolicyDigest) {
					r.PolicyDigest = "sha256:" + strings.Repeat("0", 64)
				}
				return r
			},
		}),
		confused("the caps of files in are forgotten", "FILES_IN/the-caps-of-the-spec-hold", brokenLayer{
			request: func(r sandbox.AcquireRequest) sandbox.AcquireRequest {
				limits := sandbox.DefaultTransferLimits()
				r.Spec.FilesIn = &limits
				return r
			},
		}),
		confused("the kind is no part of who it is for", "REUSE/two-kinds-never-share", brokenLayer{
			request: func(r sandbox.AcquireRequest) sandbox.AcquireRequest {
				if r.Spec.Kind != "" {
					r.Spec.Kind = "any"
				}
				return r
			},
			dispose: func(r sandbox.DisposeRequest) sandbox.DisposeRequest { r.Kind = ""; return r },
		}),
		keyed("the call is no part of the key", "CALL_SCOPE/arrives-without-the-other-calls-data", func(k sandbox.Key) sandbox.Key { k.Call = ""; return k }),
		keyed("the agent is no part of the key", "REUSE/two-agents-never-share", func(k sandbox.Key) sandbox.Key { k.Agent = "any"; return k }),
		keyed("the scope is no part of the key", "REUSE/two-scopes-never-share", func(k sandbox.Key) sandbox.Key { k.Scope = "any"; return k }),
		keyed("a key is its parts joined by slashes", "REUSE/a-boundary-moved-is-another-key", func(k sandbox.Key) sandbox.Key {
			k.Scope, k.Thread, k.Agent = strings.Join([]string{k.Scope, k.Thread, k.Agent}, "/"), "-", "-"
			return k
		}),
		keyed("a key is its parts in a row", "REUSE/a-boundary-moved-without-a-mark-is-another-key", func(k sandbox.Key) sandbox.Key {
			k.Agent, k.Call = k.Agent+k.Call, ""
			return k
		}),
		keyed("long keys are cut", "REUSE/long-keys-differ-to-their-end", func(k sandbox.Key) sandbox.Key { k.Agent = first(200)(k.Agent); return k }),
		keyed("keys are folded", "REUSE/case-and-look-make-another-key", func(k sandbox.Key) sandbox.Key {
			k.Agent = strings.ToLower(k.Agent)
			return k
		}),
		keyed("threads are cut short", "REUSE/two-threads-never-share", func(k sandbox.Key) sandbox.Key {
			k.Thread = strings.TrimSuffix(k.Thread, "-2")
			return k
		}),
		confused("disposal reports success and does nothing", "INSTANCE_DISPOSAL/only-the-named-instance-goes", brokenLayer{lies: true}),
		confused("any instance is the one that was named", "INSTANCE_DISPOSAL/a-stale-instance-hits-no-replacement", brokenLayer{
			dispose: func(r sandbox.DisposeRequest) sandbox.DisposeRequest { r.InstanceID = ""; return r },
		}),
		confused("any kind is the one that was named", "INSTANCE_DISPOSAL/another-kind-disposes-nothing", brokenLayer{
			dispose: func(r sandbox.DisposeRequest) sandbox.DisposeRequest { r.Kind = ""; return r },
		}),
		confused("another owner may dispose", "INSTANCE_DISPOSAL/another-owner-disposes-nothing", brokenLayer{
			dispose: func(r sandbox.DisposeRequest) sandbox.DisposeRequest { r.Owner = "conformance"; return r },
		}),
		confused("disposing a thread takes its scope", "REUSE/disposing-a-thread-leaves-its-neighbour", brokenLayer{
			scope: func(owner, scope, _ string) (string, string, string) { return owner, scope, "" },
		}),
		confused("disposing a scope counts one", "REUSE/disposing-a-scope-takes-all-of-it", brokenLayer{
			count: func(n int) int { return min(n, 1) },
		}),
		confused("everything was created just now", "FRESH_ACQUIRE/the-first-is-created-and-the-next-is-not", brokenLayer{
			origin: func(sandbox.Origin) sandbox.Origin { return sandbox.OriginCreated },
		}),
		confused("everything was there already", "FRESH_ACQUIRE/the-first-is-created-and-the-next-is-not", brokenLayer{
			origin: func(sandbox.Origin) sandbox.Origin { return sandbox.OriginAdopted },
		}),
	}
}
