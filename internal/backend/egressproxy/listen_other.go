//go:build !linux

package egressproxy

import (
	"net"
	"path/filepath"
)

// listenIn makes the socket in a directory, whose path has to be short here.
func listenIn(directory string) (net.Listener, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(directory, socketName), Net: "unix"})
}
