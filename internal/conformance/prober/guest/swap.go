//go:build linux

package main

import (
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// swap makes two things change places as fast as it can until its standard input
// ends: args[0]/race, a real directory or file, and args[0]/decoy, a link. Whoever
// looks at race and uses it afterwards may use another. Its answer counts the
// exchanges.
func swap(args []string) answer {
	var a answer
	if len(args) == 0 {
		return a
	}
	race, decoy := filepath.Join(args[0], "race"), filepath.Join(args[0], "decoy")
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		over.Store(true)
	}()
	for !over.Load() {
		// What stands there may be gone for a moment: the other side removes, too.
		if unix.Renameat2(unix.AT_FDCWD, race, unix.AT_FDCWD, decoy, unix.RENAME_EXCHANGE) == nil {
			a.Tried++
		}
	}
	return a
}
