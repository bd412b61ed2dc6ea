package egressproxy

import (
	"net"
	"os"
	"strconv"
)

// listenIn makes the socket in a directory. It names the directory by its
// descriptor, since the kernel takes 107 bytes of a socket's path and no more.
func listenIn(directory string) (net.Listener, error) {
	dir, err := os.Open(directory)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	at := "/proc/self/fd/" + strconv.FormatUint(uint64(dir.Fd()), 10) + "/" + socketName
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // the name means nothing later; its directory goes
	return listener, nil
}
