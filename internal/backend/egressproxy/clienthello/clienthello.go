// Package clienthello reads the first message of TLS, as far as it says for which
// host a client asks, and keeps the bytes so that somebody else can read them
// again. It answers nothing and decides nothing; parsing is crypto/tls's.
//
// Start with [Read].
package clienthello

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// MaxBytes bounds how much is read for one message. The largest that clients send,
// with several post-quantum keys, stays far below it.
const MaxBytes = 64 << 10

// ErrNotTLS is returned where the bytes are not the first message of TLS.
var ErrNotTLS = errors.New("the bytes are not a TLS ClientHello")

// Hello is what a client asks for.
type Hello struct {
	// ServerName is the name as sent, empty where none is. It is a claim; with
	// Encrypted ClientHello it is the outer name.
	ServerName string
	// Protocols are the application protocols offered, in the client's order.
	Protocols []string
}

// Read reads from r up to the end of the first message. It returns all bytes that
// it took, whether it could read them or not; what is behind the message may be
// among them. The error is [ErrNotTLS], or r's own.
func Read(r io.Reader) (Hello, []byte, error) {
	source := &recorder{from: r}
	var hello *Hello
	server := tls.Server(source, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			hello = &Hello{ServerName: info.ServerName, Protocols: info.SupportedProtos}
			return nil, errStop
		},
	})
	err := server.Handshake() //nolint:noctx // the deadline is the reader's
	switch {
	case hello != nil:
		return *hello, source.taken.Bytes(), nil
	case source.err != nil:
		return Hello{}, source.taken.Bytes(), fmt.Errorf("read the first message of TLS: %w", source.err)
	default:
		return Hello{}, source.taken.Bytes(), fmt.Errorf("%w: %w", ErrNotTLS, err)
	}
}

// End is where the records end that hold the first message, in the bytes that [Read]
// has taken for it. It is 0 where something else stands behind it in its last record:
// no client writes so, and servers read on.
func End(taken []byte) int {
	const head = 1 + 3
	var message []byte
	for at := 0; at+recordHeader <= len(taken); {
		length := int(taken[at+3])<<8 | int(taken[at+4])
		end := at + recordHeader + length
		if taken[at] != recordHandshake || end > len(taken) {
			return 0
		}
		message = append(message, taken[at+recordHeader:end]...)
		if len(message) >= head {
			whole := head + (int(message[1])<<16 | int(message[2])<<8 | int(message[3]))
			switch {
			case len(message) == whole:
				return end
			case len(message) > whole:
				return 0
			}
		}
		at = end
	}
	return 0
}

var errStop = errors.New("the hello was read")

// recorder is a connection that keeps what is read and says nothing.
type recorder struct {
	from  io.Reader
	taken bytes.Buffer
	err   error
}

func (c *recorder) Read(p []byte) (int, error) {
	// One byte decides whether it is TLS at all: nothing else is waited for.
	if c.taken.Len() > 0 && c.taken.Bytes()[0] != recordHandshake {
		return 0, ErrNotTLS
	}
	if c.taken.Len() == 0 {
		p = p[:min(len(p), 1)]
	}
	if room := MaxBytes - c.taken.Len(); len(p) > room {
		p = p[:room]
	}
	if len(p) == 0 {
		return 0, ErrNotTLS
	}
	n, err := c.from.Read(p)
	c.taken.Write(p[:n])
	if err != nil {
		c.err = err
	}
	return n, err
}

// recordHandshake is the first byte of every TLS connection.
const recordHandshake = 22

func (c *recorder) Write(p []byte) (int, error)      { return len(p), nil }
func (c *recorder) Close() error                     { return nil }
func (c *recorder) LocalAddr() net.Addr              { return nil }
func (c *recorder) RemoteAddr() net.Addr             { return nil }
func (c *recorder) SetDeadline(time.Time) error      { return nil }
func (c *recorder) SetReadDeadline(time.Time) error  { return nil }
func (c *recorder) SetWriteDeadline(time.Time) error { return nil }
