package backend

import (
	"context"
	"errors"
	"io"
	stdpath "path"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

// Every file call goes the same way: the path by its text, then the directories
// above it in the guest, then what stands at it, then the operation. Nothing is
// asked of the engine before the text is right.

// Stat describes what stands at path, links as links.
func (s *session) Stat(ctx context.Context, path string) (entry sandbox.Entry, err error) {
	resolved, err := guestpath.Resolve(s.info.WorkDir, path)
	if err != nil {
		return sandbox.Entry{}, err
	}
	done, err := s.begin(ctx)
	if err != nil {
		return sandbox.Entry{}, err
	}
	defer finish(done, &err)
	if err := s.confineParents(ctx, resolved); err != nil {
		return sandbox.Entry{}, err
	}
	info, err := s.guest.Stat(ctx, s.ref(resolved))
	if err != nil {
		return sandbox.Entry{}, mapError(ctx, "look at "+sandbox.Echo(path), err)
	}
	return s.entry(resolved, info)
}

// Open streams the regular file at path if it has at most maxBytes and at most
// the spec's bytes a file. What is streamed is exactly as long as what was judged,
// or the stream ends in an error.
func (s *session) Open(ctx context.Context, path string, maxBytes int64) (io.ReadCloser, sandbox.Entry, error) {
	if maxBytes < 0 {
		return nil, sandbox.Entry{}, outOfRange("maxBytes", maxBytes)
	}
	limit := min(maxBytes, s.out.MaxBytesPerFile)
	resolved, err := guestpath.Resolve(s.info.WorkDir, path)
	if err != nil {
		return nil, sandbox.Entry{}, err
	}
	done, err := s.begin(ctx)
	if err != nil {
		return nil, sandbox.Entry{}, err
	}
	r, entry, err := s.openConfined(ctx, path, resolved, limit)
	if err != nil {
		finish(done, &err)
		return nil, sandbox.Entry{}, err
	}
	return &fileReader{
		ctx: ctx, r: r, path: path, limit: limit, size: entry.Size, sizeKnown: entry.SizeKnown, done: done,
	}, entry, nil
}

func (s *session) openConfined(ctx context.Context, path, resolved string, limit int64) (_ io.ReadCloser, _ sandbox.Entry, err error) {
	if err := s.confineParents(ctx, resolved); err != nil {
		return nil, sandbox.Entry{}, err
	}
	info, err := s.guest.Stat(ctx, s.ref(resolved))
	if err != nil {
		return nil, sandbox.Entry{}, mapError(ctx, "read "+sandbox.Echo(path), err)
	}
	if _, err := s.readable(path, resolved, info, limit); err != nil {
		return nil, sandbox.Entry{}, err
	}
	// What was opened is judged again: it may not be what was looked at.
	r, info, err := s.guest.Open(ctx, s.ref(resolved))
	if err != nil {
		return nil, sandbox.Entry{}, mapError(ctx, "read "+sandbox.Echo(path), err)
	}
	if r == nil {
		return nil, sandbox.Entry{}, broken("no stream for an opened file")
	}
	entry, err := s.readable(path, resolved, info, limit)
	if err != nil {
		_ = r.Close() // nothing was read; the refusal is what matters
		return nil, sandbox.Entry{}, err
	}
	return r, entry, nil
}

// readable judges what a read would stream.
func (s *session) readable(path, resolved string, info engine.Info, limit int64) (sandbox.Entry, error) {
	entry, err := s.entry(resolved, info)
	switch {
	case err != nil:
		return sandbox.Entry{}, err
	case entry.Kind != sandbox.EntryFile:
		return sandbox.Entry{}, notRegular("read", path, entry.Kind)
	case entry.SizeKnown && entry.Size > limit:
		return sandbox.Entry{}, overCap(path, strconv.FormatInt(entry.Size, 10)+" bytes", limit)
	}
	return entry, nil
}

// Write replaces the file at path with exactly size bytes of content, making its
// parents.
func (s *session) Write(ctx context.Context, path string, content io.Reader, size int64) (err error) {
	if size < 0 {
		return outOfRange("size", size)
	}
	if content == nil {
		content = strings.NewReader("")
	}
	resolved, err := guestpath.ResolveBelow(s.info.WorkDir, path)
	if err != nil {
		return err
	}
	release, err := s.in.reserve(path, size)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer finish(done, &err)
	if err := s.prepareWrite(ctx, path, resolved); err != nil {
		return err
	}
	exact := &exactReader{r: content, remaining: size}
	err = s.guest.Write(ctx, s.ref(resolved), exact, size)
	if exact.err != nil && !errors.Is(exact.err, io.EOF) {
		return contentError(path, size, exact.err)
	}
	if err == nil && exact.remaining > 0 {
		return broken("success for a write it did not finish")
	}
	return mapError(ctx, "write "+sandbox.Echo(path), err)
}

func (s *session) prepareWrite(ctx context.Context, path, resolved string) error {
	if err := s.confineParents(ctx, resolved); err != nil {
		return err
	}
	if err := s.ensureParents(ctx, resolved); err != nil {
		return err
	}
	info, err := s.guest.Stat(ctx, s.ref(resolved))
	switch {
	case errors.Is(err, engine.ErrNotExist):
		return nil
	case err != nil:
		return mapError(ctx, "write "+sandbox.Echo(path), err)
	case info.Kind == sandbox.EntrySymlink:
		return refusalFor("write "+sandbox.Echo(path), engine.ErrThroughLink)
	case info.Kind != sandbox.EntryFile:
		return notRegular("write", path, info.Kind)
	}
	return nil
}

// List answers the direct children of the directory at path, sorted by name.
func (s *session) List(ctx context.Context, path string) (entries []sandbox.Entry, err error) {
	resolved, err := guestpath.Resolve(s.info.WorkDir, path)
	if err != nil {
		return nil, err
	}
	done, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer finish(done, &err)
	if err := s.confineAll(ctx, resolved); err != nil {
		return nil, err
	}
	var (
		over bool
		lie  error
	)
	err = s.guest.List(ctx, s.ref(resolved), func(info engine.Info) bool {
		if over = len(entries) >= s.backend.settings.listLimit; over {
			return false
		}
		var entry sandbox.Entry
		if entry, lie = s.child(resolved, info); lie != nil {
			return false
		}
		entries = append(entries, entry)
		return true
	})
	switch {
	case over:
		return nil, sandbox.Finding{
			Code:     sandbox.CodeTransferCap,
			Found:    "directory " + sandbox.Echo(path) + " with more than " + strconv.Itoa(s.backend.settings.listLimit) + " entries",
			Required: "at most that many",
			Remedy:   "list a directory with fewer entries",
		}.Refusal(nil)
	case lie != nil:
		return nil, lie
	case err != nil:
		return nil, mapError(ctx, "list "+sandbox.Echo(path), err)
	}
	return sorted(entries)
}

func sorted(entries []sandbox.Entry) ([]sandbox.Entry, error) {
	slices.SortFunc(entries, func(a, b sandbox.Entry) int { return strings.Compare(a.Path, b.Path) })
	for i := 1; i < len(entries); i++ {
		if entries[i].Path == entries[i-1].Path {
			return nil, broken("one name twice in a directory")
		}
	}
	return entries, nil
}

// Remove removes what stands at path. Nothing there is success.
func (s *session) Remove(ctx context.Context, path string, recursive bool) error {
	resolved, err := guestpath.ResolveBelow(s.info.WorkDir, path)
	if err != nil {
		return err
	}
	return s.remove(ctx, path, resolved, recursive)
}

// Reclaim removes a call's directory. It differs from a removal in what it takes
// for granted: that there is something to lose, so that a path a slip away from
// the root of everything is refused.
func (s *session) Reclaim(ctx context.Context, dir string) error {
	resolved, err := guestpath.ResolveBelow(s.info.WorkDir, dir)
	if err != nil {
		return err
	}
	if strings.Count(resolved, "/") < 2 {
		return sandbox.Finding{
			Code: sandbox.CodePathInvalid, Found: "directory " + sandbox.Echo(dir) + " of one component, to reclaim",
			Required: "at least two components from the root", Remedy: "give each call a directory of its own below the work directory",
		}.Refusal(nil)
	}
	return s.remove(ctx, dir, resolved, true)
}

func (s *session) remove(ctx context.Context, path, resolved string, recursive bool) (err error) {
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer finish(done, &err)
	if err := s.confineParents(ctx, resolved); err != nil {
		return err
	}
	err = s.guest.Remove(ctx, s.ref(resolved), recursive)
	switch {
	case errors.Is(err, engine.ErrNotExist):
		return nil
	case errors.Is(err, engine.ErrIsDirectory) && ctx.Err() == nil:
		return sandbox.Finding{
			Code: sandbox.CodeFileRefused, Found: "a directory, to remove " + sandbox.Echo(path),
			Required: "a file or a link, or leave to remove directories", Remedy: "remove it recursively",
		}.Refusal(err)
	}
	return mapError(ctx, "remove "+sandbox.Echo(path), err)
}

// entry checks what the engine says of a place and puts it in the session's words.
func (s *session) entry(resolved string, info engine.Info) (sandbox.Entry, error) {
	if !slices.Contains(sandbox.EntryKinds(), info.Kind) {
		return sandbox.Entry{}, broken("an entry of no known kind")
	}
	relative, inside := guestpath.Relative(resolved, s.info.WorkDir)
	if !inside {
		return sandbox.Entry{}, broken("an entry outside the work directory")
	}
	if relative == "" {
		relative = "."
	}
	known := info.SizeKnown && info.Kind == sandbox.EntryFile
	if known && info.Size < 0 {
		return sandbox.Entry{}, broken("a negative size")
	}
	entry := sandbox.Entry{Path: relative, Kind: info.Kind, SizeKnown: known}
	if known {
		entry.Size = info.Size
	}
	return entry, nil
}

// child is [session.entry] for what a directory holds.
func (s *session) child(dir string, info engine.Info) (sandbox.Entry, error) {
	if info.Name == "" || info.Name == "." || info.Name == ".." || strings.ContainsAny(info.Name, "/\x00") {
		return sandbox.Entry{}, broken("a directory entry that is no name")
	}
	return s.entry(stdpath.Join(dir, info.Name), info)
}

func notRegular(verb, path string, kind sandbox.EntryKind) *sandbox.Refusal {
	return sandbox.Finding{
		Code: sandbox.CodeFileNotRegular, Found: kind.String() + ", to " + verb + " " + sandbox.Echo(path),
		Required: "a regular file", Remedy: "name a regular file",
	}.Refusal(nil)
}

func overCap(path, found string, limit int64) *sandbox.Refusal {
	return sandbox.Finding{
		Code: sandbox.CodeTransferCap, Found: "file " + sandbox.Echo(path) + " of " + found,
		Required: "at most " + strconv.FormatInt(limit, 10) + " bytes",
		Remedy:   "make the file smaller, or raise the limit",
	}.Refusal(nil)
}

func outOfRange(name string, n int64) *sandbox.Refusal {
	return sandbox.Finding{
		Code: sandbox.CodeOutOfRange, Found: name + " " + strconv.FormatInt(n, 10),
		Required: "zero or more", Remedy: "give the number of bytes",
	}.Refusal(nil)
}
