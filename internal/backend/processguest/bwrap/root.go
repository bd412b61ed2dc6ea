package bwrap

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
)

// Root is a guest's own root: user 0 of its user namespace, who is nobody on the
// host, with a root file system in memory that it can write to.
type Root struct {
	// Bytes bounds that file system.
	Bytes int64
	// Mapped is a descriptor on which bubblewrap waits until somebody else has
	// mapped the users of the namespace, for a guest with more than its root. Zero
	// leaves the mapping to bubblewrap, which can map one.
	Mapped uintptr
}

// capabilities are what a guest's root has, in its own user namespace: the power
// of a root over files and processes of users that are mapped there, and no word
// in what the kernel is asked about mounts, networks or itself.
// The numbers are the kernel's.
var capabilities = map[string]uint{
	"CAP_CHOWN": 0, "CAP_DAC_OVERRIDE": 1, "CAP_FOWNER": 3, "CAP_FSETID": 4, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7,
}

// Capabilities are their numbers in the kernel.
func Capabilities() []uint { return slices.Sorted(maps.Values(capabilities)) }

// identity is who process 1 is and what it may.
func (c Command) identity() ([]string, error) {
	if c.Root == nil {
		args := []string{"--uid", strconv.Itoa(view.UID), "--gid", strconv.Itoa(view.GID)}
		return append(args, c.disableUserNamespaces()...), nil
	}
	if c.Root.Bytes <= 0 {
		return nil, errors.New("a root file system in memory without bounds is not made")
	}
	args := []string{"--uid", "0", "--gid", "0"}
	for _, name := range slices.Sorted(maps.Keys(capabilities)) {
		args = append(args, "--cap-add", name)
	}
	if c.Root.Mapped != 0 {
		// Bubblewrap does not combine this with its limit on user namespaces: that
		// one rests on the filter, which refuses to make any.
		args = append(args, "--userns-block-fd", fd(c.Root.Mapped))
	} else {
		args = append(args, c.disableUserNamespaces()...)
	}
	return append(args, "--perms", "0755", "--size", strconv.FormatInt(c.Root.Bytes, 10), "--tmpfs", "/"), nil
}

func (c Command) disableUserNamespaces() []string {
	if !c.Options.DisableUserNamespaces {
		return nil
	}
	return []string{"--disable-userns", "--assert-userns-disabled"}
}
