//go:build linux

package agent

import (
	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// look describes what stands at the path, a link with what it says.
func (a *Agent) look(f wire.File) (wire.Details, error) {
	defer a.enterKernel()()
	fd, err := a.treeFor(f).open(f.Path, unix.O_PATH)
	if err != nil {
		return wire.Details{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return wire.Details{}, err
	}
	d := wire.Details{Info: info(&st), Mode: st.Mode & 0o177777, UID: st.Uid, GID: st.Gid, Modified: st.Mtim.Sec}
	if d.Kind == wire.EntrySymlink {
		d.Target, err = readLink(fd, "")
	}
	return d, err
}

// readLink is what a link says, the one in a directory of that name or, with no
// name, the one that the descriptor holds.
func readLink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}
