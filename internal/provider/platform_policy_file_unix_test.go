//go:build unix

package provider

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestPlatformPolicyThatIsAPipeHoldsNothingUp(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readPolicyFile(pipe); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("found %v", err)
	}
}
