package output

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/filelock"
)

// An area is the part of a sink that one quota is about and in which commits take
// turns: a scope's directory, or "." in a flat sink.

const (
	lockPrefix   = stagingDir + "/lock-"
	firstRecheck = time.Millisecond
	lastRecheck  = 20 * time.Millisecond
)

// lockArea waits until this landing is the only one that counts or commits in the
// area, among all processes that use the directory. The lock file goes away with the
// lock, so that a sink keeps none. Its caller has a staging directory, which keeps the
// directory of both in place.
func (s *DirSink) lockArea(ctx context.Context, area string) (unlock func(), err error) {
	name := lockPrefix + digestName(area)
	for pause := firstRecheck; ; pause = min(2*pause, lastRecheck) {
		f, err := s.tryLockFile(name)
		if err != nil {
			return nil, landingFailed("locking its directory", err)
		}
		if f != nil {
			return func() { s.unlock(name, f) }, nil
		}
		if err := wait(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// tryLockFile answers the locked file, or nil where somebody else has it or has just
// removed it.
func (s *DirSink) tryLockFile(name string) (*os.File, error) {
	f, err := s.root.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	held, err := filelock.Try(f)
	if held && stands(s.root, f, name) {
		return f, nil
	}
	_ = f.Close()
	return nil, err
}

// unlock removes a locked file and lets go of it. Where an open file cannot be removed
// it goes afterwards, unless somebody else has it open by then.
func (s *DirSink) unlock(name string, f *os.File) {
	_ = s.root.Remove(name)
	_ = f.Close()
	if runtime.GOOS == "windows" {
		_ = s.root.Remove(name)
	}
}

// stands reports whether the open file is still the one of that name.
func stands(root *os.Root, f *os.File, name string) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := root.Lstat(name)
	return err == nil && os.SameFile(ours, there)
}

// wait is over after the pause or with the context. A file lock has no channel to
// wait on, so its holder is asked about again.
func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
