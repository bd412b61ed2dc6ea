package unfinished

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const suffix = ".creations"

// maxPages bounds how many files are looked at: who fills the folder holds up nobody.
const maxPages = 1000

// scan reads the files whose process has ended. busy reports others that are waited
// for: of processes that this one's parent did not start. What cannot be read, or was
// not written by this user here, is passed over and left where it is.
func (j *Journal) scan() (busy bool, err error) {
	j.left, j.scanned = map[string]leftover{}, true
	names, err := j.names()
	if err != nil || len(names) == 0 {
		return false, err
	}
	by, err := j.signer(false)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // nobody ever signed anything
		}
		return false, err
	}
	for _, name := range names {
		file := filepath.Join(j.dir, name)
		p, err := openPage(file, by, j.now(), 0)
		if errors.Is(err, errLocked) {
			busy = busy || !strings.HasPrefix(name, strconv.Itoa(j.parent)+"-")
		}
		if err != nil {
			continue
		}
		for mark, c := range p.open {
			j.left[mark] = leftover{c, file}
		}
		if err := p.close(); err != nil {
			return busy, err
		}
	}
	return busy, nil
}

// names are the files that may be other processes' journals.
func (j *Journal) names() ([]string, error) {
	if info, err := os.Lstat(j.dir); err != nil || !info.IsDir() {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	dir, err := os.Open(j.dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(maxPages) // what was read before an error counts
	if len(entries) > 0 {
		if err := privateDir(j.dir); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) || (j.own != nil && e.Name() == filepath.Base(j.own.f.Name())) {
			continue
		}
		// An empty one is being made, or its process was killed before it began anything.
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// forgetIn takes a creation out of the file that had it. there is false where somebody
// else did so before.
func (j *Journal) forgetIn(l leftover) (there bool, err error) {
	by, err := j.signer(false)
	if err != nil {
		return false, err
	}
	p, err := openPage(l.file, by, j.now(), patience)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	there, err = p.forget(l.Mark)
	return there, errors.Join(err, p.close())
}

// removed removes a file that somebody else may have removed.
func removed(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
