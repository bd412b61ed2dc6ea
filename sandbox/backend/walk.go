package backend

import (
	"context"
	"errors"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

// confineParents makes sure that no directory above path is a link. An engine
// that resolves beneath the work directory sees to it by itself; for others every
// directory from below the root is looked at, the work directory's own ancestors
// included: with a link among them the work directory looks like a plain one
// while it is somewhere else. The walk ends at the first directory that is not
// there.
func (s *session) confineParents(ctx context.Context, path string) error {
	if s.backend.access.Links == engine.Beneath {
		return nil
	}
	chain := guestpath.Ancestors(s.info.WorkDir, path)
	if len(chain) > 0 {
		chain = chain[:len(chain)-1]
	}
	return s.walk(ctx, chain)
}

// confineAll is [session.confineParents] with path itself among the directories.
func (s *session) confineAll(ctx context.Context, path string) error {
	if s.backend.access.Links == engine.Beneath {
		return nil
	}
	return s.walk(ctx, guestpath.Ancestors(s.info.WorkDir, path))
}

func (s *session) walk(ctx context.Context, chain []string) error {
	for _, dir := range chain {
		exists, err := s.isDirectory(ctx, s.above(dir))
		if err != nil || !exists {
			return err
		}
	}
	return nil
}

// isDirectory answers false when nothing is there and refuses anything but a
// directory.
func (s *session) isDirectory(ctx context.Context, ref engine.FileRef) (exists bool, err error) {
	info, err := s.guest.Stat(ctx, ref)
	switch {
	case errors.Is(err, engine.ErrNotExist):
		return false, nil
	case err != nil:
		return false, mapError(ctx, "look at "+sandbox.Echo(ref.Path), err)
	}
	switch info.Kind {
	case sandbox.EntryDirectory:
		return true, nil
	case sandbox.EntrySymlink:
		return false, refusalFor("go through "+sandbox.Echo(ref.Path), engine.ErrThroughLink)
	default:
		return false, refusalFor("go through "+sandbox.Echo(ref.Path), engine.ErrNotDirectory)
	}
}

// ensureWorkDir makes the work directory, on cold and warm paths alike. What is
// there keeps its contents; a link or anything else in its place or above it
// fails the acquire.
func (s *session) ensureWorkDir(ctx context.Context) (err error) {
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer finish(done, &err)
	if s.backend.access.Links == engine.Beneath {
		exists, err := s.isDirectory(ctx, s.ref(s.info.WorkDir))
		if err != nil || exists {
			return err
		}
	}
	for _, dir := range guestpath.Ancestors("/", s.info.WorkDir) {
		exists, err := s.isDirectory(ctx, s.above(dir))
		if err != nil {
			return err
		}
		if !exists {
			if err := s.makeDirectory(ctx, s.above(dir)); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeDirectory makes one directory and looks at what then stands there.
func (s *session) makeDirectory(ctx context.Context, ref engine.FileRef) error {
	if err := s.guest.Mkdir(ctx, ref); err != nil {
		return mapError(ctx, "make directory "+sandbox.Echo(ref.Path), err)
	}
	exists, err := s.isDirectory(ctx, ref)
	if err == nil && !exists {
		return broken("a directory that is not there")
	}
	return err
}

// ensureParents makes the directories between the work directory and path.
func (s *session) ensureParents(ctx context.Context, path string) error {
	chain := guestpath.Ancestors(s.info.WorkDir, path)
	first := len(guestpath.Ancestors("/", s.info.WorkDir))
	if first >= len(chain) {
		return nil
	}
	parents := chain[first : len(chain)-1]
	if len(parents) == 0 {
		return nil
	}
	// The usual case costs one question: the last parent is there.
	switch exists, err := s.isDirectory(ctx, s.ref(parents[len(parents)-1])); {
	case err != nil:
		return err
	case exists:
		return nil
	}
	for _, dir := range parents {
		exists, err := s.isDirectory(ctx, s.ref(dir))
		if err != nil {
			return err
		}
		if !exists {
			if err := s.makeDirectory(ctx, s.ref(dir)); err != nil {
				return err
			}
		}
	}
	return nil
}
