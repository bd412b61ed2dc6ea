package sandbox

import (
	"errors"
	"strconv"
	"strings"
)

// GuestUser is as whom a guest's program runs, as far as an image's configuration
// or the guest itself tells. It is root, somebody else, or undecided, and the zero
// value is absent knowledge, which is undecided and never root.
type GuestUser struct {
	text      string
	decided   bool
	uid       int64 // meaningful when decided
	rootGroup bool
}

// maxUserID is the largest uid and gid that engines accept.
const maxUserID = 1<<31 - 1

// maxUserText bounds a configured user, in bytes.
const maxUserText = 256

var (
	errUserRange = errors.New("a user or group number outside 0 to 2147483647, with which no engine starts a program")
	errUserText  = errors.New("a user is a name or a number of at most 256 bytes, with a group after a colon if it has one, in visible ASCII")
)

// ParseGuestUser reads the user of an image configuration as engines do: the part
// before the colon; empty, root, or a decimal integer that is 0, sign and leading
// zeros included, is root. Any other number is somebody else, and any other name is
// undecided: the image's own passwd file may map it to 0. Empty text is absent
// knowledge; an image whose configuration names nobody runs as root, and whoever
// read the configuration says "0".
//
// With an error the user is undecided.
func ParseGuestUser(text string) (GuestUser, error) {
	u := GuestUser{text: text}
	if text == "" {
		return u, nil
	}
	if len(text) > maxUserText || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return u, errUserText
	}
	name, group, _ := strings.Cut(text, ":")
	gid, numeric, err := accountNumber(group)
	if err != nil {
		return u, err
	}
	u.rootGroup = group == "root" || numeric && gid == 0
	uid, numeric, err := accountNumber(name)
	switch {
	case err != nil:
		return u, err
	case name == "" || name == "root":
		u.decided = true
	case numeric:
		u.decided, u.uid = true, uid
	}
	return u, nil
}

// accountNumber reads a uid or a gid, and reports whether text is a number at all.
func accountNumber(text string) (n int64, numeric bool, err error) {
	n, err = strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && (n < 0 || n > maxUserID):
		return 0, true, errUserRange
	case err != nil:
		return 0, false, nil //nolint:nilerr // a name, then
	default:
		return n, true, nil
	}
}

// MeasuredUser is a user whose uid a running guest told.
func MeasuredUser(uid int64) GuestUser {
	if uid < 0 {
		return GuestUser{}
	}
	return GuestUser{text: strconv.FormatInt(uid, 10), decided: true, uid: uid}
}

// InGroup is the user with a gid that the guest told beside the uid.
func (u GuestUser) InGroup(gid int64) GuestUser {
	u.rootGroup = gid == 0
	return u
}

// IsRoot reports that the user is known to be root.
func (u GuestUser) IsRoot() bool { return u.decided && u.uid == 0 }

// IsOther reports that the user is known to be somebody other than root. A user
// that is neither root nor other is undecided.
func (u GuestUser) IsOther() bool { return u.decided && u.uid != 0 }

// RootGroup reports that the user is known to be in root's group, with what that
// group may write.
func (u GuestUser) RootGroup() bool { return u.rootGroup }

// UID is the user's number, where it is decided.
func (u GuestUser) UID() (uid int64, decided bool) { return u.uid, u.decided }

// Alike reports whether every rule answers the same for both users.
func (u GuestUser) Alike(other GuestUser) bool {
	if !u.decided && !other.decided {
		return u.text == other.text
	}
	return u.decided == other.decided && u.uid == other.uid && u.rootGroup == other.rootGroup
}

// String describes the user for a message.
func (u GuestUser) String() string {
	switch {
	case u.text == "":
		return "a user nobody knows"
	case !u.decided:
		return "user " + Echo(u.text) + ", which may or may not be root"
	case u.uid == 0:
		return "root (" + Echo(u.text) + ")"
	default:
		return "uid " + strconv.FormatInt(u.uid, 10)
	}
}
