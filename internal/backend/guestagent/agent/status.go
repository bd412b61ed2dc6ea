//go:build linux

package agent

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// statuses is what the kernel's answers about files are called on the wire.
var statuses = map[unix.Errno]wire.Status{
	unix.ENOENT:       wire.StatusNotExist,
	unix.ENAMETOOLONG: wire.StatusNotExist, // nothing of that name can stand anywhere
	unix.ENOTDIR:      wire.StatusNotDirectory,
	unix.EISDIR:       wire.StatusIsDirectory,
	unix.ELOOP:        wire.StatusThroughLink,
	unix.EXDEV:        wire.StatusThroughLink,
	unix.ENXIO:        wire.StatusNotRegular, // a socket, or a device without a driver
	unix.ENODEV:       wire.StatusNotRegular,
	unix.ENOSPC:       wire.StatusNoSpace,
	unix.EDQUOT:       wire.StatusNoSpace,
	unix.EFBIG:        wire.StatusNoSpace,
	unix.EACCES:       wire.StatusPermission,
	unix.EPERM:        wire.StatusPermission,
	unix.EROFS:        wire.StatusPermission,
	unix.EBUSY:        wire.StatusPermission,
	unix.EAGAIN:       wire.StatusBusy, // somebody holds a lease
	unix.ETXTBSY:      wire.StatusBusy,
	unix.ENOMEM:       wire.StatusMemory,
	unix.EINVAL:       wire.StatusInvalid,
}

// errStatus is an answer that no call of the kernel gave.
type errStatus wire.Status

func (e errStatus) Error() string { return "status" }

var (
	errNotRegular = errStatus(wire.StatusNotRegular)
	errCancelled  = errStatus(wire.StatusCancelled)
	errSize       = errStatus(wire.StatusSize)
	errInvalid    = errStatus(wire.StatusInvalid)
	errStatusBusy = errStatus(wire.StatusBusy)
)

// dirError is about a program's working directory, not the program.
type dirError struct{ err error }

func (d dirError) Error() string { return "working directory" }
func (d dirError) Unwrap() error { return d.err }

// outcome is what a call that ended with err answers.
func outcome(err error) wire.Outcome {
	var (
		status errStatus
		errno  unix.Errno
		dir    dirError
	)
	o := wire.Outcome{Status: wire.StatusOther, Dir: errors.As(err, &dir)}
	switch {
	case err == nil:
		o.Status = wire.StatusOK
	case errors.As(err, &status):
		o.Status = wire.Status(status)
	case errors.As(err, &errno):
		o.Errno = uint32(errno)
		if known, ok := statuses[errno]; ok {
			o.Status = known
		}
	}
	return o
}
