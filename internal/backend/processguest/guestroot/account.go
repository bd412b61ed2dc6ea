// Package guestroot says what a guest with a root of its own is furnished with: the
// user that an image's programs run as, looked up in the image itself, and the
// directories and files that a new guest has where no image brings them.
//
// It reads archives and never unpacks one; what it writes is an archive too, for
// the guest to take apart. Read [Lookup] and [Skeleton].
package guestroot

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/moby/sys/user"
)

// Account is a user of an image. Numbers are the guest's.
type Account struct {
	UID, GID uint32
	// Groups are the supplementary ones.
	Groups []uint32
	// Home is the home directory, "/" where none is named.
	Home string
}

// IsRoot reports whether the guest needs no other user and no other group.
func (a Account) IsRoot() bool { return a.UID == 0 && a.GID == 0 }

// Accounts are the two files that name users, as far as there are any.
type Accounts struct{ Passwd, Group []byte }

// Lookup finds whom an image's USER names, as container runtimes do: nothing is
// root, a number needs no entry, a name does, and a group may follow a colon.
func Lookup(name string, files Accounts) (Account, error) {
	// Neither reader is nil, which would mean that whatever is asked for is there.
	u, err := user.GetExecUser(name, &user.ExecUser{Home: "/"}, bytes.NewReader(files.Passwd), bytes.NewReader(files.Group))
	if err != nil {
		return Account{}, fmt.Errorf("look up an image's user: %w", err)
	}
	a := Account{UID: uint32(u.Uid), GID: uint32(u.Gid), Home: u.Home}
	for _, g := range u.Sgids {
		a.Groups = append(a.Groups, uint32(g))
	}
	if !path.IsAbs(a.Home) {
		a.Home = "/"
	}
	return a, nil
}

// maxAccounts bounds one of the files.
const maxAccounts = 1 << 20

// Read finds the files in an archive of a root file system. Only regular ones
// count: a link would have to be followed through what is not unpacked yet.
func Read(archive io.Reader) (Accounts, error) {
	var files Accounts
	found := 0
	for r := tar.NewReader(archive); found < 2; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			// Who makes an archive may say only behind it that it is not whole.
			if _, err := io.Copy(io.Discard, archive); err != nil {
				return Accounts{}, fmt.Errorf("look for an image's users: %w", err)
			}
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return Accounts{}, fmt.Errorf("look for an image's users: %w", err)
		}
		var to *[]byte
		switch path.Clean("/" + h.Name) {
		case "/etc/passwd":
			to = &files.Passwd
		case "/etc/group":
			to = &files.Group
		default:
			continue
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if *to, err = io.ReadAll(io.LimitReader(r, maxAccounts+1)); err != nil {
			return Accounts{}, fmt.Errorf("read an image's users: %w", err)
		}
		if len(*to) > maxAccounts {
			return Accounts{}, errors.New("an image's file of users is larger than 1 MiB")
		}
		found++
	}
	return files, nil
}
