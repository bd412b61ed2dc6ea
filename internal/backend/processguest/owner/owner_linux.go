// Package owner keeps, in one private directory, which hosts there are and what
// each of them has made outside itself, so that what a host that died has left
// can be found and removed by the next one.
//
// Each host has a directory with a record and a lock. The kernel drops the lock
// however the host ends; who can take it knows that the host is gone. The record
// is written before anything it names is made.
package owner

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Record is what a host may have made.
type Record struct {
	// Mark is the zeroth argument of its processes.
	Mark string `json:"mark"`
	// Cgroups are its directories in the cgroup file systems.
	Cgroups []string `json:"cgroups,omitempty"`
	// Bundles is its directory for what sandboxes are made of.
	Bundles string `json:"bundles,omitempty"`
	// Sockets is its directory for the sockets of egress proxies.
	Sockets string `json:"sockets,omitempty"`
}

// Host is this host's own part of the directory. [Host.Close] gives it up.
type Host struct {
	// ID is unique among the hosts of the machine.
	ID string

	dir  string
	lock *os.File
}

const (
	hostPrefix   = "host-"
	comingPrefix = "coming-"
	recordFile   = "record.json"

	// passing lets others reach what they know the name of, and list nothing.
	passing = 0o711

	lockFile = "lock"
)

// Private makes dir, or accepts the one that is there if nobody else can look into
// it or change it: a real directory, this user's, mode 0700 or 0711. Root's is
// made with the latter, so that whom it becomes can pass to a file that it is
// told of. It answers the directory without links above it, and refuses one that
// somebody else could put another in the place of.
func Private(dir string) (string, error) {
	above := filepath.Dir(dir)
	if err := os.MkdirAll(above, 0o755); err != nil {
		return "", fmt.Errorf("make the directory above it: %w", err)
	}
	above, err := Held(above)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(above, filepath.Base(dir))
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil && os.Geteuid() == 0:
		if err := os.Chmod(dir, passing); err != nil {
			return "", err
		}
	case err != nil && !errors.Is(err, fs.ErrExist):
		return "", err
	}
	var s unix.Stat_t
	if err := unix.Lstat(dir, &s); err != nil {
		return "", err
	}
	mode := s.Mode & 0o777
	if s.Mode&unix.S_IFMT != unix.S_IFDIR || mode != 0o700 && mode != passing || int(s.Uid) != os.Geteuid() {
		return "", errors.New("it is not a directory of this user alone (mode 0700 or 0711)")
	}
	return dir, nil
}

// Held answers a directory without links above it, and refuses one that somebody
// else could put another in the place of.
func Held(dir string) (string, error) {
	place, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("find the directory above it: %w", err)
	}
	if !filepath.IsAbs(place) {
		return "", errors.New("a directory that is named by where this process stands")
	}
	return place, held(place)
}

// held refuses a directory that anybody but this user and root could rename, or
// rename one above: each must be one of theirs that others cannot write to, or
// in which they can only touch what is their own. Below one that others cannot
// enter, nothing is within their reach.
func held(dir string) error {
	for at := "/"; ; {
		var s unix.Stat_t
		if err := unix.Lstat(at, &s); err != nil {
			return err
		}
		own := int(s.Uid) == os.Geteuid()
		if !own && s.Uid != 0 || s.Mode&0o022 != 0 && s.Mode&unix.S_ISVTX == 0 {
			return errors.New("another user could replace it: a directory above it is theirs, or writable to them")
		}
		if at == dir || own && s.Mode&0o011 == 0 {
			return nil
		}
		next, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(dir, at), "/"), "/")
		at = filepath.Join(at, next)
	}
}

// Enter takes a place in the directory, with the record that describe makes for
// its id.
func Enter(dir string, describe func(id string) Record) (*Host, error) {
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return nil, fmt.Errorf("choose a host's id: %w", err)
	}
	began, err := startTime(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("note this host: %w", err)
	}
	h := &Host{ID: hex.EncodeToString(random)}
	h.dir = filepath.Join(dir, fmt.Sprintf("%s%d-%s-%s", comingPrefix, os.Getpid(), began, h.ID))
	if err := h.enter(began, describe(h.ID)); err != nil {
		return nil, errors.Join(fmt.Errorf("note this host: %w", err), h.Close())
	}
	return h, nil
}

// enter shows the host under its own name once everything about it is noted.
// Until then the name of its process keeps others away.
func (h *Host) enter(began string, record Record) error {
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(h.dir, passing); err != nil { // whatever the process' mask is
		return err
	}
	lock, err := os.OpenFile(h.Path(lockFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	h.lock = lock
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(lock, "%d %s", os.Getpid(), began); err != nil {
		return err
	}
	content, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := os.WriteFile(h.Path(recordFile), content, 0o600); err != nil {
		return err
	}
	place := filepath.Join(filepath.Dir(h.dir), hostPrefix+h.ID)
	if err := os.Rename(h.dir, place); err != nil {
		return err
	}
	h.dir = place
	return nil
}

// Path is where a file of this host's own may stand, which goes with the host.
func (h *Host) Path(name string) string { return filepath.Join(h.dir, name) }

// Close removes the host's part. Call it when nothing that its record names is
// left.
func (h *Host) Close() error {
	err := os.RemoveAll(h.dir)
	if h.lock != nil {
		err = errors.Join(err, h.lock.Close())
		h.lock = nil
	}
	return err
}

// Reap calls clean with the record of each host that is gone, and forgets the
// host when that succeeds. Two hosts that reap at once do not meet.
func Reap(ctx context.Context, dir string, clean func(context.Context, Record) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for hosts that are gone: %w", err)
	}
	var errs []error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch process, coming := strings.CutPrefix(e.Name(), comingPrefix); {
		case coming && !lives(strings.Replace(process, "-", " ", 1)):
			err = os.RemoveAll(path) // it had made nothing yet
		case strings.HasPrefix(e.Name(), hostPrefix):
			err = reap(ctx, path, clean)
		default:
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("clean up after a host that is gone: %w", err))
		}
	}
	return errors.Join(errs...)
}

func reap(ctx context.Context, dir string, clean func(context.Context, Record) error) error {
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(dir) // a host that had cleaned up and was about to be gone
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if !take(ctx, lock) {
		return nil // the host lives, or somebody else is at it
	}
	content, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err == nil {
		var record Record
		if err := json.Unmarshal(content, &record); err != nil {
			return fmt.Errorf("read its record: %w", err)
		}
		if err := clean(ctx, record); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}

// take locks unless the host lives. One that was killed as it started a process
// holds its lock through that for a moment longer.
func take(ctx context.Context, lock *os.File) bool {
	const moment = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	process := make([]byte, 64)
	n, _ := lock.ReadAt(process, 0) // the end of the file is an error
	for unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		if lives(string(process[:n])) {
			return false
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// lives reports whether a process is there, named by its number and its start.
// What names none is taken for one that lives.
func lives(process string) bool {
	var pid, began int64
	if _, err := fmt.Sscanf(process, "%d %d", &pid, &began); err != nil {
		return true
	}
	now, err := startTime(int(pid))
	return err == nil && now == strconv.FormatInt(began, 10)
}

// startTime is when a process began, in the kernel's ticks, which together with
// its number names it for as long as the machine runs. A zombie has ended.
func startTime(pid int) (string, error) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", err
	}
	// The name before it is in parentheses and may hold anything.
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", errors.New("no such process")
	}
	return fields[19], nil
}
