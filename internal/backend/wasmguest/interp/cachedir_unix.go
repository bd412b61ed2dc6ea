//go:build unix

package interp

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const writableByOthers = 0o022

func owner(info fs.FileInfo) (uint32, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}

func checkOwn(path string, info fs.FileInfo) error {
	if uid, ok := owner(info); !ok || int64(uid) != int64(os.Geteuid()) {
		return fmt.Errorf("%w: %s belongs to user %d", ErrCacheUnfit, path, uid)
	}
	if info.Mode().Perm()&writableByOthers != 0 {
		return fmt.Errorf("%w: others may write to %s (mode %v)", ErrCacheUnfit, path, info.Mode().Perm())
	}
	return nil
}

func checkAbove(path string, info fs.FileInfo) error {
	uid, ok := owner(info)
	if !ok || uid != 0 && int64(uid) != int64(os.Geteuid()) {
		return fmt.Errorf("%w: %s above it belongs to user %d", ErrCacheUnfit, path, uid)
	}
	if info.Mode().Perm()&writableByOthers != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("%w: others may write to %s above it (mode %v)", ErrCacheUnfit, path, info.Mode().Perm())
	}
	return nil
}
