//go:build !unix

package egressproxy

import "net"

func (p *Proxy) reading(from net.Conn) func() (*[streamBuffer]byte, int, error) {
	return p.readingPlainly(from)
}
