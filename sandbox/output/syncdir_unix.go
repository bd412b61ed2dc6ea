//go:build unix

package output

import "os"

// syncDir makes the names in an open directory survive a power cut.
func syncDir(f *os.File) error { return f.Sync() }
