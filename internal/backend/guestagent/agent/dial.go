//go:build linux

package agent

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// What [Dial] says first.
const (
	dialled    = "+"
	notDialled = "-"
)

// Dial is the program as a program of the guest, with arguments: it connects over
// "tcp" or "udp" to an address, the hexadecimal digits of its bytes, and a port,
// says whether it could, and passes its standard streams through. With it a host tries what a guest reaches
// before any other program runs there. It can do nothing that a guest could not
// do by itself. It answers the status to exit with.
func Dial(args []string) int {
	if len(args) != 4 || args[0] != "dial" {
		return 2
	}
	kinds := map[string]int{"tcp": unix.SOCK_STREAM, "udp": unix.SOCK_DGRAM}
	kind, ok := kinds[args[1]]
	port, err := strconv.ParseUint(args[3], 10, 16)
	if !ok || err != nil {
		return 2
	}
	family, address := sockaddr(args[2], int(port))
	if address == nil {
		return 2
	}
	conn, err := connect(family, kind, address)
	if err != nil {
		_, _ = os.Stdout.WriteString(notDialled + err.Error())
		return 1
	}
	defer func() { _ = conn.Close() }()
	if _, err := os.Stdout.WriteString(dialled); err != nil {
		return 1
	}
	go pass(conn, os.Stdin)
	pass(os.Stdout, conn)
	return 0
}

// sockaddr reads an address; nil is none.
func sockaddr(digits string, port int) (family int, address unix.Sockaddr) {
	const four, six = 4, 16
	bytes := make([]byte, 0, six)
	for i := 0; i+2 <= len(digits); i += 2 {
		b, err := strconv.ParseUint(digits[i:i+2], 16, 8)
		if err != nil {
			return 0, nil
		}
		bytes = append(bytes, byte(b))
	}
	switch {
	case len(digits) == 2*four:
		return unix.AF_INET, &unix.SockaddrInet4{Addr: [four]byte(bytes), Port: port}
	case len(digits) == 2*six:
		return unix.AF_INET6, &unix.SockaddrInet6{Addr: [six]byte(bytes), Port: port}
	}
	return 0, nil
}

func connect(family, kind int, to unix.Sockaddr) (*os.File, error) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, to); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "connection"), nil
}
