package guestagent

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// ErrNotConnected says that a program of the guest tried to connect and its kernel
// did not let it.
var ErrNotConnected = errors.New("the guest cannot connect")

// maxSaid bounds what a program of the guest says of a failure.
const maxSaid = 256

// Dial connects as a program of the guest does: the agent's executable is started
// once more, as any program is, from where it stands in the guest. The network is
// "tcp" or "udp". Where the guest's kernel does not connect, the error is
// [ErrNotConnected]; any other error says nothing about what the guest can reach.
//
// The connection has no deadlines and no addresses. Closing it ends the program.
func (c *Client) Dial(ctx context.Context, program, network string, to netip.AddrPort) (net.Conn, error) {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	run, end := context.WithCancel(context.WithoutCancel(ctx))
	conn := &guestConn{Reader: stdout, Writer: stdin, end: func() {
		end()
		_ = errors.Join(stdin.Close(), stdout.Close()) // they never fail
	}, ended: make(chan struct{})}
	go func() {
		defer close(conn.ended)
		args := []string{program, "dial", network, hex.EncodeToString(to.Addr().AsSlice()), strconv.Itoa(int(to.Port()))}
		code, err := c.Exec(run, engine.ExecRequest{Args: args, Dir: "/", Stdin: in, Stdout: out})
		if err == nil && code > 1 {
			err = fmt.Errorf("connect as the guest: its program ended with %d", code)
		}
		_ = out.CloseWithError(err) // nil is the end
		_ = in.Close()
	}()
	defer context.AfterFunc(ctx, conn.end)()
	if err := conn.begin(); err != nil {
		return nil, errors.Join(err, context.Cause(ctx), conn.Close())
	}
	return conn, nil
}

// guestConn is a connection of a program in the guest.
type guestConn struct {
	io.Reader
	io.Writer
	end   func()
	ended chan struct{}
}

// begin hears whether the program could connect.
func (c *guestConn) begin() error {
	var said [1]byte
	if _, err := io.ReadFull(c, said[:]); err != nil {
		return fmt.Errorf("connect as the guest: %w", err)
	}
	switch said[0] {
	case '+':
		return nil
	case '-':
		why, err := io.ReadAll(io.LimitReader(c, maxSaid))
		if err != nil {
			return fmt.Errorf("connect as the guest: %w", err)
		}
		return fmt.Errorf("%w: %q", ErrNotConnected, why)
	}
	return errors.New("connect as the guest: a program that speaks otherwise")
}

// Close ends the program, and returns when it has ended.
func (c *guestConn) Close() error {
	c.end()
	<-c.ended
	return nil
}

func (c *guestConn) LocalAddr() net.Addr  { return guestAddr{} }
func (c *guestConn) RemoteAddr() net.Addr { return guestAddr{} }

func (c *guestConn) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (c *guestConn) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (c *guestConn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// guestAddr is an address in a guest, which says nothing to a host.
type guestAddr struct{}

func (guestAddr) Network() string { return "guest" }
func (guestAddr) String() string  { return "guest" }
