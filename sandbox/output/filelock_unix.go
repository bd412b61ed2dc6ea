//go:build unix

package output

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes an exclusive lock on the open file unless somebody else holds it.
// The lock ends when the file is closed, also by the death of its process. No kept
// library is used: those that there are open a path, and these files are opened
// beneath an [os.Root].
func tryLock(f *os.File) (held bool, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	controlled := conn.Control(func(fd uintptr) {
		for {
			err = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
			if !errors.Is(err, syscall.EINTR) {
				return
			}
		}
	})
	switch {
	case controlled != nil:
		return false, controlled
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	}
	return err == nil, err
}

// syncDir makes the names in an open directory survive a power cut.
func syncDir(f *os.File) error { return f.Sync() }
