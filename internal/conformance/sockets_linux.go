package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// EndSockets makes an [Egress].EndProxy for proxies of this very process: of those
// that listen on Unix sockets it breaks every one, as the system would, so that what
// listens there gets an error that it did not ask for. Their files are those of
// directories below a directory whose name begins with the mark, in one of the given
// directories or where this user keeps such things. A probe has one sandbox at a
// time.
func EndSockets(mark string, dirs ...string) func(context.Context, string) error {
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp", "/var/tmp", "/var/lib"} {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir, filepath.Join(dir, "sandbox*"))
		}
	}
	return func(ctx context.Context, _ string) error {
		files, err := socketFiles(mark, dirs)
		if err != nil {
			return err
		}
		sockets, err := listeningAt(files)
		if err != nil {
			return err
		}
		descriptors, err := holding(sockets)
		if err == nil && len(descriptors) == 0 {
			err = errors.New("no socket of this process was found")
		}
		for _, fd := range descriptors {
			err = errors.Join(err, breakSocket(ctx, fd))
		}
		return err
	}
}

// socketFiles are the inodes of sockets' files.
func socketFiles(mark string, dirs []string) (map[uint32]bool, error) {
	files := map[uint32]bool{}
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, mark+"*", "*", "*.sock"))
		if err != nil {
			return nil, fmt.Errorf("look for sockets: %w", err)
		}
		for _, path := range found {
			var stat unix.Stat_t
			if err := unix.Lstat(path, &stat); err == nil && stat.Mode&unix.S_IFMT == unix.S_IFSOCK {
				files[uint32(stat.Ino)] = true // the kernel tells 32 bits of it as well
			}
		}
	}
	return files, nil
}

// holding are this process' own descriptors of sockets.
func holding(sockets map[uint32]bool) ([]int, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, fmt.Errorf("look for sockets: %w", err)
	}
	var descriptors []int
	for _, entry := range entries {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		inode, isSocket := strings.CutPrefix(strings.TrimSuffix(target, "]"), "socket:[")
		if err != nil || !isSocket {
			continue
		}
		number, err := strconv.ParseUint(inode, 10, 32)
		fd, bad := strconv.Atoi(entry.Name())
		if err == nil && bad == nil && sockets[uint32(number)] {
			descriptors = append(descriptors, fd)
		}
	}
	return descriptors, nil
}

// breakSocket puts something that is no socket in the place of one, wakes whoever
// waits for it, and returns once that has given it up.
func breakSocket(ctx context.Context, fd int) error {
	kept, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("break a socket: %w", err)
	}
	defer unix.Close(kept) //nolint:errcheck // the last of it; closed before, it would wake nobody
	nothing, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("break a socket: %w", err)
	}
	defer unix.Close(nothing) //nolint:errcheck // it has its place
	if err := errors.Join(unix.Dup3(nothing, fd, unix.O_CLOEXEC), unix.Shutdown(kept, unix.SHUT_RDWR)); err != nil {
		return fmt.Errorf("break a socket: %w", err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		target, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil || target != os.DevNull {
			return nil // it is closed
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("break a socket: nobody noticed: %w", context.Cause(ctx))
		}
	}
}

// What the kernel calls its answers about Unix sockets (linux/unix_diag.h).
const (
	showFiles  = 1 << 1 // UDIAG_SHOW_VFS
	fileOf     = 1      // UNIX_DIAG_VFS
	listening  = 1 << 10
	unixHeader = 16 // struct unix_diag_msg
)

// listeningAt asks the kernel which sockets listen at files of these inodes.
func listeningAt(files map[uint32]bool) (map[uint32]bool, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("ask the kernel about sockets: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // only asked
	native := binary.NativeEndian
	request := native.AppendUint32(nil, 40) // both structures
	request = native.AppendUint16(request, unix.SOCK_DIAG_BY_FAMILY)
	request = native.AppendUint16(request, unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	request = append(request, make([]byte, 8)...)
	request = append(request, unix.AF_UNIX, 0, 0, 0)
	request = native.AppendUint32(request, listening)
	request = native.AppendUint32(request, 0) // any inode
	request = native.AppendUint32(request, showFiles)
	request = append(request, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff) // no cookie
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, fmt.Errorf("ask the kernel about sockets: %w", err)
	}
	found := map[uint32]bool{}
	for buffer := make([]byte, 64<<10); ; {
		n, _, err := unix.Recvfrom(fd, buffer, 0)
		if err != nil {
			return nil, fmt.Errorf("ask the kernel about sockets: %w", err)
		}
		messages, err := parseNetlink(buffer[:n])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			if m.kind == unix.NLMSG_DONE {
				return found, nil
			}
			if len(m.body) >= unixHeader && files[fileInode(m.body[unixHeader:])] {
				found[native.Uint32(m.body[4:])] = true
			}
		}
	}
}

type netlinkMessage struct {
	kind uint16
	body []byte
}

func parseNetlink(data []byte) ([]netlinkMessage, error) {
	var messages []netlinkMessage
	for len(data) >= unix.NLMSG_HDRLEN {
		size := int(binary.NativeEndian.Uint32(data))
		kind := binary.NativeEndian.Uint16(data[4:])
		if size < unix.NLMSG_HDRLEN || size > len(data) || kind == unix.NLMSG_ERROR {
			return nil, errors.New("ask the kernel about sockets: it does not say")
		}
		messages = append(messages, netlinkMessage{kind, data[unix.NLMSG_HDRLEN:size]})
		data = data[min((size+3)&^3, len(data)):]
	}
	return messages, nil
}

// fileInode finds the inode of a socket's file among its attributes; 0 is none.
func fileInode(attributes []byte) uint32 {
	for len(attributes) >= 4 {
		size := int(binary.NativeEndian.Uint16(attributes))
		if size < 4 || size > len(attributes) {
			return 0
		}
		if binary.NativeEndian.Uint16(attributes[2:]) == fileOf && size >= 8 {
			return binary.NativeEndian.Uint32(attributes[4:])
		}
		attributes = attributes[min((size+3)&^3, len(attributes)):]
	}
	return 0
}
