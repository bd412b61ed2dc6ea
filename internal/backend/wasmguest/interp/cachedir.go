package interp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrCacheUnfit is what [PrepareCacheDir] answers about a directory that
// somebody else could write to, for errors.Is.
var ErrCacheUnfit = errors.New("directory is not private")

// PrepareCacheDir makes dir if it is not there, mode 0700, and checks that
// nobody but this user and the system's administrator can put anything into it.
// It answers the directory with links resolved.
//
// Compiled code is native code that runs in this process, so what holds is this:
// the directory and everything in it are real directories and regular files,
// owned by this user and writable by nobody else, and so is every directory
// above it, except that those may also belong to the administrator, and may be
// writable by all if they are sticky. The engine checks each entry's checksum
// against accidents; against someone who can write as this user nothing would
// hold. On Windows owners and modes are not looked at: there the default
// location is protected by the user profile's access list.
func PrepareCacheDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the cache directory: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", fmt.Errorf("resolve the cache directory: %w", err)
	}
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		info, err := os.Lstat(above)
		if err != nil {
			return "", err
		}
		if err := checkAbove(above, info); err != nil {
			return "", err
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	return dir, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a temporary file of another process of ours
		}
		if err != nil {
			return err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return fmt.Errorf("%w: %s is neither a directory nor a regular file", ErrCacheUnfit, path)
		}
		return checkOwn(path, info)
	})
}
