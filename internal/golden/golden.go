// Package golden holds what a test got against the file that says what it should be.
// It is for tests, and keeps nothing: whether files are written is the flag of the
// test that asks.
package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// Check compares with testdata/NAME.golden, or writes it.
func Check(tb testing.TB, write bool, name, got string) {
	tb.Helper()
	path := filepath.Join("testdata", name+".golden")
	if write {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if got != string(want) {
		tb.Errorf("%s differs; go test -update in its package writes it\n--- got\n%s\n--- want\n%s", path, got, want)
	}
}
