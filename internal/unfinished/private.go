package unfinished

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

var errNotPrivate = errors.New("not this user's alone")

// privateDir makes a folder that is for this user alone. It is no link: one could
// show another directory's journal here.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if info.IsDir() && !private(info) {
		// A check-out or an older release made it. Others' are refused to us here.
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
		if info, err = os.Lstat(dir); err != nil {
			return err
		}
	}
	if !info.IsDir() || !private(info) {
		return fmt.Errorf("%s: %w", dir, errNotPrivate)
	}
	return nil
}

// openPrivate opens a file that is there, is no link and is for this user alone.
func openPrivate(name string, flags int) (*os.File, error) {
	seen, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() || !private(seen) {
		return nil, fmt.Errorf("%s: %w", name, errNotPrivate)
	}
	f, err := os.OpenFile(name, flags|openFlags, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err != nil || !os.SameFile(seen, opened) {
		return nil, errors.Join(err, fs.ErrNotExist, f.Close()) // another one took its place
	}
	return f, nil
}
