package launch

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrCannotAttach says that this host mounts nothing into a sandbox that runs: it
// is not root, or its kernel or file system has no mounts with other users.
var ErrCannotAttach = errors.New("this host cannot mount anything into a sandbox that runs")

// Attach shows a directory of the host at a directory of a running sandbox, which is
// absolute and clean, and reached without following a link. Whoever a file of it
// belongs to on the host is taken for the user of that number in the sandbox:
// root's files are the sandbox's root's, and what others of the sandbox make is
// nobody's who has a number on the host. The mount goes when the sandbox goes.
//
// No program enters the sandbox for it, and no path is looked up there: what stands
// in the guest is opened from outside first.
func (s *Sandbox) Attach(dir, at string, readOnly bool) error {
	if os.Geteuid() != 0 {
		return ErrCannotAttach
	}
	proc := "/proc/" + strconv.Itoa(s.PID)
	to, err := openBelow(proc+"/root", at)
	if err != nil {
		return fmt.Errorf("find a place in a sandbox: %w", err)
	}
	defer func() { _ = unix.Close(to) }()
	tree, err := s.shifted(dir, proc+"/ns/user", readOnly)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(tree) }()
	mounts, err := unix.Open(proc+"/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("find a sandbox's mounts: %w", err)
	}
	defer func() { _ = unix.Close(mounts) }()
	if s.over() { // then the number may have been another process's
		return errors.New("the sandbox has ended")
	}
	return moveInto(mounts, tree, to)
}

func (s *Sandbox) over() bool {
	var gone bool
	raw, err := s.pidfd.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) { gone = ended(fd, 0) })
	return gone || err != nil
}

// openBelow opens a directory below a process's root without following a link.
func openBelow(root, at string) (int, error) {
	base, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(base) }()
	return unix.Openat2(base, strings.TrimPrefix(at, "/"), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// shifted is a mount of a directory that is nowhere yet, with the users of a
// namespace in the place of the host's.
func (s *Sandbox) shifted(dir, users string, readOnly bool) (int, error) {
	namespace, err := unix.Open(users, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("find a sandbox's users: %w", err)
	}
	defer func() { _ = unix.Close(namespace) }()
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return -1, errors.Join(ErrCannotAttach, fmt.Errorf("open what to mount: %w", err))
	}
	attr := unix.MountAttr{
		Attr_set:  unix.MOUNT_ATTR_IDMAP | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV,
		Userns_fd: uint64(namespace),
	}
	if readOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		_ = unix.Close(tree)
		return -1, errors.Join(ErrCannotAttach, fmt.Errorf("give what to mount a sandbox's users: %w", err))
	}
	return tree, nil
}

// moveInto puts a mount in its place, from a thread that is in the sandbox's mounts
// for that one call and then ends.
func moveInto(mounts, tree, to int) error {
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return err
		}
		if err := unix.Setns(mounts, unix.CLONE_NEWNS); err != nil {
			return err
		}
		return unix.MoveMount(tree, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	})
	if err != nil {
		return errors.Join(ErrCannotAttach, fmt.Errorf("mount into a sandbox: %w", err))
	}
	return nil
}

// onThread runs do on a thread that is used for nothing else and ends. It is never
// the process' first, which does not end, and whose mounts are what /proc/self
// shows to all others.
func onThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- onThread(do) // another, since this one is taken
			return
		}
		done <- do() // never unlocked: the thread ends here
	}()
	return <-done
}
