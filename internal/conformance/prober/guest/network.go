//go:build linux

package main

import (
	"errors"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// patience is how long an attempt to connect may take, in milliseconds.
const patience = 300

// network tries to reach each of its arguments: "tcp ADDRESS:PORT", "udp
// ADDRESS:PORT" (a datagram is sent; whether it came is the caller's to see) and
// "unix PATH", where @ begins an abstract name. It also looks for interfaces
// beside the loopback one.
func network(args []string) answer {
	var a answer
	for _, target := range args {
		kind, where, _ := strings.Cut(target, " ")
		switch kind {
		case "unix":
			a.try("the socket "+where, dialUnix(where))
		case "tcp", "udp":
			address, err := netip.ParseAddrPort(where)
			if err != nil {
				continue
			}
			if kind == "tcp" {
				a.try("a connection to "+where, dial(address))
			} else {
				a.Tried++
				_ = send(address)
			}
		}
	}
	data, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		return a
	}
	a.Tried++
	for line := range strings.Lines(string(data)) {
		name, _, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); ok && name != "lo" {
			a.reach("the interface %s", name)
		}
	}
	return a
}

func sockaddr(a netip.AddrPort) (family int, sa unix.Sockaddr) {
	if a.Addr().Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

func dial(a netip.AddrPort) error {
	family, sa := sockaddr(a)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return connected(fd, sa)
}

// connected connects a socket that does not wait, and waits a little.
func connected(fd int, sa unix.Sockaddr) error {
	if err := unix.Connect(fd, sa); !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, patience)
	if err != nil {
		return err
	}
	if n == 0 {
		return unix.ETIMEDOUT
	}
	failed, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && failed != 0 {
		err = unix.Errno(failed)
	}
	return err
}

func send(a netip.AddrPort) error {
	family, sa := sockaddr(a)
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, []byte("from the sandbox"), unix.MSG_DONTWAIT, sa)
}

func dialUnix(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}
