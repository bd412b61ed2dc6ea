package output

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	stdpath "path"
	"slices"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// journal is what a commit is about to do in a directory that others can already
// see. It stands in the staging directory from before the first file is moved until
// after the last: whoever finds it there takes the commit back.
type journal struct {
	Area  string   `json:"area"`
	Base  string   `json:"base"`
	Names []string `json:"names"`
	// Dirs are those that had to be made, each after the one above it.
	Dirs []string `json:"dirs"`
}

// place is where one name is staged, where it lands and where what it replaces is
// kept.
type place struct{ staged, lands, backup, spare string }

func (s *staging) place(base string, i int, name string) place {
	number := "/" + strconv.Itoa(i)
	return place{
		staged: s.in(filesName + "/" + name), lands: stdpath.Join(base, name),
		backup: s.in(backupName + number), spare: s.in(spareName + number),
	}
}

// undo takes back whatever was done of the commit, in any state a host can have
// died in, and twice if it must. The staged file is kept until the end, so what
// landed from it is known by being the same file; anything else was there before, or
// came later, and stays.
func (j *journal) undo(s *staging) error {
	var failed error
	for i, name := range slices.Backward(j.Names) {
		switch err := confined(s.root, j.Base, name); {
		case errors.Is(err, sandbox.CodeLandingExists), errors.Is(err, sandbox.CodeLandingNotConfined):
			continue // something else was put in place of its directory
		case err != nil:
			failed = errors.Join(failed, err)
			continue
		}
		if err := s.undoOne(s.place(j.Base, i, name)); err != nil {
			failed = errors.Join(failed, landingFailed("taking back what had landed", err))
		}
	}
	for _, dir := range slices.Backward(j.Dirs) {
		// Not empty: somebody else's files are in it by now.
		_ = s.root.Remove(dir)
	}
	return failed
}

func (s *staging) undoOne(p place) error {
	staged, err := s.root.Lstat(p.staged)
	if err != nil {
		return ifThere(err)
	}
	landed, err := s.root.Lstat(p.lands)
	if err != nil {
		return ifThere(err)
	}
	if !os.SameFile(staged, landed) {
		return nil
	}
	switch err := s.root.Rename(p.backup, p.lands); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return ifThere(s.root.Remove(p.lands))
}

// ifThere drops the error that nothing is there.
func ifThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// keep writes the journal, whole before the first move.
func (j *journal) keep(s *staging, sync bool) error {
	content, err := json.Marshal(j)
	if err != nil {
		return err
	}
	f, err := s.root.OpenFile(s.in(journalName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// takeBack undoes the commit in which a host died. A journal that is not whole was
// being written: nothing had been moved.
func (s *DirSink) takeBack(ctx context.Context, left *staging) error {
	f, err := s.root.Open(left.in(journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return landingFailed("reading what a host left half done", err)
	}
	content, err := io.ReadAll(f)
	_ = f.Close()
	if err != nil {
		return landingFailed("reading what a host left half done", err)
	}
	var j journal
	if json.Unmarshal(content, &j) != nil {
		return nil
	}
	unlock, err := s.lockArea(ctx, j.Area)
	if err != nil {
		return err
	}
	defer unlock()
	return j.undo(left)
}
