package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
)

// patience bounds everything that is waited for.
const patience = time.Minute

// client speaks to the servers by way of each contender.
type client struct {
	dir     string
	servers *servers
	hello   []byte
}

func newClient(dir string, s *servers) (*client, error) {
	hello, err := captureHello(pouringHost)
	return &client{dir: dir, servers: s, hello: hello}, err
}

// captureHello is a first message of TLS, as a client sends it.
func captureHello(host string) ([]byte, error) {
	near, far := net.Pipe()
	defer near.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		tls.Client(far, &tls.Config{ServerName: host}).Handshake() // nobody answers it
	}()
	_, seen, err := clienthello.Read(near)
	far.Close()
	<-done
	return seen, err
}

func portOf(host string) uint16 {
	if host == plainHost {
		return 80
	}
	return 443
}

// open connects to a host, with whatever TLS there is on the way.
func (c *client) open(ctx context.Context, who, host string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := c.reach(ctx, who, host)
	if err != nil {
		return nil, fmt.Errorf("%s to %s: %w", who, host, err)
	}
	switch host {
	case plainHost:
		return conn, nil
	case pouringHost:
		_, err = conn.Write(c.hello)
	default:
		roots := x509.NewCertPool()
		pem := c.servers.roots
		if host == openedHost && who != nobody && who != relayName {
			if pem, err = os.ReadFile(caOf(c.dir, who)); err != nil {
				break
			}
		}
		roots.AppendCertsFromPEM(pem)
		inside := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: host, NextProtos: []string{"http/1.1"}})
		err, conn = inside.HandshakeContext(ctx), inside
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s to %s: %w", who, host, err)
	}
	return conn, nil
}

// reach connects to a host's server, or to the proxy where TLS is not spoken.
func (c *client) reach(ctx context.Context, who, host string) (net.Conn, error) {
	to := netip.AddrPortFrom(addresses[host], portOf(host))
	var dialer net.Dialer
	switch who {
	case nobody:
		return dialer.DialContext(ctx, "tcp", c.servers.places[to])
	case relayName:
		return dialer.DialContext(ctx, "unix", socketOf(c.dir, who, to.String()))
	}
	conn, err := dialer.DialContext(ctx, "unix", socketOf(c.dir, who, ""))
	if err != nil || host == plainHost {
		return conn, err
	}
	status, err := connect(conn, fmt.Sprintf("%s:%d", host, to.Port()))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("answered %d", status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func connect(conn net.Conn, authority string) (status int, err error) {
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority); err != nil {
		return 0, err
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return 0, err
	}
	response.Body.Close()
	if response.StatusCode == http.StatusOK && reader.Buffered() > 0 {
		return 0, fmt.Errorf("%d bytes came unasked", reader.Buffered())
	}
	return response.StatusCode, nil
}

// asker asks for so many bytes, again and again, on one connection.
type asker struct {
	conn   net.Conn
	reader *bufio.Reader
	head   []byte
	buf    []byte
}

func (c *client) asker(ctx context.Context, who, host string, bytes int) (*asker, error) {
	conn, err := c.open(ctx, who, host)
	if err != nil {
		return nil, err
	}
	return newAsker(conn, who, host, http.MethodGet, bytes), nil
}

func newAsker(conn net.Conn, who, host, method string, bytes int) *asker {
	target := fmt.Sprintf("/%d", bytes)
	if (host == plainHost || host == shutHost) && who != nobody && who != relayName {
		target = "http://" + host + target
	}
	return &asker{
		conn: conn, reader: bufio.NewReaderSize(conn, 64<<10), buf: make([]byte, 256<<10),
		head: fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n\r\n", method, target, host),
	}
}

// ask asks once and takes everything.
func (a *asker) ask() error {
	status, err := a.status()
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("answered %d", status)
	}
	return err
}

func (a *asker) status() (int, error) {
	if _, err := a.conn.Write(a.head); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(a.reader, nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	n, err := io.CopyBuffer(onlyWriter{io.Discard}, response.Body, a.buf)
	if err == nil && response.ContentLength >= 0 && n != response.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	return response.StatusCode, err
}

// work asks the pouring host for one piece of work.
func work(conn net.Conn, what byte, size int) error {
	var head [9]byte
	head[0] = what
	binary.BigEndian.PutUint64(head[1:], uint64(size))
	_, err := conn.Write(head[:])
	return err
}

// moved moves so many bytes one way through a tunnel.
func moved(conn net.Conn, what byte, size int, buf []byte) error {
	if err := work(conn, what, size); err != nil {
		return err
	}
	if what == workDown {
		_, err := io.CopyBuffer(onlyWriter{io.Discard}, io.LimitReader(conn, int64(size)), buf)
		return err
	}
	for left := size; left > 0; left -= len(buf) {
		if _, err := conn.Write(buf[:min(left, len(buf))]); err != nil {
			return err
		}
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

// echoed sends bytes into a tunnel and waits until they are back.
func echoed(conn net.Conn, buf []byte) error {
	if err := work(conn, workEcho, len(buf)); err != nil {
		return err
	}
	if _, err := conn.Write(buf); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, buf)
	return err
}
