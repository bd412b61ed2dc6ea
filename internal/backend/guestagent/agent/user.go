//go:build linux

package agent

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// credential is who a program becomes before its first instruction, nil for who
// the agent is. With the change of user the kernel takes every capability away,
// and under no_new_privs nothing gives one back.
func credential(as *wire.User) *syscall.Credential {
	if as == nil {
		return nil
	}
	return &syscall.Credential{Uid: as.UID, Gid: as.GID, Groups: as.Groups}
}

// give makes the program's streams its user's, who could not open them by the
// names they have in /dev otherwise.
func (s *stdio) give(to *wire.User) error {
	if to == nil {
		return nil
	}
	for _, p := range []*pipe{&s.in, &s.out, &s.err} {
		if p.child < 0 {
			continue
		}
		if err := unix.Fchown(p.child, int(to.UID), int(to.GID)); err != nil {
			return err
		}
	}
	return nil
}
