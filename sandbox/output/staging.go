package output

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/filelock"
)

// stagingDir is the only thing in a sink's root that is not landed. It has a directory
// for each landing under way and the files of the locks that are held, and is there as
// long as one of them is.
const stagingDir = ".staging"

// Below a landing's own directory.
const (
	ownerName    = "owner"    // locked as long as the landing's host lives
	filesName    = "files"    // what is staged, under its names
	backupName   = "backup"   // what is replaced, by number
	spareName    = "spare"    // second names of files about to replace others
	journalName  = "journal"  // what a commit is about to do, while it does it
	reservedName = "reserved" // what counts against the quota
)

// staging is the directory of one landing under way. Its owner file is locked from
// before anything is in it until all is out of it: a directory whose owner file can
// be locked belongs to a host that died.
type staging struct {
	root  *os.Root
	dir   string
	owner *os.File
}

// maxStagingTries bounds how often a sweep may be faster than the lock.
const maxStagingTries = 100

func newStaging(root *os.Root) (*staging, error) {
	for range maxStagingTries {
		if err := makeStagingDir(root); err != nil {
			return nil, err
		}
		s := &staging{root: root, dir: stagingDir + "/" + strings.ToLower(rand.Text())}
		held, err := s.claim()
		if err == nil && held {
			for _, dir := range []string{filesName, backupName, spareName} {
				err = errors.Join(err, root.Mkdir(s.in(dir), directoryMode))
			}
		}
		switch {
		case err != nil:
			return nil, errors.Join(landingFailed("making a place to stage", err), s.remove())
		case held:
			return s, nil
		}
	}
	return nil, landingFailed("making a place to stage", errors.New("others remove it each time"))
}

// makeStagingDir makes sure of the directory of all landings under way, which is
// nobody's link.
func makeStagingDir(root *os.Root) error {
	if err := root.Mkdir(stagingDir, directoryMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return landingFailed("making a place to stage", err)
	}
	switch info, err := root.Lstat(stagingDir); {
	case errors.Is(err, fs.ErrNotExist): // the last one under way ended just now
		return nil
	case err != nil:
		return landingFailed("making a place to stage", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return notConfined(stagingDir)
	case !info.IsDir():
		return exists(stagingDir)
	}
	return nil
}

func (s *staging) in(name string) string { return s.dir + "/" + name }

// claim makes the directory with its locked owner file. Between the making and the
// locking a sweep can take it for a dead host's: then it is gone, or about to be.
func (s *staging) claim() (held bool, err error) {
	if err := s.root.Mkdir(s.dir, directoryMode); err != nil {
		return false, ifThere(err)
	}
	s.owner, err = s.root.OpenFile(s.in(ownerName), os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if held, err = filelock.Try(s.owner); held {
		held = stands(s.root, s.owner, s.in(ownerName))
	}
	if !held {
		_ = s.owner.Close()
		s.owner = nil
	}
	return held, err
}

// remove takes the directory away with all that is in it, the owner file last, so
// that what is without one is empty. Doing it twice, or at once with a sweep, is
// harmless.
func (s *staging) remove() error {
	var failed error
	for _, name := range []string{filesName, backupName, spareName, journalName, reservedName} {
		failed = errors.Join(failed, s.root.RemoveAll(s.in(name)))
	}
	if s.owner != nil {
		_ = s.owner.Close() // what is open cannot be removed everywhere
	}
	if failed != nil { // the owner file stays, for the next one to sweep
		return landingFailed("removing what was staged", failed)
	}
	for _, name := range []string{s.in(ownerName), s.dir} {
		if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return landingFailed("removing what was staged", err)
		}
	}
	_ = s.root.Remove(stagingDir) // as soon as it is empty
	return nil
}
