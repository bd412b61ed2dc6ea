package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
)

// The contenders' names.
const (
	nobody      = "no proxy"
	relayName   = "plain relay"
	oursName    = "this proxy"
	goproxyName = "goproxy"
	smokeName   = "smokescreen"
)

// contender is one that runs in a process of its own. It serves until ctx ends.
type contender func(ctx context.Context, w *workplace) error

var contenders = map[string]contender{relayName: serveRelay, oursName: serveOurs, goproxyName: serveGoproxy, smokeName: serveSmokescreen}

// workplace is what a contender is given.
type workplace struct {
	dir, name string
	places    places
	leaf      *tls.Certificate // for the opened host, for those that have no authority of their own
	ca        []byte           // what the client has to trust for it
}

// serve is one contender's process. It ends when its standard input does.
func serve(ctx context.Context, name, dir string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	w := &workplace{dir: dir, name: name}
	text, err := os.ReadFile(filepath.Join(dir, placesFile))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &w.places); err != nil {
		return err
	}
	authority, err := leafca.New(leafca.Scope{Names: []string{openedHost}}, time.Now(), time.Hour, 1)
	if err != nil {
		return err
	}
	w.ca = authority.CertificatePEM()
	if w.leaf, err = authority.Certificate(openedHost, netip.Addr{}, time.Now()); err != nil {
		return err
	}
	start, ok := contenders[name]
	if !ok {
		return fmt.Errorf("no contender is called %q", name)
	}
	return start(ctx, w)
}

// connect connects to a public address, at the place where it is served.
func (w *workplace) connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	place, ok := w.places[to]
	if !ok {
		return nil, fmt.Errorf("nobody serves %s", to)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", place)
}

// dial connects to a host and port.
func (w *workplace) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	to, err := netip.ParseAddrPort(net.JoinHostPort(addresses[host].String(), port))
	if err != nil {
		return nil, err
	}
	return w.connect(ctx, to)
}

func socketOf(dir, contender, suffix string) string {
	return filepath.Join(dir, contender[:2]+suffix+".sock")
}

func caOf(dir, contender string) string { return filepath.Join(dir, contender[:2]+".pem") }

// listen makes the contender's socket.
func (w *workplace) listen(ctx context.Context, suffix string) (net.Listener, error) {
	listener, err := net.Listen("unix", socketOf(w.dir, w.name, suffix))
	if err == nil {
		context.AfterFunc(ctx, func() { listener.Close() })
	}
	return listener, err
}

// ready tells the command that the contender serves, and whom to trust.
func (w *workplace) ready() error {
	if err := os.WriteFile(caOf(w.dir, w.name), w.ca, 0o600); err != nil {
		return err
	}
	_, err := fmt.Println("ready")
	return err
}

// serveRelay copies: one socket for each host and port, since nobody tells it where
// to connect to.
func serveRelay(ctx context.Context, w *workplace) error {
	for to := range w.places {
		listener, err := w.listen(ctx, to.String())
		if err != nil {
			return err
		}
		go func() {
			for {
				client, err := listener.Accept()
				if err != nil {
					return
				}
				go copyBoth(ctx, client, func() (net.Conn, error) { return w.connect(ctx, to) })
			}
		}()
	}
	if err := w.ready(); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func copyBoth(ctx context.Context, client net.Conn, dial func() (net.Conn, error)) {
	defer client.Close()
	server, err := dial()
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { server.Close() })()
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(client, server)
		closeWrite(client)
	}()
	io.Copy(server, client)
	closeWrite(server)
	<-done
}

func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
}

// ended is a server's error once it was told to end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
