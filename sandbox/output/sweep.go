package output

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/filelock"
)

// sweep takes back what hosts that died had half done, and removes what they had
// staged and the lock files they held. What belongs to a living one cannot be locked
// and is left alone.
func (s *DirSink) sweep(ctx context.Context, own string) error {
	entries, err := s.inStaging()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch name := stagingDir + "/" + e.Name(); {
		case name == own:
			continue
		case e.IsDir():
			err = s.sweepLanding(ctx, &staging{root: s.root, dir: name})
		case strings.HasPrefix(name, lockPrefix):
			err = s.sweepLock(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inStaging lists landings, under way or left behind, and locks.
func (s *DirSink) inStaging() ([]fs.DirEntry, error) {
	f, err := s.root.Open(stagingDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, landingFailed("looking for landings under way", err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, landingFailed("looking for landings under way", err)
	}
	return entries, nil
}

func (s *DirSink) sweepLanding(ctx context.Context, left *staging) error {
	owner, err := s.root.OpenFile(left.in(ownerName), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		// Empty, for whoever made it died at once or is about to make one. A failure
		// means that it is empty no longer.
		_ = s.root.Remove(left.dir)
		return nil
	}
	if err != nil {
		return landingFailed("looking for landings under way", err)
	}
	dead, err := filelock.Try(owner)
	if !dead {
		_ = owner.Close()
		if err != nil {
			return landingFailed("looking for landings under way", err)
		}
		return nil
	}
	left.owner = owner
	if err := s.takeBack(ctx, left); err != nil {
		_ = owner.Close()
		return err
	}
	return left.remove()
}

// sweepLock removes a lock file that nobody holds.
func (s *DirSink) sweepLock(name string) error {
	f, err := s.tryLockFile(name)
	if err != nil {
		return landingFailed("looking for landings under way", err)
	}
	if f != nil {
		s.unlock(name, f)
	}
	return nil
}
