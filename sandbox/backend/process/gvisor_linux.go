package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/gvisor"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/launch"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/owner"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// gvisorLauncher makes sandboxes with runsc. Its program and the directory of its
// bundles are the host's to close.
func (h *host) gvisorLauncher(agent *launch.Image) launcher {
	return &launch.GVisor{Program: h.runsc, Thread: h.thread, Agent: agent, Mark: mark(h.owner.ID), Dir: h.bundles}
}

// findRunsc looks for gVisor.
func (h *host) findRunsc(ctx context.Context, configured string) error {
	var err error
	h.runsc, err = gvisor.Open(ctx, configured)
	if unfit, ok := errors.AsType[*gvisor.Unfit](err); ok {
		return sandbox.Finding{
			Code: sandbox.CodeBackendUnfit, Path: sandbox.Path("Runsc"), Found: unfit.Found, Required: unfit.Required,
			Remedy: "put gVisor's runsc into PATH (gvisor.dev; in a clone, make runsc builds it and says where it is), or let the host's configuration name it",
		}.Refusal(err)
	}
	if err != nil {
		return err
	}
	h.version = "gVisor " + h.runsc.Version
	return nil
}

// findPlace looks for where this host can keep what its sandboxes of gVisor are
// made of. One that drops to another user needs a place that this user can enter.
func (h *host) findPlace(drops bool) error {
	if !drops {
		h.bundlesIn = h.stateDir
		return nil
	}
	for _, dir := range []string{h.stateDir, os.TempDir(), "/var/tmp", "/var/lib"} {
		dir, err := owner.Held(dir)
		if err != nil {
			continue
		}
		if open, err := openToAll(dir); err == nil && open {
			h.bundlesIn = dir
			return nil
		}
	}
	return sandbox.Finding{
		Code: sandbox.CodeBackendUnfit, Path: sandbox.Path("Runtime"),
		Found:    "no directory for temporary files that sandboxes' users can enter and that is mounted without noexec",
		Required: "one, for what sandboxes of gVisor are made of",
		Remedy:   "set TMPDIR to such a directory for the host",
	}.Refusal(nil)
}

// bundlesOf is the directory of a host of this name, or empty with bubblewrap.
func (h *host) bundlesOf(id string) string {
	if h.bundlesIn == "" {
		return ""
	}
	return filepath.Join(h.bundlesIn, bundlesPrefix+id)
}

const bundlesPrefix = "sandbox-gvisor-"

// openToAll reports whether everybody can enter a directory, and a sandbox can
// mount what is in it: what is mounted noexec cannot be mounted otherwise by a
// sandbox's user.
func openToAll(dir string) (bool, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Flags&unix.ST_NOEXEC != 0 {
		return false, err
	}
	return passable(dir), nil
}

// passable reports whether everybody gets through to a directory.
func passable(dir string) bool {
	for ; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == "/" {
			return true
		}
	}
	return false
}

// makeBundles makes the directory that the host's record names. Nobody else could
// have guessed its name.
func (h *host) makeBundles() error {
	dir := h.bundlesOf(h.owner.ID)
	if dir == "" {
		return nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory for sandboxes' bundles: %w", err)
	}
	h.bundles = dir
	if err := os.Chmod(dir, 0o711); err != nil {
		return fmt.Errorf("make the directory for sandboxes' bundles: %w", err)
	}
	return nil
}

// removeNoted removes a directory that a host noted, if it is what a host makes.
func removeNoted(dir string) error {
	if dir == "" {
		return nil
	}
	var s unix.Stat_t
	err := unix.Lstat(dir, &s)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at what a host noted: %w", err)
	}
	if !filepath.IsAbs(dir) || s.Mode&unix.S_IFMT != unix.S_IFDIR || int(s.Uid) != os.Geteuid() {
		return errors.New("remove what a host noted: it is not a directory of this user")
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove what a host noted: %w", err)
	}
	return nil
}
