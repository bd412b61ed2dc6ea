//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Try takes an exclusive lock on the open file unless somebody else holds it.
// The lock ends when the file is closed, also by the death of its process.
func Try(f *os.File) (held bool, err error) {
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
