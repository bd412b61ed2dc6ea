package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// users hands out unprivileged users, each to one sandbox at a time over all the
// hosts of a state directory. The kernel keeps the locks, one byte a user, and
// drops them when a host dies.
type users struct {
	from Users
	file *os.File

	mu    sync.Mutex
	taken map[uint32]bool
	next  uint32
}

// user is one that a sandbox has.
type user struct {
	id     uint32
	of     *users
	shared bool
}

func newUsers(stateDir string, from Users) (*users, error) {
	u := &users{from: from, taken: map[uint32]bool{}}
	if from.Count < 2 {
		return u, nil
	}
	var err error
	u.file, err = os.OpenFile(filepath.Join(stateDir, "users"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("share users between hosts: %w", err)
	}
	return u, nil
}

// take answers a user that no other sandbox has; nil where sandboxes run as this
// process does.
func (u *users) take() (*user, error) {
	switch u.from.Count {
	case 0:
		return nil, nil //nolint:nilnil // nobody to become
	case 1:
		return &user{id: u.from.First, of: u, shared: true}, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for range u.from.Count {
		n := u.next
		u.next = (u.next + 1) % u.from.Count
		if u.taken[n] {
			continue
		}
		err := u.lock(n, unix.F_WRLCK)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			continue // another host's
		}
		if err != nil {
			return nil, fmt.Errorf("take a user for a sandbox: %w", err)
		}
		u.taken[n] = true
		return &user{id: u.from.First + n, of: u}, nil
	}
	return nil, fmt.Errorf("all %d users are taken by sandboxes that run", u.from.Count)
}

func (u *user) giveBack() {
	if u == nil || u.shared {
		return
	}
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	n := u.id - u.of.from.First
	_ = u.of.lock(n, unix.F_UNLCK) // at worst it stays taken until this host ends
	delete(u.of.taken, n)
}

func (u *users) lock(n uint32, kind int16) error {
	return unix.FcntlFlock(u.file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{
		Type: kind, Whence: io.SeekStart, Start: int64(n), Len: 1,
	})
}

func (u *users) close() error {
	if u.file == nil {
		return nil
	}
	return u.file.Close()
}
