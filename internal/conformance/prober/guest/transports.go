//go:build linux

package main

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// transports are what could carry bytes to an address beside TCP and UDP.
var transports = []struct {
	name           string
	kind, protocol int
}{
	{"SCTP", unix.SOCK_STREAM, unix.IPPROTO_SCTP},
	{"SCTP, one to many", unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP},
	{"DCCP", unix.SOCK_DCCP, unix.IPPROTO_DCCP},
	{"multipath TCP", unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
	{"SMC", unix.SOCK_STREAM, 256},
}

// overland tries whatever else leads to each of its arguments, ADDRESS:PORT of
// another host: echoes of ICMP, raw packets and other transports; and the virtual
// machine's own host.
func overland(args []string) answer {
	var a answer
	for _, where := range args {
		to, err := netip.ParseAddrPort(where)
		if err != nil {
			continue
		}
		for word, kind := range map[string]int{"an echo by a ping socket from ": unix.SOCK_DGRAM, "an echo by a raw socket from ": unix.SOCK_RAW} {
			a.try(word+to.Addr().String(), ping(to, kind))
		}
		family, sa := sockaddr(to)
		for _, t := range transports {
			a.try(t.name+" to "+where, connect(family, t.kind, t.protocol, sa))
		}
		a.try("a datagram of UDP-Lite to "+where, sendBy(family, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE, sa))
		a.try("a raw datagram to "+where, sendBy(family, unix.SOCK_RAW, 253, sa)) // a number for experiments
	}
	for _, machine := range []uint32{unix.VMADDR_CID_HOST, unix.VMADDR_CID_HYPERVISOR} {
		a.try("a port of the machine that runs this one", connect(unix.AF_VSOCK, unix.SOCK_STREAM, 0, &unix.SockaddrVM{CID: machine, Port: 22}))
	}
	return a
}

// ping sends an echo request and waits for the reply.
func ping(to netip.AddrPort, kind int) error {
	family, sa := sockaddr(netip.AddrPortFrom(to.Addr(), 0))
	protocol, request, reply := unix.IPPROTO_ICMP, byte(8), byte(0)
	if family == unix.AF_INET6 {
		protocol, request, reply = unix.IPPROTO_ICMPV6, 128, 129
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// Type, code, checksum, identifier, sequence. The kernel fills in the sum of the
	// newer protocol, and that of ping sockets.
	message := []byte{request, 0, 0, 0, 0, 1, 0, 1}
	if family == unix.AF_INET {
		sum := ^(uint16(request)<<8 + 1 + 1)
		message[2], message[3] = byte(sum>>8), byte(sum)
	}
	if err := unix.Sendto(fd, message, unix.MSG_DONTWAIT, sa); err != nil {
		return err
	}
	for range 8 { // a raw socket hears the request as well
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, patience); err != nil || n == 0 {
			return unix.ETIMEDOUT
		}
		var buffer [256]byte
		n, _, err := unix.Recvfrom(fd, buffer[:], unix.MSG_DONTWAIT)
		if err != nil {
			return err
		}
		at := 0
		if kind == unix.SOCK_RAW && family == unix.AF_INET && n > 0 {
			at = int(buffer[0]&0xf) * 4 // the header of the packet
		}
		if at < n && buffer[at] == reply {
			return nil
		}
	}
	return unix.ETIMEDOUT
}

func connect(family, kind, protocol int, sa unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return connected(fd, sa)
}

func sendBy(family, kind, protocol int, sa unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, []byte("from the sandbox"), unix.MSG_DONTWAIT, sa)
}
