package guestroot

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// User is what the account is called that a new guest's programs run as.
const User = "sandbox"

// Directories are those that a new guest has of its own.
func Directories() []string {
	return []string{"/etc", "/home", "/mnt", "/opt", "/root", "/srv", "/tmp", "/usr", "/usr/local", "/var", "/var/lib", "/var/tmp"}
}

// Local names the machine to itself, for a guest whose image does not.
func Local(hostname string) []byte {
	return []byte("127.0.0.1 localhost " + hostname + "\n::1 localhost\n")
}

// NewAccounts are the users of a guest that no image brings any: root, the one
// that its programs run as, and nobody.
func NewAccounts(name string) (Accounts, error) {
	asked, err := Lookup(name, Accounts{
		Passwd: []byte("root:x:0:0::/root:/bin/sh\n" + User + ":x:1000:1000::/home/" + User + ":/bin/sh\n"),
		Group:  []byte("root:x:0:\n" + User + ":x:1000:\n"),
	})
	if err != nil {
		return Accounts{}, err
	}
	if !strings.Contains(name, ":") {
		asked.GID = asked.UID // a group of its own, as a user has where one is made
	}
	passwd, group := "root:x:0:0:root:/root:/bin/sh\n", "root:x:0:\n"
	uid, gid := strconv.FormatUint(uint64(asked.UID), 10), strconv.FormatUint(uint64(asked.GID), 10)
	if asked.UID != 0 {
		passwd += User + ":x:" + uid + ":" + gid + "::/home/" + User + ":/bin/sh\n"
	}
	if asked.GID != 0 {
		group += User + ":x:" + gid + ":\n"
	}
	return Accounts{
		Passwd: []byte(passwd + "nobody:x:65534:65534::/:/usr/sbin/nologin\n"),
		Group:  []byte(group + "nogroup:x:65534:\n"),
	}, nil
}

// Skeleton is an archive of the directories and files that a guest has that sees
// the programs of this machine, for programs of that account.
func Skeleton(files Accounts, runs Account, hostname string) ([]byte, error) {
	var out bytes.Buffer
	s := &skeleton{to: tar.NewWriter(&out)}
	for _, dir := range Directories() {
		mode := int64(0o755)
		switch dir {
		case "/root":
			mode = 0o700
		case "/tmp", "/var/tmp":
			mode = 0o1777
		case "/usr", "/usr/local": // the machine's, which is shown
			continue
		}
		s.directory(dir, mode, Account{})
	}
	if path.Dir(runs.Home) == "/home" {
		s.directory(runs.Home, 0o755, runs)
	}
	s.file("/etc/passwd", files.Passwd)
	s.file("/etc/group", files.Group)
	s.file("/etc/hosts", Local(hostname))
	s.file("/etc/hostname", []byte(hostname+"\n"))
	s.file("/etc/nsswitch.conf", []byte("passwd: files\ngroup: files\nhosts: files\n"))
	if err := errors.Join(s.err, s.to.Close()); err != nil {
		return nil, fmt.Errorf("furnish a guest: %w", err)
	}
	return out.Bytes(), nil
}

// Hosts is an archive of the one file that images leave to whoever runs them.
func Hosts(hostname string) ([]byte, error) {
	var out bytes.Buffer
	s := &skeleton{to: tar.NewWriter(&out)}
	s.file("/etc/hosts", Local(hostname))
	if err := errors.Join(s.err, s.to.Close()); err != nil {
		return nil, fmt.Errorf("furnish a guest: %w", err)
	}
	return out.Bytes(), nil
}

type skeleton struct {
	to  *tar.Writer
	err error
}

func (s *skeleton) directory(name string, mode int64, owner Account) {
	s.entry(tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(name, "/") + "/", Mode: mode, Uid: int(owner.UID), Gid: int(owner.GID)}, nil)
}

func (s *skeleton) file(name string, content []byte) {
	s.entry(tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: 0o644, Size: int64(len(content))}, content)
}

func (s *skeleton) entry(h tar.Header, content []byte) {
	h.ModTime = time.Unix(0, 0)
	s.err = errors.Join(s.err, s.to.WriteHeader(&h))
	_, err := s.to.Write(content)
	s.err = errors.Join(s.err, err)
}

// Has reports whether a path is one of what a new guest has.
func Has(name string) bool { return slices.Contains(Directories(), name) || path.Dir(name) == "/etc" }
