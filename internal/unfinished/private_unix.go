//go:build unix

package unfinished

import (
	"io/fs"
	"os"
	"syscall"
)

// Who opens a name that became a link gets an error, and a pipe holds nobody up.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// private reports that nobody but this user can read or write it.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
