package output_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// TestADirectorySwappedForALinkWhileItLandsLeadsNowhere has somebody who can write in
// the sink swap a directory for a link that leads out of it, as fast as can be, while
// outputs land below it.
func TestADirectorySwappedForALinkWhileItLandsLeadsNowhere(t *testing.T) {
	t.Parallel()
	for name, existing := range map[string]output.Existing{"refuse": output.ExistingRefuse, "replace": output.ExistingReplace} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, outside := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(outside, "f"), []byte("theirs"), 0o600); err != nil {
				t.Fatal(err)
			}
			sink := openSink(t, root, output.DirOptions{Flat: true, Existing: existing, SkipSync: true})
			var group sync.WaitGroup
			done := make(chan struct{})
			swaps := 0
			group.Go(func() {
				dir := filepath.Join(root, "d")
				for {
					select {
					case <-done:
						return
					default:
					}
					_ = os.RemoveAll(dir)
					if os.Symlink(outside, dir) == nil {
						swaps++
					}
					_ = os.Remove(dir)
					_ = os.Mkdir(dir, 0o700)
				}
			})
			for i := range 100 {
				d, err := sink.Begin(t.Context(), output.Origin{})
				if err != nil {
					t.Error(err)
					continue
				}
				_, err = d.Stage(t.Context(), output.Artifact{Name: "d/f", Size: 4}, strings.NewReader("mine"))
				if err == nil {
					err = d.Commit(t.Context())
				}
				if r := sandbox.RefusalOf(err); err != nil && (r == nil || strings.Contains(err.Error(), root)) {
					t.Errorf("landing %d: %v", i, err)
				}
				if err := d.Abort(); err != nil {
					t.Errorf("landing %d: %v", i, err)
				}
			}
			close(done)
			group.Wait()
			if swaps == 0 {
				t.Error("nothing was swapped")
			}
			found, err := os.ReadDir(outside)
			content, readErr := os.ReadFile(filepath.Join(outside, "f"))
			if err := errors.Join(err, readErr); err != nil || len(found) != 1 || string(content) != "theirs" {
				t.Errorf("outside stand %v with %q, %v", found, fmt.Sprint(string(content)), err)
			}
		})
	}
}
