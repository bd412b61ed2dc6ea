package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try takes an exclusive lock on the open file unless somebody else holds it.
// The lock ends when the file is closed, also by the death of its process.
func Try(f *os.File) (held bool, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	controlled := conn.Control(func(fd uintptr) {
		err = windows.LockFileEx(windows.Handle(fd), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
			0, 1, 0, new(windows.Overlapped))
	})
	switch {
	case controlled != nil:
		return false, controlled
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return err == nil, err
}
