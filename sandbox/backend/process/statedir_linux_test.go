package process

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

//nolint:paralleltest,usetesting // the environment is the process', and the answer its directory
func TestAnotherUsersRuntimeDirectoryIsNotOurs(t *testing.T) {
	own, other, shared := t.TempDir(), "/", os.TempDir()
	if os.Geteuid() == 0 { // as after su, which leaves it
		other = t.TempDir()
		if err := os.Chown(other, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{own: own, other: shared, "": shared, own + "/none": shared} {
		t.Setenv("XDG_RUNTIME_DIR", dir)
		if got := runtimeDir(); got != want {
			t.Errorf("with %q it is %s", dir, got)
		}
	}
}

func TestWhatHostsNoteIsShownToNoSandbox(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"opt/state", "srv"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for dir, ok := range map[string]bool{
		filepath.Join(root, "opt", "state"): false, filepath.Join(root, "opt"): false, root: false,
		filepath.Join(filepath.Dir(root), "beside"): true,
	} {
		_, err := baseView(Config{RootFS: root}, dir)
		if (err == nil) != ok || !ok && !errors.Is(err, sandbox.CodeOptionsInvalid) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
