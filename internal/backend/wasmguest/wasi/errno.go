package wasi

import (
	"errors"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
)

type errno uint32

const (
	success        errno = 0
	errBadf        errno = 8
	errExist       errno = 20
	errFault       errno = 21
	errInval       errno = 28
	errIO          errno = 29
	errIsdir       errno = 31
	errMfile       errno = 33
	errNametoolong errno = 37
	errNoent       errno = 44
	errNospc       errno = 51
	errNosys       errno = 52
	errNotdir      errno = 54
	errNotempty    errno = 55
	errNotsock     errno = 57
	errPerm        errno = 63
	errSpipe       errno = 70
	errNotcapable  errno = 76
)

// errnoOf is how a guest sees an error of the file system.
func errnoOf(err error) errno {
	for _, row := range [...]struct {
		err   error
		errno errno
	}{
		{nil, success},
		{memfs.ErrNotExist, errNoent},
		{memfs.ErrExist, errExist},
		{memfs.ErrNotDirectory, errNotdir},
		{memfs.ErrIsDirectory, errIsdir},
		{memfs.ErrNotEmpty, errNotempty},
		{memfs.ErrNoSpace, errNospc},
		{memfs.ErrNameTooLong, errNametoolong},
		{memfs.ErrInvalid, errInval},
		{memfs.ErrOutside, errNotcapable},
		{memfs.ErrClosed, errBadf},
	} {
		if errors.Is(err, row.err) {
			return row.errno
		}
	}
	return errIO
}
