//go:build unix

package output_test

import "syscall"

// capFileSize has every write past so many bytes of a file fail, as on a full disk;
// zero caps nothing.
func capFileSize(most uint64) error {
	if most == 0 {
		return nil
	}
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most})
}
