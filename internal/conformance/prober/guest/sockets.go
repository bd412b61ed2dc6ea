//go:build linux

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// lastFamily is the highest socket family that is tried.
const lastFamily = 45

// permitted are the families that a program may have: it needs them to talk to
// itself, to a proxy on the loopback interface, and to ask for its own addresses.
// Of netlink that is routing only.
func permitted(family, protocol int) bool {
	switch family {
	case unix.AF_UNIX, unix.AF_INET, unix.AF_INET6:
		return true
	case unix.AF_NETLINK:
		return protocol == unix.NETLINK_ROUTE
	}
	return false
}

// sockets makes a socket of every family, and of every protocol of netlink.
func sockets([]string) answer {
	var a answer
	types := map[string]int{
		"stream": unix.SOCK_STREAM, "datagram": unix.SOCK_DGRAM, "raw": unix.SOCK_RAW,
		"seqpacket": unix.SOCK_SEQPACKET, "packet": unix.SOCK_PACKET,
	}
	for family := 1; family <= lastFamily; family++ {
		protocols := []int{0}
		if family == unix.AF_NETLINK {
			for p := 1; p <= unix.NETLINK_CRYPTO+1; p++ {
				protocols = append(protocols, p)
			}
		}
		for word, kind := range types {
			for _, protocol := range protocols {
				raw := (kind == unix.SOCK_RAW || kind == unix.SOCK_PACKET) && (family == unix.AF_INET || family == unix.AF_INET6)
				fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
				a.Tried++
				if err != nil {
					continue
				}
				_ = unix.Close(fd)
				if !permitted(family, protocol) || raw {
					a.reach("family %d, %s, protocol %d", family, word, protocol)
				}
			}
			if pair, err := unix.Socketpair(family, kind|unix.SOCK_CLOEXEC, 0); err == nil {
				_, _ = unix.Close(pair[0]), unix.Close(pair[1])
				if !permitted(family, 0) {
					a.reach("a pair of family %d, %s", family, word)
				}
			}
		}
	}
	a.Note = fmt.Sprintf("families 1 to %d", lastFamily)
	return a
}
