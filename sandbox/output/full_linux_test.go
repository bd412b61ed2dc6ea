package output_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// TestARealFullDiskTakesNothingAndSaysSo mounts a small file system of its own, as
// only root may. Other users have [TestADiskThatIsFullTakesNothing].
func TestARealFullDiskTakesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		size     string
		fits, no int // bytes
	}{"no bytes left": {"size=64k", 16 << 10, 128 << 10}, "no inodes left": {"size=1m,nr_inodes=6", -1, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			switch err := syscall.Mount("tmpfs", root, "tmpfs", 0, test.size); {
			case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES):
				t.Skip("mounting needs root and its capabilities")
			case err != nil:
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			sink := openSink(t, root, output.DirOptions{})
			if test.fits >= 0 {
				landOne(t, sink, from(scopeA, "1"), "x", test.fits)
			}
			before := entries(t, root)
			err := tryOne(t, sink, from(scopeA, "2"), "x", test.no)
			wantCode(t, err, sandbox.CodeLandingFailed)
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v", err)
			}
			if after := entries(t, root); after != before {
				t.Errorf("%d entries became %d", before, after)
			}
		})
	}
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}
